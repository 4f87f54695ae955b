"""Clocks for tests: one that gates threads, one that falters, one that fails."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from headgate.clock import ManualClock, microseconds

if TYPE_CHECKING:
    from collections.abc import Generator


class GateClock:
    """Threads that sleep stand in line until `advance` has moved time past their moment."""

    def __init__(self) -> None:
        self.asleep_until: list[int] = []
        self._now = 0
        self._moved = threading.Condition()

    def now(self) -> int:
        return self._now

    def sleep(self, seconds: float) -> None:
        with self._moved:
            until = self._now + microseconds(seconds)
            self.asleep_until.append(until)
            self._moved.notify_all()
            self._moved.wait_for(lambda: self._now >= until)

    async def asleep(self, seconds: float) -> None:
        raise NotImplementedError

    def wait_for_sleepers(self, number: int) -> None:
        with self._moved:
            assert self._moved.wait_for(lambda: len(self.asleep_until) >= number, timeout=30)

    def set(self, now: int) -> None:
        with self._moved:
            self._now = now
            self._moved.notify_all()


class FalteringClock(ManualClock):
    """An async sleep is interrupted `stops` times before it is over."""

    def __init__(self, stops: int) -> None:
        super().__init__()
        self.stops = stops

    async def asleep(self, seconds: float) -> None:
        for _ in range(self.stops):
            await Turn()
        self.advance(seconds)


class Turn:
    """One suspension of a coroutine."""

    def __await__(self) -> Generator[None]:
        yield


class FailingClock(ManualClock):
    """Time passes up to the middle of a sleep, which then raises `problem`."""

    def __init__(self, problem: BaseException) -> None:
        super().__init__()
        self.problem = problem

    def sleep(self, seconds: float) -> None:
        self.advance(seconds / 2)
        raise self.problem

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)
