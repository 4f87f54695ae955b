"""Steer: a rate that finds itself. What is called sets the pace of the bucket in front of it.

A limit that finds itself says how many may be at work at once. By Little's law that many calls,
each of which takes as long as calls do at present, are so many a second: that is the rate at which
the bucket is filled. Where calls become slower it is filled more slowly, until those that wait have
been served.
"""

from __future__ import annotations

import threading
from typing import Any

from headgate.adaptive.gauge import DROPPED, IGNORE, SUCCESS, Adaptive, Watched, adaptive
from headgate.algorithms.token_bucket import TokenBucket
from headgate.errors import LimitExceeded
from headgate.flow import refusal
from headgate.limiter import Limiter
from headgate.measures import number, seconds
from headgate.rate import Rate

# A rate is set anew when it differs from the one that holds by this share.
SHARE = 0.02
MINUTE = 60


class Steer:
    """Fills the bucket of a `limiter` as fast as `limit`, such as `Vegas()`, finds right.

    The rate stays between `floor` and `ceiling` calls a second, and begins with the limiter's own.
    The bucket holds what `burst` seconds fill. Calls go through `hold`, which measures them; the
    rate is looked at every `every` seconds.
    """

    def __init__(
        self,
        limiter: Limiter,
        limit: Adaptive,
        *,
        floor: float = 1.0,
        ceiling: float = 100_000.0,
        burst: float = 0.1,
        every: float = 0.5,
    ) -> None:
        self.limiter = limiter
        self.clock = limiter.clock
        self.floor = number("Steer", "floor", floor, 0.1)
        self.ceiling = number("Steer", "ceiling", ceiling, floor)
        self.burst = number("Steer", "burst", burst, 0.001)
        self.every = seconds("Steer", "every", every, 0.01)
        self.gauge = Watched(adaptive(limit).open())
        self.inside = 0
        self.rate = 0.0
        # What calls take, smoothed, in microseconds.
        self.took = 0.0
        self._due = self.clock.now() + self.every
        self._lock = threading.Lock()

    def take(self, key: str = "") -> Errand:
        """Go now, or not at all: an errand that is false."""
        decision = self.limiter.take(key)
        errand = Errand(self, key, decision)
        if decision:
            errand.begin()
        else:
            self.gauge.refused(self.clock.now())
        return errand

    def hold(self, key: str = "") -> Errand:
        """One call, as a context manager for `with` or `async with`; raises `LimitExceeded`."""
        return Errand(self, key, None)

    def enter(self) -> int:
        # Another call is at work; the moment it began.
        with self._lock:
            self.inside += 1
        return self.clock.now()

    def leave(self, start: int, outcome: int) -> None:
        # It has ended, and the rate is looked at if that is due.
        now = self.clock.now()
        with self._lock:
            self.inside -= 1
            inside = self.inside
            due = now >= self._due
            if due:
                self._due = now + self.every
            if outcome == SUCCESS:
                self.took += (now - start - self.took) / (self.gauge.limit(now, inside) + 1)
        self.gauge.ended(now, now - start, inside, outcome)
        if due:
            self.turn(now)

    def turn(self, now: int) -> None:
        """Fill the bucket as fast as is right now."""
        if not self.took:
            return
        places = self.gauge.limit(now, self.inside)
        # What is beyond that is to be served first.
        found = places * 1e6 / self.took * min(1.0, places / max(1, self.inside))
        rate = min(max(found, self.floor), self.ceiling)
        if abs(rate - self.rate) > SHARE * self.rate:
            self.rate = rate
            pace = Rate.of(max(1, round(rate * MINUTE)), MINUTE * 1_000_000)
            burst = max(1, round(rate * self.burst))
            self.limiter.change(TokenBucket(pace, burst=burst), carry="keep")


class Errand:
    """One call whose pace is steered: true while it is at work."""

    __slots__ = ("_key", "_start", "_steer", "_working", "decision")

    def __init__(self, steer: Steer, key: str, decision: Any) -> None:
        self._steer = steer
        self._key = key
        self._start = 0
        self._working = False
        self.decision = decision

    def begin(self) -> None:
        """Be at work from now on."""
        self._start = self._steer.enter()
        self._working = True

    def success(self) -> None:
        """It went as it should."""
        self.end(SUCCESS)

    def ignore(self) -> None:
        """It says nothing."""
        self.end(IGNORE)

    def dropped(self) -> None:
        """It took too long, or was turned away further on."""
        self.end(DROPPED)

    def end(self, outcome: int) -> None:
        """Say what came of it, once."""
        if self._working:
            self._working = False
            self._steer.leave(self._start, outcome)

    def __enter__(self) -> Errand:
        self.decision = self._steer.limiter.take(self._key)
        if not self.decision:
            self._steer.gauge.refused(self._steer.clock.now())
            raise refusal(self.decision, self._key)
        self.begin()
        return self

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        said = DROPPED if isinstance(problem, (TimeoutError, LimitExceeded)) else IGNORE
        self.end(SUCCESS if problem is None else said)

    async def __aenter__(self) -> Errand:
        return self.__enter__()

    async def __aexit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        self.__exit__(kind, problem, trace)

    def __bool__(self) -> bool:
        return self._working
