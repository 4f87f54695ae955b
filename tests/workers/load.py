"""Clients that never rest: some ask again and again on one connection, some on a new one each time.

Whatever a client must not see is a trouble: a connection that is refused or reset, half an answer,
an answer that is not 200. What it must be able to bear is that a connection on which nothing was
under way has ended (RFC 9112, 9.3.1): then it asks once more, on a new one.
"""

from __future__ import annotations

import asyncio
import re
from threading import Event, Thread

from tests.conftest import SCALE

ASK = b"GET / HTTP/1.1\r\nhost: a.example\r\n\r\n"
LENGTH = re.compile(rb"content-length: ([0-9]+)", re.IGNORECASE)
ENDS = re.compile(rb"connection: close", re.IGNORECASE)
# Others want to get on, too: each client asks so often at most, and half as often outside the soak.
PAUSE = 0.015 if SCALE > 1 else 0.03
CLIENTS = 4 if SCALE > 1 else 2
# A net for tests that fail.
SECONDS = 10.0


class Load:
    """So many clients of each kind at a port, from the first line of a `with` to its last.

    `answers` counts those that were whole, `stale` the connections that ended while nobody used
    them, and `troubles` has all else.
    """

    def __init__(self, port: int, keeping: int = CLIENTS, fresh: int = CLIENTS) -> None:
        self.port = port
        self.clients = [True] * keeping + [False] * fresh
        self.answers = self.stale = 0
        self.troubles: list[str] = []
        self.over = Event()
        self.thread = Thread(target=lambda: asyncio.run(self.run()), name="load", daemon=True)

    def __enter__(self) -> Load:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    async def run(self) -> None:
        await asyncio.gather(*(self.visit(keeps) for keeps in self.clients))

    async def visit(self, keeps: bool) -> None:
        line: Line | None = None
        while not self.over.is_set():
            try:
                async with asyncio.timeout(SECONDS):
                    line = await self.ask(line, keeps)
                    await asyncio.sleep(PAUSE)
            except (OSError, AssertionError, EOFError) as trouble:
                self.troubles.append(f"{'keeping' if keeps else 'fresh'}: {trouble!r}")
                line = None
        if line is not None:
            line.close()

    async def ask(self, line: Line | None, keeps: bool) -> Line | None:
        """Ask once; the connection, if it may be used again."""
        if line is not None and not await line.ask():
            self.stale += 1
            line = None
        if line is None:
            line = Line(*await asyncio.open_connection("127.0.0.1", self.port))
            if not await line.ask():
                raise EOFError("a new connection ended without an answer")
        self.answers += 1
        if keeps and line.open:
            return line
        line.close()
        return None


class Line:
    """A connection of a client; `open` until it is told that there will be no more answers."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.open = True

    async def ask(self) -> bool:
        """Whether there is an answer; raises where there is half of one, or a wrong one."""
        try:
            self.writer.write(ASK)
            first = await self.reader.read(1)
        except ConnectionError:
            first = b""
        if not first:
            self.close()
            return False
        head = first + await self.reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        found = LENGTH.search(head)
        assert found is not None, head
        await self.reader.readexactly(int(found[1]))
        self.open = ENDS.search(head) is None
        return True

    def close(self) -> None:
        self.writer.close()
