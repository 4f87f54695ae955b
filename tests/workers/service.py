"""A service behind a gateway: it answers at once, and where it is told to, when it is let go."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Event, Thread

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
SLOW = b"/slow"


class Service:
    """Serves on `port` in a thread of its own; `held` counts who came to wait at /slow."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.ready = Event()
        self.port = self.held = 0
        self.thread = Thread(target=self.run, name="service", daemon=True)

    def __enter__(self) -> Service:
        self.thread.start()
        self.ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.over.set)
        self.thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def release(self) -> None:
        """Answer those who wait; who comes from now on waits anew."""
        self.loop.call_soon_threadsafe(self.open)

    def run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.run(self.serve())

    async def serve(self) -> None:
        self.over, self.gate = asyncio.Event(), asyncio.Event()
        server = await asyncio.start_server(self.meet, "127.0.0.1", 0, backlog=1000)
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        await self.over.wait()
        server.close()

    def open(self) -> None:
        self.gate.set()
        self.gate = asyncio.Event()

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if head.split(b" ", 2)[1] == SLOW:
                    self.held += 1
                    await self.gate.wait()
                writer.write(OK)
        writer.close()
