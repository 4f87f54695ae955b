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
import weakref
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
# For so many turns of the loop nobody may have gone to sleep before a clock moved by hand moves on:
# who is woken may wake others, and they others again.
QUIET = 10


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
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._tickets = itertools.count()
        # How many sleep in each loop, and how many more turns nothing must happen in.
        self._asleep: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, int] = (
            weakref.WeakKeyDictionary()
        )
        self._turns = 0

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
        """Let the other tasks have their turn; when all of them sleep, the earliest wakes.

        Tasks sleep side by side: of three that sleep for 3, 1 and 2 seconds, the second wakes
        first, and the clock shows 1, 2 and 3 seconds when they do.
        """
        loop = asyncio.get_running_loop()
        mine = loop.create_future()
        with self._lock:
            moment = self._now + microseconds(max(0.0, seconds))
            heapq.heappush(self._sleepers, (moment, next(self._tickets), mine))
            # Somebody new is here, who may have left others something to do.
            self._turns = QUIET
            if loop not in self._asleep:
                loop.call_soon(self._turn, loop)
            self._asleep[loop] = self._asleep.get(loop, 0) + 1
        try:
            await mine
        finally:
            with self._lock:
                self._asleep[loop] -= 1

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        # At each turn of a loop in which somebody sleeps: once nothing has happened for some turns,
        # it is the time of the earliest.
        with self._lock:
            while self._sleepers and self._sleepers[0][2].done():
                heapq.heappop(self._sleepers)
            if not self._asleep[loop]:
                del self._asleep[loop]
                return
            loop.call_soon(self._turn, loop)
            if not self._sleepers:
                # Who was woken, or gave up, has not had its turn yet.
                return
            moment, _, first = self._sleepers[0]
            if first.get_loop() is not loop:
                return
            self._turns -= 1
            if moment <= self._now or self._turns <= 0:
                self._now = max(self._now, moment)
                self._turns = QUIET
                heapq.heappop(self._sleepers)
                first.set_result(None)

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


def watches() -> tuple[int, int, int]:
    """What stopwatches show, in nanoseconds: the wall's, this thread's CPU, this process's CPU."""
    return time.perf_counter_ns(), time.thread_time_ns(), time.process_time_ns()
