"""ASGI: the rules in front of any ASGI application, such as Starlette, FastAPI, Litestar or Quart.

    app = HeadgateMiddleware(app, "rules.yaml")

A refusal is answered before the application hears of the request. What is held, such as a place
under `concurrent`, is held until the answer is sent, or a WebSocket is closed.

Rules say a path as the server does: decoded, and whole. What an application is mounted under
belongs to it, and so does a root path: behind `uvicorn --root-path /api` a rule about `/login` says
`/api/login`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from headgate.adapters.arrivals import Guest, Manners, Reception
from headgate.adapters.http.dialects import Fields
from headgate.adapters.http.herald import Answer
from headgate.adapters.reply import App, Message, Receive, Reply, Scope, Send
from headgate.clock import Clock
from headgate.rules.clients.client import Found
from headgate.rules.live.entry import Entry
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.live.lodge import Source

Finder = Callable[[Scope], object]

REFUSED = "websocket.http.response"


class HeadgateMiddleware:
    """Puts rules in front of an application.

    `rules` are a file, a `Rules` value, or an `AsyncGatekeeper` that others use as well. `user` and
    `plan` are functions of the scope that say who a request is from and what they have booked. What
    was decided is in the scope as `headgate`. Neither function is awaited: what takes time is found
    out in a middleware around this one.
    """

    def __init__(
        self,
        app: App,
        rules: Source | AsyncGatekeeper,
        store: str = "",
        user: Finder | None = None,
        plan: Finder | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.app = app
        self._own = not isinstance(rules, AsyncGatekeeper)
        self.keeper = (
            rules if isinstance(rules, AsyncGatekeeper) else AsyncGatekeeper(rules, store, clock)
        )
        self._reception = Reception(self.keeper, user or signed, plan or booked)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._other(scope, receive, send)
            return
        keeper, manners = self.keeper, self._reception.manners
        request = Arrival(scope, manners)
        found = keeper.glance(request)
        entry = found if isinstance(found, Entry) else await found
        scope["headgate"] = entry
        if entry.refusal is not None:
            answer = manners.herald.answer(entry, request.header("accept"))
            await refuse(scope, receive, send, answer)
        elif entry.owing or entry.bandwidth:
            reply = Reply(scope, receive, send, manners.herald.fields)
            reply.add(keeper, entry)
            await reply.serve(self.app)
        else:
            fields = manners.herald.fields(entry)
            await self.app(scope, receive, telling(send, fields) if fields else send)

    async def _other(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A lifespan is nobody's request; a WebSocket is one that may take hours.
        if scope["type"] != "websocket":
            await self.app(scope, receive, closing(send, self.keeper.close) if self._own else send)
            return
        manners = self._reception.manners
        request = Arrival(scope, manners)
        entry = await self.keeper.enter(request)
        scope["headgate"] = entry
        if entry.refusal is not None:
            answer = manners.herald.answer(entry, request.header("accept"))
            await refuse(scope, receive, send, answer)
            return
        reply = Reply(scope, receive, send, manners.herald.fields)
        reply.add(self.keeper, entry)
        await reply.serve(self.app)


class Arrival(Guest):
    """A request as a scope has it; what no rule asks for is not looked at."""

    __slots__ = ()

    def __init__(self, scope: Scope, manners: Manners) -> None:
        self.source = scope
        self.manners = manners
        self.path = scope["path"]
        self.method = scope.get("method", "GET")

    @property
    def _query(self) -> bytes:  # type: ignore[override]
        found: bytes = self.source.get("query_string", b"")
        return found

    def header(self, name: str) -> str:
        """The header of this name."""
        found = self._all(name)
        if len(found) < 2:
            return found[0].decode("latin-1") if found else ""
        return (b"; " if name == "cookie" else b", ").join(found).decode("latin-1")

    @property
    def scheme(self) -> str:  # type: ignore[override]
        """The scheme, such as https."""
        return str(self.source.get("scheme", "http"))

    def _all(self, name: str) -> list[bytes]:
        wanted = name.encode("latin-1")
        return [value for word, value in self.source["headers"] if word == wanted]

    @property
    def client(self) -> str:
        """The key of the client's address."""
        # Of the few things that nearly every request is asked for, the one that takes longest.
        peer = self.source.get("client")
        found, trusted = self.manners.client.meet(peer[0] if peer else None)
        return self._locate().key if trusted else found.key

    def _peer(self) -> str | None:
        peer = self.source.get("client")
        return peer[0] if peer else None

    def _locate(self) -> Found:
        peer = self.source.get("client")
        client = self.manners.client
        found, trusted = client.meet(peer[0] if peer else None)
        if not trusted:
            return found
        return client.follow(found, [line.decode("latin-1") for line in self._all(client.header)])


async def refuse(scope: Scope, receive: Receive, send: Send, answer: Answer) -> None:
    """Answer in the application's place: a request, or a handshake where the server can.

    Where it cannot, a WebSocket is closed with 1013, which means to try again later.
    """
    status, headers, body = answer
    prefix = ""
    if scope["type"] == "websocket":
        await receive()
        if REFUSED not in (scope.get("extensions") or {}):
            await send({"type": "websocket.close", "code": 1013, "reason": "over the limit"})
            return
        prefix = "websocket."
    elif scope["method"] == "HEAD":
        body = b""
    await send({"type": prefix + "http.response.start", "status": status, "headers": headers})
    await send({"type": prefix + "http.response.body", "body": body})


def telling(send: Send, fields: Fields) -> Send:
    """`send`, which adds headers to the beginning of the answer."""

    # Not a coroutine itself: it would be one more to run for every message.
    def tell(message: Message) -> Awaitable[None]:
        if message["type"] == "http.response.start":
            # A new one, for an application may send the same one again.
            message = {**message, "headers": [*message.get("headers", ()), *fields]}
        return send(message)

    return tell


def closing(send: Send, close: Callable[[], Awaitable[None]]) -> Send:
    """`send` of a lifespan; when the application has shut down, nobody needs the store any more."""

    async def last(message: Message) -> None:
        if message["type"].startswith("lifespan.shutdown."):
            await close()
        await send(message)

    return last


def signed(scope: Scope) -> object:
    """Who is signed in, as Starlette's own authentication has it."""
    user = scope.get("user")
    if not getattr(user, "is_authenticated", False):
        return ""
    try:
        return getattr(user, "identity", "")
    except NotImplementedError:
        return getattr(user, "display_name", "")


def booked(scope: Scope) -> object:
    """The plan, where another middleware has put it into the scope's state."""
    return scope.get("state", {}).get("plan", "")
