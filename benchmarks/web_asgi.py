"""Sites on Starlette and FastAPI: bare, behind Headgate, and behind each of the peers.

Annotations are values in this module: FastAPI reads those of functions inside functions.
"""

from collections.abc import Callable
from typing import Any

from contestants import _pyrate_gcra, _quota
from web_contestants import BARE, CLIENTS, HEADERS, OURS, PATH, SPENT, Site, address, rules

DAY = 86_400
# A scope belongs to one request: servers make one for each, and applications write to it.
CALL = "await app({**next(requests)}, receive, send)"

Build = Callable[[int], Any]


def starlette_sites() -> list[Site]:
    """Those of Starlette."""
    three = ("draft-11", "draft-06", "x-epoch")
    return [
        Site(BARE, "starlette", lambda _: _starlette(), False),
        Site(OURS, "headgate", _headgate("draft-11"), True),
        Site(f"{OURS}, by the minute", "headgate", _headgate_minutely, True),
        Site(f"{OURS}, three dialects", "headgate", _headgate(*three), True),
        Site(f"{OURS}, no headers", "headgate", _headgate("none"), False),
        Site("asgi-ratelimit", "asgi-ratelimit", _asgi_ratelimit(True), False),
        Site("asgi-ratelimit, key by hand", "asgi-ratelimit", _asgi_ratelimit(False), False),
        Site("slowapi decorator", "slowapi", _slowapi(False), False),
        Site("slowapi decorator, headers", "slowapi", _slowapi(True), True),
        Site("slowapi ASGI middleware", "slowapi", _slowapi_in("SlowAPIASGIMiddleware"), True),
        Site("slowapi middleware", "slowapi", _slowapi_in("SlowAPIMiddleware"), True),
    ]


def fastapi_sites() -> list[Site]:
    """Those of FastAPI."""
    return [
        Site(BARE, "fastapi", lambda _: _fastapi(), False),
        Site(OURS, "headgate", _headgate_fastapi, True),
        Site(f"{OURS} dependency", "headgate", _headgate_dependency, True),
        Site("fastapi-limiter", "fastapi-limiter", _fastapi_limiter, False),
        Site("slowapi decorator", "slowapi", _slowapi_fastapi(False), False),
        Site("slowapi decorator, headers", "slowapi", _slowapi_fastapi(True), True),
        Site("throttled-py", "throttled-py", _throttled(False), False),
        Site("throttled-py, headers", "throttled-py", _throttled(True), True),
    ]


def request(client: int) -> dict[str, Any]:
    """A scope."""
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "server": ("127.0.0.1", 8000),
        "client": (address(client), 50_000),
        "scheme": "http",
        "method": "GET",
        "root_path": "",
        "path": PATH,
        "raw_path": PATH.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in HEADERS.items()],
    }


async def receive() -> dict[str, Any]:
    """A request without a body."""
    return {"type": "http.request", "body": b"", "more_body": False}


async def send(message: dict[str, Any]) -> None:
    """Whatever is sent goes nowhere."""


