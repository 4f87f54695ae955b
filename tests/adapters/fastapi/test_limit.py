"""Limits at routes of FastAPI: as dependencies and as decorators, with nothing set up."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, WebSocket
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse

from headgate import SlidingLog
from headgate.adapters.fastapi import RequestRefused, configure, limit, limited
from headgate.adapters.fastapi.gate import Gate, Room
from headgate.errors import RulesError
from headgate.rules.live.entry import Entry
from tests.adapters.asgi.calls import CONNECT, Caller, call
from tests.adapters.asgi.serving import serving

DENIALS: dict[str, Any] = {"extensions": {"websocket.http.response": {}}}


def guarded(gate: Gate | Room) -> FastAPI:
    """An application with one route, behind a gate."""
    app = FastAPI()

    @app.get("/x", dependencies=[Depends(gate)])
    async def search() -> str:
        return "welcome"

    return app


def statuses(app: Any, *paths: str) -> list[int]:
    return [call(app, path).status for path in paths]


def test_a_refusal_is_a_problem_with_all_its_headers() -> None:
    app = guarded(limit("1/h", key="client.ip"))
    call(app, "/x")

    refused = call(app, "/x")

    assert refused.status == 429
    assert refused.headers == {
        b"content-type": b"application/problem+json",
        b"content-length": str(len(refused.body)).encode(),
        b"cache-control": b"no-store",
        b"retry-after": b"3600",
        b"ratelimit-policy": b'"search";q=1;w=3600',
        b"ratelimit": b'"search";r=0;t=3600',
    }
    assert json.loads(refused.body)["detail"] == ('Policy "search" is exceeded. Retry in 3600 s.')


def test_an_answer_tells_how_the_limit_stands() -> None:
    answer = call(guarded(limit("5/s")), "/x")

    assert answer.body == b'"welcome"'
    assert answer.headers[b"ratelimit"] == b'"search";r=4;t=1'


def test_a_refused_head_has_no_body() -> None:
    app = FastAPI()

    @app.head("/x")
    @limited("1/h")
    async def look() -> None: ...

    call(app, "/x", method="HEAD")

    assert call(app, "/x", method="HEAD").body == b""


def test_an_entry_is_given_to_whom_it_may_concern() -> None:
    app = FastAPI()
    seen: list[Entry] = []

    @app.get("/x")
    async def search(entry: Annotated[Entry, Depends(limit("5/s", key="client.ip"))]) -> None:
        seen.append(entry)

    call(app, "/x")

    assert seen[0].decisions["search"].remaining == 4
    assert seen[0].passes[0].key == "203.0.113.7"


@pytest.mark.parametrize("threaded", [True, False])
def test_a_decorator_limits_both_colours_and_leaves_the_rest_as_it_was(threaded: bool) -> None:
    app = FastAPI()
    ran: list[int] = []

    def read(number: int, request: Request, size: int = 3) -> list[int]:
        """Read an item."""
        ran.append(threading.get_ident())
        return [number, size]

    async def aread(number: int, request: Request, size: int = 3) -> list[int]:
        """Read an item."""
        return read(number, request, size)

    endpoint: Any = limited("2/h", key="client.ip")(read if threaded else aread)
    app.get("/items/{number}", name="read")(endpoint)

    answers = [call(app, "/items/7", query_string=b"size=4") for _ in range(3)]

    assert [answer.status for answer in answers] == [200, 200, 429]
    assert json.loads(answers[0].body) == [7, 4]
    assert answers[0].headers[b"ratelimit-policy"] == b'"read";q=2;w=3600'
    assert call(app, "/items/seven", client=("198.51.100.1", 1)).status == 422
    assert [ident == threading.get_ident() for ident in ran] == [not threaded] * 2
    operation = app.openapi()["paths"]["/items/{number}"]["get"]
    assert [one["name"] for one in operation["parameters"]] == ["number", "size"]
    assert operation["description"] == "Read an item."


def test_a_decorated_function_can_still_be_called() -> None:
    @limited("1/h")
    def double(number: int, **more: int) -> int:
        return number * 2 + sum(more.values())

    assert [double(2), double(2, extra=1)] == [4, 5]
    assert [*inspect.signature(double).parameters] == ["number", "headgate", "more"]


def test_two_limits_at_one_route_are_both_asked_and_told_apart() -> None:
    app = FastAPI()

    @app.get("/x")
    @limited("3/h")
    @limited("2/h")
    async def search() -> None: ...

    answers = [call(app, "/x") for _ in range(3)]
    told = [value for name, value in answers[0].sent[0]["headers"] if name == b"ratelimit"]

    assert [answer.status for answer in answers] == [200, 200, 429]
    assert told == [b'"search";r=1;t=1800', b'"search.2";r=2;t=1200']


def test_a_generator_that_is_decorated_is_streamed() -> None:
    app = FastAPI()

    @app.get("/x", response_class=StreamingResponse)
    @limited("1/h")
    async def stream() -> AsyncIterator[bytes]:
        yield b"a"
        yield b"b"

    assert [call(app, "/x").status, call(app, "/x").status] == [200, 429]


def test_any_field_of_a_rule_may_be_said() -> None:
    app = FastAPI()

    @app.get("/x")
    @limited(SlidingLog("1/h"), key="header.x-user", empty_key="allow", over="reject 503")
    async def search() -> None: ...

    assert statuses(app, "/x", "/x") == [200, 200]
    assert [call(app, "/x", headers=[(b"x-user", b"1")]).status for _ in "ab"] == [200, 503]


def test_what_is_wrong_with_a_rule_is_said_where_it_is_written() -> None:
    with pytest.raises(RulesError) as caught:
        limit("5/min", key="client.id")
    assert str(caught.value) == 'key: unknown fact "client.id"; try client.ip'


def test_routes_count_for_themselves_and_under_one_name_together() -> None:
    app = FastAPI()
    each, all_ = limit("1/h"), limit("2/h", name="all")

    @app.get("/a", dependencies=[Depends(each)])
    async def first() -> None: ...

    @app.get("/b", dependencies=[Depends(each)])
    async def second() -> None: ...

    @app.get("/c", dependencies=[Depends(all_)])
    async def third() -> None: ...

    @app.get("/d", dependencies=[Depends(all_)])
    async def fourth() -> None: ...

    assert statuses(app, "/a", "/b", "/a", "/b") == [200, 200, 429, 429]
    assert statuses(app, "/c", "/d", "/c", "/d") == [200, 200, 429, 429]


def test_a_limit_of_a_router_is_asked_at_each_of_its_routes() -> None:
    router = APIRouter(prefix="/v1", dependencies=[Depends(limit("1/h"))])

    @router.get("/a")
    async def first() -> None: ...

    @router.get("/b", dependencies=[Depends(limit("5/h"))])
    async def second() -> None: ...

    app = FastAPI()
    app.include_router(router)

    assert statuses(app, "/v1/a", "/v1/a", "/v1/b", "/v1/b") == [200, 429, 200, 429]


def test_routes_of_one_name_are_told_apart_by_where_they_are_written() -> None:
    def named(module: str) -> APIRouter:
        router = APIRouter()

        @limited("1/h")
        async def index() -> None: ...

        index.__module__ = module
        router.get(f"/{module}")(index)
        return router

    def built() -> FastAPI:
        app = FastAPI()
        app.include_router(named("shop"))
        app.include_router(named("news"))
        return app

    told = [
        [call(app, path).headers[b"ratelimit"] for path in paths]
        for app, paths in [(built(), ["/shop", "/news"]), (built(), ["/news", "/shop"])]
    ]

    assert told[0] == [b'"shop.index";r=0;t=3600', b'"news.index";r=0;t=3600']
    assert told[1] == told[0][::-1]


def test_applications_that_share_a_limit_count_apart() -> None:
    gate = limit("1/h")
    one, other = guarded(gate), guarded(gate)

    assert [*statuses(one, "/x", "/x"), *statuses(other, "/x")] == [200, 429, 200]


def test_a_refusal_can_be_handled_as_any_exception() -> None:
    app = guarded(limit("1/h"))

    @app.exception_handler(RequestRefused)
    async def handle(request: Request, problem: RequestRefused) -> JSONResponse:
        said = [problem.detail, problem.entry.rule]
        return JSONResponse(said, problem.status_code, problem.headers)

    call(app, "/x")
    refused = call(app, "/x")

    assert json.loads(refused.body) == ['Policy "search" is exceeded. Retry in 3600 s.', "search"]
    assert refused.headers[b"retry-after"] == b"3600"
    assert refused.headers[b"content-length"] == str(len(refused.body)).encode()


def test_a_handler_of_its_status_comes_first() -> None:
    app = guarded(limit("1/h"))

    @app.exception_handler(429)
    async def handle(request: Request, problem: HTTPException) -> PlainTextResponse:
        return PlainTextResponse("slowly", 429)

    call(app, "/x")

    assert call(app, "/x").body == b"slowly"


def test_one_who_is_denied_is_told_so() -> None:
    app = guarded(limit(deny=True, match={"client.ip": "203.0.113.0/24"}))

    assert call(app, "/x").status == 403
    assert call(app, "/x", client=("198.51.100.1", 1)).status == 200


def test_a_dependency_can_be_overridden_in_a_test() -> None:
    gate = limit("1/h")
    app = guarded(gate)
    app.dependency_overrides[gate] = lambda: None

    assert statuses(app, "/x", "/x") == [200, 200]


def test_a_place_is_held_until_the_answer_is_sent() -> None:
    app = FastAPI()
    inner: list[int] = []

    async def parts() -> AsyncIterator[bytes]:
        inner.append((await Caller(app, "/x")()).status)
        yield b"x"

    @app.get("/x")
    @limited(concurrent=1)
    async def stream() -> StreamingResponse:
        return StreamingResponse(parts())

    assert statuses(app, "/x", "/x") == [200, 200]
    assert inner == [503, 503]


@pytest.mark.parametrize("problem", [LookupError(), HTTPException(404), asyncio.CancelledError()])
def test_a_place_is_given_back_when_a_route_raises(problem: BaseException) -> None:
    app = FastAPI()
    broken = [problem]

    @app.get("/x")
    @limited(concurrent=1)
    async def fail() -> str:
        if broken:
            raise broken.pop()
        return "mended"

    if isinstance(problem, HTTPException):
        assert call(app, "/x").status == 404
    else:
        with pytest.raises(type(problem)):
            call(app, "/x")

    assert call(app, "/x").status == 200


def test_a_socket_is_refused_at_its_route_and_held_while_it_lasts() -> None:
    app = FastAPI()
    inner: list[int] = []

    @app.websocket("/x")
    async def chat(
        socket: WebSocket, entry: Annotated[Entry, Depends(limit(key="client.ip", concurrent=1))]
    ) -> None:
        await socket.accept()
        again = Caller(app, "/x", says=(CONNECT,), type="websocket", **DENIALS)
        inner.append((await again()).status)
        await socket.close()

    outer = [call(app, "/x", says=(CONNECT,), type="websocket").status for _ in range(2)]

    assert outer == [101, 101]
    assert inner == [429, 429]


@pytest.mark.parametrize("field", ["bandwidth", "counts", "breaker", "cost"])
def test_what_is_about_answers_needs_somebody_who_sees_them(field: str) -> None:
    fields: dict[str, Any] = {
        "bandwidth": {"bandwidth": "1KB/s"},
        "counts": {"limit": "1/h", "counts": {"status": 401}},
        "breaker": {"breaker": True},
        "cost": {"limit": "1/h", "cost": {"by": "response.body"}},
    }
    app = guarded(limit(fields[field].pop("limit", ()), **fields[field]))

    with pytest.raises(RuntimeError) as caught:
        call(app, "/x")
    assert str(caught.value) == (
        f"limit: {field} is about the answer, which a dependency does not see; call configure(app)"
    )


def test_an_application_is_configured_before_it_is_used() -> None:
    app = guarded(limit("1/h"))
    call(app, "/x")

    with pytest.raises(ValueError) as caught:
        configure(app)
    assert str(caught.value) == 'configure: "FastAPI" is configured already, or in use'


def test_a_served_route_is_limited_in_a_thread_and_in_the_loop() -> None:
    app = FastAPI()

    @app.get("/threaded")
    @limited("1/h", key="client.ip")
    def threaded() -> str:
        return "welcome"

    @app.get("/looped", dependencies=[Depends(limit("1/h", key="client.ip"))])
    async def looped() -> str:
        return "welcome"

    with serving(app) as site:
        answers = [site.ask(path) for path in ("/threaded", "/looped") for _ in range(2)]

    assert [answer.status for answer in answers] == [200, 429, 200, 429]
    assert {answer.line("content-type") for answer in answers if answer.status == 429} == {
        "application/problem+json"
    }


@pytest.mark.parametrize("options", [{}, {"concurrent": 5}], ids=["gate", "room"])
@pytest.mark.parametrize("colour", ["sync", "async"])
def test_a_limit_stands_above_a_function_as_limited_does(
    options: dict[str, Any], colour: str
) -> None:
    app = FastAPI()

    def plain(name: str, request: Request) -> str:
        return f"{name} {request.method}"

    async def awaited(name: str, request: Request) -> str:
        return f"{name} {request.method}"

    function = plain if colour == "sync" else awaited
    app.get("/{name}")(limit("1/h", name="once", **options)(function))
    first, second = call(app, "/a"), call(app, "/a")

    assert (first.status, first.body, second.status) == (200, b'"a GET"', 429)
    assert first.headers[b"ratelimit"].startswith(b'"once";r=0;t=3600')


@pytest.mark.parametrize("options", [{}, {"concurrent": 5}], ids=["gate", "room"])
def test_one_limit_is_a_dependency_and_a_decorator(options: dict[str, Any]) -> None:
    gate = limit("3/h", name="both", **options)
    app = guarded(gate)

    @app.get("/y")
    @gate
    async def other(entry: Any = Depends(gate)) -> bool:  # noqa: B008 - said as FastAPI has it
        return bool(entry)

    assert statuses(app, "/x", "/y", "/y", "/x", "/y") == [200, 200, 200, 429, 429]
    assert inspect.signature(gate) == inspect.signature(gate.ask, eval_str=True)


def test_a_limit_is_awaited_as_a_dependency_alone() -> None:
    gate, request = limit("1/h"), Request({"type": "http"})
    with pytest.raises(TypeError) as caught:
        gate(request)

    assert str(caught.value) == (
        f"limit: write Depends(limit(...)), or put it above a function, not {request!r}"
    )


def test_a_limit_that_nobody_would_await_is_an_error_and_no_pass() -> None:
    # As a framework would ask that takes it for a plain function: in a thread.
    with pytest.raises(RuntimeError) as caught:
        limit("1/h")(Request({"type": "http"}), JSONResponse(None))

    assert str(caught.value) == "no running event loop"


@pytest.mark.parametrize("way", [limit, limited])
def test_a_store_that_cannot_be_is_refused_where_it_is_written(way: Any) -> None:
    with pytest.raises(ValueError) as caught:
        way("1/h", store="redi://x")

    assert str(caught.value) == (
        "store is an address such as memory://, shared://web or redis://host, not "
        '"redi://x"; did you mean redis?'
    )
