"""Visitors: they come when they come, whether or not those before them were served.

An open loop, for overload.py: arrivals are Poisson at the rate of each phase, and latency counts
from the moment a visitor was to come, so a generator that is late does not look like a service that
is fast. Who has waited for `patience` hangs up, and that connection is closed.

Told what to do in JSON as its only argument; prints one row for each visitor: when it was to come,
by how much it was late, how long it took, and the status of the answer, 0 if there was none.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from typing import Any

import single

REQUEST = b"GET /work HTTP/1.1\r\nHost: overload\r\n\r\n"
STATUS = slice(9, 12)
Row = tuple[float, float, float, int]


class Line(asyncio.Protocol):
    """A connection, used by one visitor at a time."""

    def __init__(self, crowd: Crowd) -> None:
        self.crowd = crowd
        self.visit: tuple[float, float] | None = None
        self.timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def ask(self, due: float, sent: float) -> None:
        """Send a request for a visitor who was due then."""
        self.visit = (due, sent)
        patience = due + self.crowd.patience - time.monotonic()
        self.timer = self.crowd.loop.call_later(max(0.0, patience), self.give_up)
        self.transport.write(REQUEST)

    def data_received(self, data: bytes) -> None:
        # Answers are so short that they come in one piece.
        self.end(int(data[STATUS]))
        self.crowd.idle.append(self)

    def connection_lost(self, problem: Exception | None) -> None:
        self.end(0)

    def give_up(self) -> None:
        """Hang up."""
        self.end(0)
        self.transport.abort()

    def end(self, status: int) -> None:
        """What came of the visit."""
        if self.visit is None:
            return
        due, sent = self.visit
        self.visit = None
        if self.timer is not None:
            self.timer.cancel()
        self.crowd.note(due, sent, status)


class Crowd:
    """All visitors, and the connections they use one after another."""

    def __init__(self, port: int, patience: float) -> None:
        self.port = port
        self.patience = patience
        self.loop = asyncio.get_running_loop()
        self.idle: list[Line] = []
        self.rows: list[Row] = []
        self.connecting: set[asyncio.Task[None]] = set()

    def come(self, due: float) -> None:
        """One visitor, on a connection that is free, or a new one."""
        sent = time.monotonic()
        while self.idle:
            line = self.idle.pop()
            if not line.transport.is_closing():
                line.ask(due, sent)
                return
        task = self.loop.create_task(self.connect(due, sent))
        self.connecting.add(task)
        task.add_done_callback(self.connecting.discard)

    async def connect(self, due: float, sent: float) -> None:
        try:
            async with asyncio.timeout(self.patience):
                _, line = await self.loop.create_connection(
                    lambda: Line(self), "127.0.0.1", self.port
                )
        except (OSError, TimeoutError):
            self.note(due, sent, 0)
            return
        line.ask(due, sent)

    def note(self, due: float, sent: float, status: int) -> None:
        now = time.monotonic()
        self.rows.append((due, sent - due, now - due, status))

    async def phase(self, rate: float, seconds: float, luck: random.Random) -> None:
        """Let them come at that rate, for so long."""
        due = begin = time.monotonic()
        while (due := due + luck.expovariate(rate)) < begin + seconds:
            delay = due - time.monotonic()
            if delay > 0:
                await asyncio.sleep(delay)
            self.come(due)

    async def line_up(self, places: int, seconds: float) -> None:
        """So many at once, each coming back as soon as it was served: finds out the capacity."""
        end = time.monotonic() + seconds
        for _ in range(places):
            self.come(time.monotonic())
        served = 0
        while time.monotonic() < end:
            await asyncio.sleep(0.001)
            while served < len(self.rows):
                served += 1
                self.come(time.monotonic())


async def visit(told: dict[str, Any]) -> None:
    """All phases, and then as long as the last visitor has patience."""
    crowd = Crowd(told["port"], told["patience"])
    luck = random.Random(told["seed"])
    marks = []
    for phase in told["phases"]:
        marks.append(time.monotonic())
        if "places" in phase:
            await crowd.line_up(phase["places"], phase["seconds"])
        else:
            await crowd.phase(phase["rate"], phase["seconds"], luck)
    marks.append(time.monotonic())
    await asyncio.sleep(crowd.patience + 0.1)
    print(json.dumps({"marks": marks, "rows": sorted(crowd.rows)}), flush=True)


if __name__ == "__main__":
    single.run(visit)