async def answer(app: Any, client: int) -> tuple[int, list[str]]:
    """The status and the names of the headers, as one client sees them."""
    sent: list[dict[str, Any]] = []

    async def keep(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(request(client), receive, keep)
    return sent[0]["status"], [name.decode().lower() for name, _ in sent[0]["headers"]]


def _starlette(endpoint: Any = None, **options: Any) -> Any:
    from starlette.applications import Starlette
    from starlette.routing import Route

    return Starlette(routes=[Route(PATH, endpoint or _hello())], **options)


def _hello() -> Any:
    from starlette.responses import PlainTextResponse

    async def hello(request: Any) -> PlainTextResponse:
        return PlainTextResponse("hello")

    return hello


def _headgate(*dialects: str) -> Build:
    def build(limit: int) -> Any:
        from starlette.middleware import Middleware

        from headgate.adapters.asgi import HeadgateMiddleware

        return _starlette(middleware=[Middleware(HeadgateMiddleware, rules(limit, *dialects))])

    return build


def _headgate_minutely(limit: int) -> Any:
    """What is left of a short window is said as it is; of a long one it takes a second thought."""
    from starlette.middleware import Middleware

    from headgate.adapters.asgi import HeadgateMiddleware

    # Who is over the limit is to stay so.
    said = rules(limit, "draft-11", unit="day" if limit == SPENT else "min")
    return _starlette(middleware=[Middleware(HeadgateMiddleware, said)])


def _asgi_ratelimit(complete: bool) -> Build:
    """With its own function to find the address, or with the shortest that one could write."""

    def build(limit: int) -> Any:
        from ratelimit import RateLimitMiddleware, Rule
        from ratelimit.auths.ip import client_ip
        from ratelimit.backends.simple import MemoryBackend
        from starlette.middleware import Middleware

        async def peer(scope: Any) -> tuple[str, str]:
            return scope["client"][0], "default"

        layer = Middleware(
            RateLimitMiddleware,
            authenticate=client_ip if complete else peer,
            backend=MemoryBackend(),
            config={r"^/api/": [Rule(day=limit)]},
        )
        return _starlette(middleware=[layer])

    return build


def _slowapi(headers: bool) -> Build:
    def build(limit: int) -> Any:
        limiter = _limiter(headers)
        return _governed(_starlette(limiter.limit(f"{limit}/day")(_hello())), limiter)

    return build


def _slowapi_in(layer: str) -> Build:
    def build(limit: int) -> Any:
        import slowapi.middleware
        from starlette.middleware import Middleware

        limiter = _limiter(True, default_limits=[f"{limit}/day"])
        layers = [Middleware(getattr(slowapi.middleware, layer))]
        return _governed(_starlette(middleware=layers), limiter)

    return build


def _limiter(headers: bool, **options: Any) -> Any:
    from slowapi import Limiter
    from slowapi.util import get_remote_address

    return Limiter(key_func=get_remote_address, headers_enabled=headers, **options)


def _governed(app: Any, limiter: Any) -> Any:
    """As the first page of slowapi's manual has it."""
    from slowapi import _rate_limit_exceeded_handler
    from slowapi.errors import RateLimitExceeded

    app.state.limiter = limiter
    app.add_exception_handler(RateLimitExceeded, _rate_limit_exceeded_handler)
    return app


def _fastapi(**options: Any) -> Any:
    from fastapi import FastAPI

    app = FastAPI()

    @app.get(PATH, **options)
    async def hello() -> dict[str, str]:
        return {"hello": "world"}

    return app


def _headgate_fastapi(limit: int) -> Any:
    from headgate.adapters.asgi import HeadgateMiddleware

    app = _fastapi()
    app.add_middleware(HeadgateMiddleware, rules=rules(limit, "draft-11"))
    return app


def _headgate_dependency(limit: int) -> Any:
    from fastapi import Depends

    from headgate.adapters.fastapi import limit as limited

    return _fastapi(dependencies=[Depends(limited(f"{limit}/day", key="client.ip"))])


def _fastapi_limiter(limit: int) -> Any:
    from fastapi import Depends
    from fastapi_limiter.depends import RateLimiter

    # As its README has it, all clients are in one bucket; to keep them apart is the user's.
    limiter = _pyrate_gcra(limit, DAY, CLIENTS)["limiter"]
    return _fastapi(dependencies=[Depends(RateLimiter(limiter=limiter))])


def _slowapi_fastapi(headers: bool) -> Build:
    def build(limit: int) -> Any:
        from fastapi import FastAPI, Request, Response

        limiter = _limiter(headers)
        app = _governed(FastAPI(), limiter)

        @app.get(PATH)
        @limiter.limit(f"{limit}/day")
        async def hello(request: Request, response: Response) -> dict[str, str]:
            return {"hello": "world"}

        return app

    return build


def _throttled(headers: bool) -> Build:
    def build(limit: int) -> Any:
        from fastapi import FastAPI, Request
        from throttled.asyncio.contrib import fastapi as throttled

        limiter = throttled.Limiter(_quota(limit, DAY), key_func=throttled.get_remote_address)
        app = FastAPI()
        app.add_exception_handler(
            throttled.RateLimitExceededError, throttled.rate_limit_exceeded_handler
        )
        if headers:
            app.add_middleware(throttled.RateLimitMiddleware)

        @app.get(PATH)
        @limiter.limit()
        async def hello(request: Request) -> dict[str, str]:
            return {"hello": "world"}

        return app

    return build
