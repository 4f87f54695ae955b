"""Clients that come when they are due, whether or not those before them were served.

They use connections one after another, as many as it takes. An answer that does not come, or not
whole, has the status 0.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any, NamedTuple

BLANK = b"\r\n\r\n"
LENGTH = re.compile(rb"content-length: ([0-9]+)", re.IGNORECASE)
ENDS = re.compile(rb"connection: close", re.IGNORECASE)
ASK = b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"
# How long is waited for the last answers.
PATIENCE = 20.0


class Visit(NamedTuple):
    """A request: from when to when, and what was answered."""

    begin: float
    end: float
    status: int
    head: bytes
    body: bytes

    @property
    def took(self) -> float:
        return self.end - self.begin


class Line(asyncio.Protocol):
    """A connection, used by one client at a time."""

    def __init__(self, rush: Rush, source: int) -> None:
        self.rush = rush
        self.source = source
        self.begin = 0.0
        self.heard = b""
        self.open = True

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def ask(self, begin: float) -> None:
        self.begin = begin
        self.transport.write(self.rush.asking)

    def data_received(self, data: bytes) -> None:
        self.heard += data
        head, mark, body = self.heard.partition(BLANK)
        found = LENGTH.search(head)
        if not mark or found is None or len(body) < int(found[1]):
            return
        self.heard = b""
        self.open = ENDS.search(head) is None
        self.finish(int(head[9:12]), head, body)
        if self.open:
            self.rush.idle[self.source].append(self)
        else:
            self.transport.close()

    def connection_lost(self, problem: Exception | None) -> None:
        if self.open:
            self.open = False
            self.finish(0, b"", self.heard)

    def finish(self, status: int, head: bytes, body: bytes) -> None:
        if self.begin:
            begin, self.begin = self.begin, 0.0
            self.rush.note(Visit(begin, time.monotonic(), status, head, body))


class Rush:
    """Clients of a gateway at a port of this machine, in an event loop.

        visits = asyncio.run(Rush(port).run(Pace(200, 10)))

    They come from so many addresses in turn. `visits` are those that are over.
    """

    def __init__(self, port: int, asking: bytes = ASK, sources: int = 1) -> None:
        self.port = port
        self.asking = asking
        self.idle: list[list[Line]] = [[] for _ in range(sources)]
        self.visits: list[Visit] = []
        self.begun = 0
        self.tasks: set[asyncio.Task[None]] = set()
        self.lines: list[Line] = []

    async def run(self, moments: Iterable[float]) -> list[Visit]:
        """Have them come, so many seconds from now each; all visits, when the last is over."""
        await self.come(moments)
        await self.settle()
        return self.visits

    async def come(self, moments: Iterable[float]) -> None:
        """Have them come; those who came last are still under way then."""
        begin = time.monotonic()
        for moment in moments:
            delay = begin + moment - time.monotonic()
            if delay > 0:
                await asyncio.sleep(delay)
            self.send()

    def send(self) -> None:
        """One client more."""
        begin = time.monotonic()
        source = self.begun % len(self.idle)
        self.begun += 1
        idle = self.idle[source]
        while idle:
            line = idle.pop()
            if line.open:
                line.ask(begin)
                return
        task = asyncio.ensure_future(self.connect(begin, source))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def connect(self, begin: float, source: int) -> None:
        try:
            _, line = await asyncio.get_running_loop().create_connection(
                lambda: Line(self, source),
                "127.0.0.1",
                self.port,
                local_addr=(f"127.0.1.{source + 1}", 0),
            )
        except OSError:
            self.note(Visit(begin, time.monotonic(), 0, b"", b""))
            return
        self.lines.append(line)
        line.ask(begin)

    def note(self, visit: Visit) -> None:
        self.visits.append(visit)

    async def settle(self) -> None:
        """Wait for the last answers, and hang up."""
        end = time.monotonic() + PATIENCE
        while len(self.visits) < self.begun and time.monotonic() < end:
            await asyncio.sleep(0.01)
        for line in self.lines:
            line.transport.abort()
        await asyncio.sleep(0)


def evenly(rate: float, seconds: float) -> Iterator[float]:
    """The moments of so many a second, for so long."""
    return (number / rate for number in range(round(rate * seconds)))


def anyhow(rate: float, seconds: float, chance: Random) -> Iterator[float]:
    """The same, but as people come who do not know of each other."""
    moment = 0.0
    while (moment := moment + chance.expovariate(rate)) < seconds:
        yield moment


def part(visits: Iterable[Visit], share: float) -> float:
    """The seconds that such a share of them took at most."""
    ordered = sorted(visit.took for visit in visits)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
