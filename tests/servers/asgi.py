"""A uvicorn that answers every request with what it saw of it, and keeps a book of its visits.

It speaks HTTP with h11 or with httptools, which read bytes in two different ways: what one of them
takes for a body may be a request to the other.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
from threading import Thread
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tests.servers.ports import Port
from tests.servers.visits import BROKEN, Visit

ENGINES: dict[str, Any] = {"h11": H11Protocol, "httptools": HttpToolsProtocol}
# None of these is a limit that a request of a test should meet before the one it is about.
SETTINGS: dict[str, Any] = {
    "log_config": None,
    "access_log": False,
    "lifespan": "off",
    "interface": "asgi3",
    "loop": "asyncio",
    "ws": "none",
    "proxy_headers": False,
    "h11_max_incomplete_event_size": 1 << 20,
}


class Uvicorn:
    """Serves on `port` with an engine, `h11` or `httptools`, in a thread of its own.

        with Uvicorn("h11") as server:
            ...
            server.visits()

    The answer is JSON with `method`, `target`, `headers`, and the `length` and `sha256` of the
    body. `raw` is every byte that came in since the visits were last asked for.
    """

    def __init__(self, engine: str) -> None:
        self.name = f"uvicorn-{engine}"
        self.raw = bytearray()
        self.book: list[Visit] = []
        self.place = Port()
        protocol = recording(ENGINES[engine], self)
        self.server = uvicorn.Server(uvicorn.Config(self.answer, http=protocol, **SETTINGS))
        self.listener = listen(self.port)
        self.loop = asyncio.new_event_loop()
        self.thread = Thread(target=self.run, name=self.name, daemon=True)

    def __enter__(self) -> Uvicorn:
        # Who comes before it has begun waits in line.
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join()
        self.listener.close()
        self.place.close()

    def __repr__(self) -> str:
        return f"<{self.name} on {self.port}>"

    @property
    def port(self) -> int:
        return self.place.number

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def visits(self) -> list[Visit]:
        """All visits since this was last asked, with those whose bytes have just come in."""
        return asyncio.run_coroutine_threadsafe(self.settle(), self.loop).result(10)

    def run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.run(self.server.serve(sockets=[self.listener]))

    async def settle(self) -> list[Visit]:
        # A connection that is made, bytes that come in and a request that begins take turns each.
        for _ in range(10):
            await asyncio.sleep(0)
        found = list(self.book)
        self.book.clear()
        self.raw.clear()
        return found

    async def answer(self, scope: Any, receive: Any, send: Any) -> None:
        """Enter the visit as begun, as whole when all of it is here, and say what it was."""
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        target = (scope["raw_path"] + query).decode("latin-1")
        headers = tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in scope["headers"])
        visit = Visit(scope["method"], target, headers, whole=False)
        self.book.append(visit)
        place = len(self.book) - 1
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
        # Trailers are put among the headers by some engines, when all has been read.
        headers = tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in scope["headers"])
        self.enter(place, visit, visit._replace(headers=headers, body=body, whole=True))
        await say(send, visit, headers, body)

    def enter(self, place: int, begun: Visit, whole: Visit) -> None:
        """Put a whole visit where it began, unless the book was taken away in the meantime."""
        if place < len(self.book) and self.book[place] is begun:
            self.book[place] = whole
        else:
            self.book.append(whole)


def listen(port: int) -> socket.socket:
    """A socket that says that it speaks TCP: of no other does asyncio take Nagle's delay away."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    return listener


def recording(engine: Any, server: Uvicorn) -> Any:
    """The engine, and a note of all bytes that it gets and of what it cannot read."""

    class Recording(engine):  # type: ignore[misc]
        def data_received(self, data: bytes) -> None:
            server.raw.extend(data)
            super().data_received(data)

        def send_400_response(self, msg: str) -> None:
            server.book.append(BROKEN)
            super().send_400_response(msg)

    return Recording


async def say(send: Any, visit: Visit, headers: Any, body: bytes) -> None:
    told = {
        "method": visit.method,
        "target": visit.target,
        "headers": headers,
        "length": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    text = json.dumps(told).encode()
    kind = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(text))]
    await send({"type": "http.response.start", "status": 200, "headers": kind})
    await send({"type": "http.response.body", "body": text})
