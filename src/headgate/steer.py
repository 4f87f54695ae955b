"""Steer: a rate that finds itself. What is called sets the pace of the bucket in front of it.

A limit that finds itself says how many may be at work at once. By Little's law that many calls,
each of which takes as long as calls do at present, are so many a second: that is the rate at which
the bucket is filled. Where calls become slower it is filled more slowly, until those that wait have
been served.
"""

from __future__ import annotations

import _thread
import threading
from typing import Any

from headgate.adaptive.gauge import DROPPED, IGNORE, SUCCESS, Adaptive, adaptive
from headgate.algorithms.token_bucket import TokenBucket
from headgate.errors import LimitExceeded
from headgate.flow import refusal
from headgate.fork import follow
from headgate.limiter import Limiter
from headgate.measures import MILLION, number, seconds
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
        self.limiter = steerable(limiter)
        self.clock = limiter.clock
        self.floor = number("Steer", "floor", floor, 0.1)
        self.ceiling = number("Steer", "ceiling", ceiling, floor)
        self.burst = number("Steer", "burst", burst, 0.001)
        self.every = seconds("Steer", "every", every, 0.01)
        self.gauge = adaptive(limit).open()
        self.rate = 0.0
        # What calls take, smoothed, in microseconds.
        self.took = 0.0
        self._due = self.clock.now() + self.every
        self._era = 0
        self._begin()
        follow(self, Steer._begin)

    def take(self, key: str = "") -> Errand:
        """Go now, or not at all: an errand that is false."""
        decision = self.limiter.take(key)
        errand = Errand(self, key, decision)
        if decision:
            errand.begin()
        else:
            self.refuse()
        return errand

    def hold(self, key: str = "") -> Errand:
        """One call, as a context manager for `with` or `async with`; raises `LimitExceeded`."""
        return Errand(self, key, None)

    def enter(self) -> tuple[int, int]:
        # Another call is at work; in which process, and the moment it began.
        with self._lock:
            self.inside += 1
        return self._era, self.clock.now()

    def refuse(self) -> None:
        # Somebody was not let in.
        with self._lock:
            self.gauge.refused(self.clock.now())

    def leave(self, era: int, start: int, outcome: int) -> None:
        # It has ended, and the rate is looked at if that is due.
        now = self.clock.now()
        with self._lock:
            if era != self._era:
                return
            self.inside -= 1
            took = now - start
            if outcome == SUCCESS:
                known = self.gauge.limit(now, self.inside) if self.took else 0
                self.took += (took - self.took) / (known + 1)
            self.gauge.ended(now, took, self.inside, outcome)
            rate = self._found(now)
        if rate:
            pace = Rate.of(max(1, round(rate * MINUTE)), MINUTE * MILLION)
            burst = max(1, round(rate * self.burst))
            self.limiter.change(TokenBucket(pace, burst=burst), carry="keep")

    def _found(self, now: int) -> float:
        # The rate that is right now; 0 if it is not looked at, or hardly another.
        if now < self._due or not self.took:
            return 0.0
        self._due = now + self.every
        places: int = self.gauge.limit(now, self.inside)
        # What is beyond that is to be served first.
        found = places * MILLION / self.took * min(1.0, places / max(1, self.inside))
        rate = min(max(found, self.floor), self.ceiling)
        if abs(rate - self.rate) <= SHARE * self.rate:
            return 0.0
        self.rate = rate
        return rate

    def _begin(self) -> None:
        # With nobody at work: at first, and in a forked child; those at work are its parent's.
        self._era += 1
        self._lock = threading.Lock()
        self.inside = 0


class Errand:
    """One call whose pace is steered: true while it is at work."""

    __slots__ = ("_era", "_key", "_start", "_steer", "_working", "decision")

    def __init__(self, steer: Steer, key: str, decision: Any) -> None:
        self._steer = steer
        self._key = key
        self._era = self._start = 0
        self._working = False
        self.decision = decision

    def begin(self) -> None:
        """Be at work from now on."""
        self._era, self._start = self._steer.enter()
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
            self._steer.leave(self._era, self._start, outcome)

    def __enter__(self) -> Errand:
        self.decision = self._steer.limiter.take(self._key)
        if not self.decision:
            self._steer.refuse()
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

    def __del__(self) -> None:
        # Lost before it was ended: it is not at work any more.
        if self._working:
            self._working = False
            _thread.start_new_thread(self._steer.leave, (self._era, self._start, IGNORE))


def steerable(limiter: Limiter) -> Limiter:
    """The limiter, if its rate can be set: it has one limit, kept in this process or machine."""
    if len(limiter.limits) != 1:
        raise ValueError(f"Steer: a limiter with one limit is steered, not {limiter!r}")
    limiter.change(*limiter.limits, carry="keep")
    return limiter
