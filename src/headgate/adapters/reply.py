"""Reply: an answer on its way through an ASGI server, over HTTP or a WebSocket.

Several gatekeepers may have let the request in, one after another. All are told of at the head of
the answer, all may hold its bytes back, and all get back what is held: when the last byte is sent,
or the application ends without one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack
from typing import Any

from headgate.adapters.http.dialects import Fields
from headgate.adapters.stay import measured, together
from headgate.rules.live.entry import Entry
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.live.pieces import cut
from headgate.rules.live.visit import GONE

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADS = ("http.response.start", "websocket.http.response.start", "websocket.accept")
ENDS = ("http.disconnect", "websocket.disconnect")
# By these an application has the server send a file, past everybody who counts.
SHORTCUTS = ("http.response.pathsend", "http.response.zerocopysend")


class Reply:
    """An answer: told of, counted, and held back as rules will have it."""

    __slots__ = (
        "_ear",
        "_headers",
        "_scope",
        "_send",
        "_tell",
        "_untold",
        "parties",
        "size",
        "status",
    )

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, tell: Callable[[Entry], Fields]
    ) -> None:
        self._scope = scope
        self._ear = Ear(receive)
        self._send = send
        self._tell = tell
        self._headers: Fields = []
        self._untold: list[Entry] = []
        self.parties: list[tuple[AsyncGatekeeper, Entry]] = []
        self.status = 0
        self.size = 0

    def add(self, keeper: AsyncGatekeeper, entry: Entry) -> None:
        """Take up an entry that a gatekeeper has given."""
        self._untold.append(entry)
        if entry.owing or entry.bandwidth:
            self.parties.append((keeper, entry))
        if measured(entry):
            offered = self._scope.get("extensions") or {}
            kept = {name: terms for name, terms in offered.items() if name not in SHORTCUTS}
            self._scope["extensions"] = kept

    async def serve(self, app: App) -> None:
        """Have an application answer."""
        try:
            await app(self._scope, self._ear.receive, self.send)
        except BaseException as problem:
            # What was begun has failed; who is cancelled has nobody to answer any more.
            self.status = GONE if isinstance(problem, asyncio.CancelledError) else 0
            raise
        finally:
            self._ear.close()
            await self.leave()

    async def send(self, message: Message) -> None:
        """Send one message of the answer."""
        kind = message["type"]
        if kind in HEADS:
            await self._send(self._head(message))
        elif kind.endswith("http.response.body"):
            await self._body(message, message.get("body", b""))
        else:
            if kind == "websocket.send":
                await self._pay(message.get("bytes") or (message.get("text") or "").encode())
            elif kind == "websocket.close" and not self.status:
                # A handshake that is not accepted.
                self.status = 403
            await self._send(message)

    def header(self, name: str) -> str:
        """A header of the answer; several lines are joined."""
        wanted = name.encode("latin-1")
        found = [value for word, value in self._headers if word.lower() == wanted]
        return b", ".join(found).decode("latin-1")

    def told(self, entry: Entry) -> Entry:
        """An entry and all those that nobody was told of yet, as one; then everybody was."""
        untold, self._untold = [*self._untold, entry], []
        return together(untold)

    async def leave(self) -> None:
        """Give back what is held. Once: a second time there is nothing left."""
        parties, self.parties = self.parties, []
        # An application that fails because its client has gone has not failed.
        failed = self.status == 0 or self.status >= 500
        status = GONE if failed and self._ear.left else self.status
        async with AsyncExitStack() as stack:
            for keeper, entry in parties:
                stack.push_async_callback(keeper.leave, entry, status, self.header, self.size)

    def _head(self, message: Message) -> Message:
        self.status = message.get("status", 101)
        self._headers = [*message.get("headers", ())]
        untold, self._untold = self._untold, []
        fields = self._tell(together(untold)) if untold else []
        # A new one, for an application may send the same one again.
        return {**message, "headers": self._headers + fields}

    async def _body(self, message: Message, body: bytes) -> None:
        more = message.get("more_body", False)
        if self._scope.get("method") == "HEAD":
            # No server sends it.
            body = b""
        self.size += len(body)
        for _, entry in self.parties:
            entry.send(body)
        size = self._piece() if body else 0
        if size:
            left = len(body)
            for piece in cut(body, size):
                left -= len(piece)
                if await self._pour(len(piece)):
                    await self._send({**message, "body": piece, "more_body": more or left > 0})
        else:
            await self._send(message)
        if not more:
            for _, entry in self.parties:
                entry.complete = True
            await self.leave()

    async def _pay(self, content: bytes) -> None:
        # What is sent over a WebSocket is sent whole, and paid for in pieces.
        self.size += len(content)
        size = self._piece()
        if size:
            for piece in cut(content, size):
                await self._pour(len(piece))

    async def _pour(self, size: int) -> bool:
        # Wait until so much may be sent; false if there is nobody to send it to.
        if self._ear.gone():
            return False
        for keeper, entry in self.parties:
            await keeper.pour(entry, size)
        return True

    def _piece(self) -> int:
        # How many bytes to send at a time; 0 if all may be sent at once.
        return min([entry.piece for _, entry in self.parties if entry.bandwidth], default=0)


class Ear:
    """What a client says, for the application; and whether it has hung up, for who waits.

    An application does not listen while it sends, and a large body can take hours. What is heard
    meanwhile is kept for it.
    """

    __slots__ = ("_hearing", "_kept", "_listeners", "_receive", "left")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._kept: list[Message] = []
        self._hearing: asyncio.Future[Message] | None = None
        self._listeners = 0
        # Whether the client is known to have hung up.
        self.left = False

    async def receive(self) -> Message:
        """The next message, as the application wants it."""
        if self._kept:
            return self._kept.pop(0)
        self._listeners += 1
        try:
            if self._hearing is None:
                message = await self._receive()
            else:
                message = await asyncio.shield(self._hearing)
                self._hearing = None
        finally:
            self._listeners -= 1
        self.left = self.left or message["type"] in ENDS
        return message

    def gone(self) -> bool:
        """Whether the client has hung up. Who is the first to ask may have to ask again."""
        # Who listens hears it, and of two that listen one may not.
        if not self.left and not self._listeners:
            hearing = self._hearing
            if hearing is not None and answered(hearing):
                self._kept.append(hearing.result())
                self.left = self._kept[-1]["type"] in ENDS
                self._hearing = None
            if self._hearing is None and all(map(whole, self._kept)):
                self._hearing = asyncio.ensure_future(self._receive())
        return self.left

    def close(self) -> None:
        """Stop listening."""
        hearing = self._hearing
        if hearing is not None and not answered(hearing):
            hearing.cancel()


def answered(hearing: asyncio.Future[Message]) -> bool:
    """Whether there is a message; what went wrong is for the application to find."""
    return hearing.done() and not hearing.cancelled() and hearing.exception() is None


def whole(message: Message) -> bool:
    """Whether nothing but the end can follow: the request is there, with all of its body."""
    return message["type"] == "http.request" and not message.get("more_body", False)
