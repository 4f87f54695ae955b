"""Lag: by how much an event loop is late. What a loop cannot do in time queues up in front of it.

The CPU of a machine says nothing of a single loop: one that is always busy is a half of two CPUs.
The loop is asked to call back at a moment, and how late it is, is how long everything else in it
waits, too. That goes on only while somebody wants to know.

Times are microseconds.
"""

from __future__ import annotations

import asyncio

from headgate.clock import Clock, SystemClock
from headgate.measures import number, seconds

# How often the loop is to call back, and after how many unasked calls nobody wants to know.
EVERY = 50_000
UNASKED = 20


class Lag:
    """How late the running loop is: 0.0 is on time, 1.0 is `full` seconds late, or later.

    A signal for `BBR(signal=Lag(0.1))`, asked from inside the loop. Of a new reading the share
    `smooth` is taken over; a loop that is late already counts at once.
    """

    def __init__(self, full: float = 0.1, smooth: float = 0.25, clock: Clock | None = None) -> None:
        self.full = seconds("Lag", "full", full, 0.001)
        self.smooth = number("Lag", "smooth", smooth, 0.01, 1.0)
        self.clock = SystemClock() if clock is None else clock
        self.mean = 0.0
        self.loop: asyncio.AbstractEventLoop | None = None
        self.due = 0
        self.unasked = 0

    def __call__(self) -> float:
        """How late it is now."""
        loop = asyncio.get_running_loop()
        self.unasked = 0
        if self.loop is not loop:
            self.loop = loop
            self.mean = 0.0
            self.wait(loop)
        late = max(0, self.clock.now() - self.due)
        return max(self.mean, late * self.smooth) / self.full

    def wait(self, loop: asyncio.AbstractEventLoop) -> None:
        self.due = self.clock.now() + EVERY
        loop.call_later(EVERY / 1e6, self.tick, loop)

    def tick(self, loop: asyncio.AbstractEventLoop) -> None:
        # The loop calls back, and is more or less late.
        if self.loop is not loop:
            return
        self.mean += (max(0, self.clock.now() - self.due) - self.mean) * self.smooth
        self.unasked += 1
        if self.unasked > UNASKED:
            self.loop = None
            return
        self.wait(loop)
