"""Clocks: the only module that may ask what time it is.

A clock stands on the border between people and arithmetic. It answers in integer microseconds
(`now`), because everything below the surface counts in them, and it is told to wait in seconds
(`sleep`, `asleep`), because that is how people speak.

`SystemClock` is the machine's monotonic clock, moved once, when the clock is made, so that it
shows the time of day. It never steps back and never leaps when somebody sets the date; windows
aligned to the clock still begin on the minute. The monotonic clock is one for the whole machine, so
processes that move theirs by the same `offset` always read the same time.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

if cython.compiled:
    from cython.cimports.posix.time import (
        CLOCK_MONOTONIC,
        clock_gettime,
        timespec,
    )

COMPILED: bool = bool(cython.compiled)


class Clock(Protocol):
    """What time it is, and how to let it pass."""

    def now(self) -> int:
        """The time in microseconds, from any beginning, never negative."""

    def sleep(self, seconds: float) -> None:
        """Return after `seconds`, holding up the calling thread."""

    async def asleep(self, seconds: float) -> None:
        """Return after `seconds`, letting other tasks run."""


class SystemClock:
    """The machine's monotonic clock, showing the time of day as it was when the clock was made.

    With an `offset` in microseconds, it shows the monotonic time and that much more.
    """

    __slots__ = ("offset",)

    offset: int

    def __init__(self, offset: int | None = None) -> None:
        today = time.time_ns() // 1000 - time.monotonic_ns() // 1000
        self.offset = today if offset is None else offset

    def now(self) -> int:
        """Microseconds since 1970."""
        return self.read()

    def read(self) -> int:
        # Compiled, this is one call into the C library: half of what a decision costs.
        if cython.compiled:
            moment = cython.declare(timespec)
            clock_gettime(CLOCK_MONOTONIC, cython.address(moment))
            return moment.tv_sec * 1000000 + moment.tv_nsec // 1000 + self.offset  # type: ignore[no-any-return]
        else:
            return time.monotonic_ns() // 1000 + self.offset

    def reader(self) -> Callable[[], int]:
        """`now` with nothing left to look up, for who asks often."""
        offset, nanoseconds = self.offset, time.monotonic_ns
        return lambda: nanoseconds() // 1000 + offset

    def sleep(self, seconds: float) -> None:
        """Hold up the calling thread for `seconds`."""
        time.sleep(max(0.0, seconds))

    async def asleep(self, seconds: float) -> None:
        """Let other tasks run for `seconds`."""
        await asyncio.sleep(max(0.0, seconds))

    def __repr__(self) -> str:
        return "SystemClock()"


class ManualClock:
    """A clock that moves when it is told to: `advance` and `set`; a sleep moves it too.

    Under it nothing waits: `limiter.acquire` moves virtual time and returns at once, so tests
    are exact to the microsecond and take no time. Safe to share between threads and tasks.
    """

    def __init__(self, start: float = 0.0) -> None:
        self._lock = threading.Lock()
        self._now = microseconds(start)
        self._sleepers: list[list[int]] = []
        self._tickets = itertools.count()

    def now(self) -> int:
        """The virtual time in microseconds."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass; a negative number steps the clock back, as broken clocks do."""
        with self._lock:
            self._now = max(0, self._now + microseconds(seconds))

    def set(self, seconds: float) -> None:
        """Make it `seconds` since the clock's beginning."""
        with self._lock:
            self._now = max(0, microseconds(seconds))

    def sleep(self, seconds: float) -> None:
        """Move virtual time on by `seconds`."""
        self.advance(max(0.0, seconds))

    async def asleep(self, seconds: float) -> None:
        """Let the other tasks have their turn; when all who have one sleep, the earliest wakes.

        Tasks sleep side by side: of three that sleep for 3, 1 and 2 seconds, the second wakes
        first, and the clock shows 1, 2 and 3 seconds when they do.
        """
        mine = [self._now + microseconds(max(0.0, seconds)), next(self._tickets)]
        heapq.heappush(self._sleepers, mine)
        try:
            await asyncio.sleep(0)
            while self._now < mine[0]:
                if self._sleepers[0] is mine:
                    self._reach(mine[0])
                else:
                    await asyncio.sleep(0)
        finally:
            self._sleepers.remove(mine)
            heapq.heapify(self._sleepers)

    def _reach(self, moment: int) -> None:
        with self._lock:
            self._now = max(self._now, moment)

    def __repr__(self) -> str:
        return f"ManualClock({self._now / 1e6!r})"


def microseconds(seconds: float) -> int:
    """Round to the nearest microsecond: 0.1 + 0.2 seconds are 300,000 of them."""
    return round(seconds * 1_000_000)


def cost(reads: int) -> float:
    """Nanoseconds that one reading of the system's clock takes, measured over `reads` of them."""
    clock = SystemClock()
    start = time.perf_counter_ns()
    done = 0
    while done < reads:
        clock.read()
        done += 1
    return (time.perf_counter_ns() - start) / reads
