"""ASGI applications called without a server: what a client says, and what it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

Message = dict[str, Any]
CONNECT = {"type": "websocket.connect"}
HUNG_UP = {"type": "http.disconnect"}
REQUEST = {"type": "http.request", "body": b"", "more_body": False}


class Caller:
    """One request to an application: `sent` is what it has answered so far.

    `says` is what the client says in turn; after that it is silent, and goes away as soon as
    something arrives and `enough` says so. `tell` is called with every message that arrives.
    """

    def __init__(
        self,
        app: Callable[..., Awaitable[None]],
        path: str = "/",
        *,
        says: tuple[Message, ...] = (REQUEST,),
        tell: Callable[[Message], object] = lambda message: None,
        enough: Callable[[], bool] = lambda: False,
        **scope: Any,
    ) -> None:
        self.app = app
        self.scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1", "method": "GET", "scheme": "http", "path": path,
            "raw_path": path.encode(), "root_path": "", "query_string": b"", "headers": [],
            "client": ("203.0.113.7", 5000), "server": ("127.0.0.1", 80), "extensions": {},
            "state": {},
        } | scope  # fmt: skip
        self.sent: list[Message] = []
        self._tell = tell
        self._enough = enough
        self._says = [*says]
        self._more = asyncio.Event()

    async def __call__(self) -> Caller:
        """Have the application answer."""
        await self.app(self.scope, self._receive, self._send)
        return self

    @property
    def status(self) -> int:
        """The status, or the code that a WebSocket was closed with; 101 if it was accepted."""
        first = self.sent[0]
        return int(first.get("status") or first.get("code") or 101)

    @property
    def headers(self) -> dict[bytes, bytes]:
        """The headers, of which there is one of each name."""
        found = [*self.sent[0].get("headers", ())]
        assert len(found) == len(dict(found))
        return dict(found)

    @property
    def body(self) -> bytes:
        """The body so far."""
        return b"".join(message.get("body", b"") for message in self.sent)

    async def _receive(self) -> Message:
        while not self._says:
            self._more.clear()
            await self._more.wait()
        # Who hung up stays away.
        return self._says[0] if self._says[0] == HUNG_UP else self._says.pop(0)

    async def _send(self, message: Message) -> None:
        self.sent.append(dict(message))
        self._tell(message)
        if self._enough():
            self._says.append(HUNG_UP)
            self._more.set()


def call(app: Any, path: str = "/", **options: Any) -> Caller:
    """One request, from beginning to end."""
    return asyncio.run(Caller(app, path, **options)())


async def shut(app: Any) -> None:
    """Have an application start up and shut down, as a server does at its end."""
    says = ({"type": "lifespan.startup"}, {"type": "lifespan.shutdown"})
    await Caller(app, says=says, type="lifespan")()
