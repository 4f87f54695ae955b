"""Retry: how long to wait before one, and how many there may be. The retrying itself is tenacity's.

    budget = RetryBudget()

    @retry(before=budget, stop=budget | stop_after_attempt(3), wait=RetryAfter())
    def fetch(): ...

Retries are load, and come when there is too much of it already: three layers that each try three
times make 27 calls of one. So they are a share of all calls, they wait as long as they are told to,
and they do not come back as one.
"""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

from headgate.clock import Clock, SystemClock
from headgate.errors import MissingExtra
from headgate.fork import follow
from headgate.measures import MILLION, number, real, seconds, whole
from headgate.measures import share as parts
from headgate.window import FAILURE, SUCCESS, Window

# A window counts outcomes; here they are these.
CALL, RETRY = SUCCESS, FAILURE
BUCKETS = 10
SECONDS = re.compile(r"[0-9]+(\.[0-9]*)?")
# A header comes from anybody; no date is longer.
LONGEST = 64


class RetryAfter:
    """Wait as long as one is told to; else longer each time. For tenacity's `wait`.

    Told by the `retry_after` of the exception (or the result) that is retried, or by the
    `Retry-After` header of its response, as httpx, requests, aiohttp and urllib have it. The wait
    is longer by up to the share `jitter`, so that a fleet does not come back as one.

    Where nothing is said, `otherwise(retry_state)` decides, any wait of tenacity's; without one it
    is a random time up to `first` seconds, then up to twice as many, and so on up to `longest`.

    Whoever is told to wait for longer than `longest`, or for ever, does not try again: the
    exception passes as it is.
    """

    def __init__(
        self,
        otherwise: Callable[[Any], float] | None = None,
        *,
        first: float = 0.1,
        longest: float = 60.0,
        jitter: float = 0.1,
        clock: Clock | None = None,
    ) -> None:
        if otherwise is not None and not callable(otherwise):
            raise TypeError(f"RetryAfter: otherwise is a wait of tenacity's, not {otherwise!r}")
        self.otherwise = otherwise
        self.first = seconds("RetryAfter", "first", first) / MILLION
        self.longest = seconds("RetryAfter", "longest", longest, self.first) / MILLION
        self.jitter = number("RetryAfter", "jitter", jitter, 0.0, 1.0)
        self.clock = SystemClock() if clock is None else clock
        self.luck = random.Random()  # noqa: S311 - spreads, keeps no secret

    def __call__(self, retry_state: Any) -> float:
        """The seconds before the next attempt."""
        outcome = retry_state.outcome
        problem = outcome.exception()
        wait = self.told(outcome.result() if problem is None else problem)
        if wait > self.longest:
            raise problem or retry_state.retry_object.retry_error_cls(outcome)
        if wait > 0.0:
            return wait * (1.0 + self.jitter * self.luck.random())
        if self.otherwise is not None:
            return self.otherwise(retry_state)
        # No power that could overflow: past the longest wait it does not matter how far.
        most: float = self.first * 2.0 ** min(retry_state.attempt_number - 1, 64)
        return self.luck.random() * min(most, self.longest)

    def told(self, outcome: Any) -> float:
        """How many seconds the outcome says to wait; 0 if it does not say."""
        for one in (outcome, getattr(outcome, "response", None)):
            for value in (getattr(one, "retry_after", None), header(one)):
                wait = self.spelled(value)
                if wait > 0.0:
                    return wait
        return 0.0

    def spelled(self, value: Any) -> float:
        # A number of seconds, in digits perhaps, or a date; 0 if it is none of them.
        if real(value):
            # In this order nan is 0 too.
            return max(0.0, value)
        if not isinstance(value, str) or len(value) > LONGEST:
            return 0.0
        if SECONDS.fullmatch(value.strip()):
            return float(value)
        try:
            moment = parsedate_to_datetime(value).timestamp()
        except (ValueError, OverflowError):
            return 0.0
        return max(0.0, moment - self.clock.now() / MILLION)


def header(holder: Any) -> Any:
    """Its `Retry-After` header, if it has headers."""
    get = getattr(getattr(holder, "headers", None), "get", None)
    return (get("Retry-After") or get("retry-after")) if callable(get) else None


class RetryBudget:
    """Lets `share` of the calls of the last `window` seconds be retried; `least` may always be.

    When all fails, a service gets 1.1 times its calls instead of three times as many. Give it to
    tenacity twice, as `before`, where it counts the calls, and in `stop`, where it ends retries
    that there is no budget for: `@retry(before=budget, stop=budget | stop_after_attempt(3))`.
    Without `before` it knows only of the calls that failed. Without tenacity, `count` each call and
    `take` each retry. One budget may serve many functions, if they call the same service.
    """

    def __init__(
        self,
        share: float = 0.1,
        least: int = 3,
        *,
        window: float = 10.0,
        clock: Clock | None = None,
    ) -> None:
        self._share = parts("RetryBudget", "share", share)
        self._least = whole("RetryBudget", "least", least, 0) * MILLION
        width = -(-seconds("RetryBudget", "window", window, 0.001) // BUCKETS)
        self._window = Window(width * BUCKETS, BUCKETS)
        self._clock = SystemClock() if clock is None else clock
        # Whether somebody counts the calls, so that the failures need not be.
        self._counting = False
        self._unlock()
        follow(self, RetryBudget._unlock)

    def _unlock(self) -> None:
        # A lock that nobody holds: in a forked child, too.
        self._lock = threading.Lock()

    def count(self, calls: int = 1) -> None:
        """A call is made, for the first time; or so many of them."""
        whole("RetryBudget", "calls", calls, 1)
        with self._lock:
            self._counting = True
            self._window.gain(CALL, self._clock.now(), calls)

    def take(self) -> bool:
        """One retry now, if there is budget for it."""
        with self._lock:
            now = self._clock.now()
            calls, retries = self._window.totals(now)[:2]
            if (retries + 1) * MILLION > max(self._least, calls * self._share):
                return False
            self._window.add(RETRY, now, 0, 0)
            return True

    def __call__(self, retry_state: Any) -> bool:
        """As tenacity's `before`, count the call; as its `stop`, whether to."""
        fresh = retry_state.attempt_number == 1
        if retry_state.outcome is None:
            if fresh:
                self.count()
            return False
        if fresh and not self._counting:
            with self._lock:
                self._window.add(CALL, self._clock.now(), 0, 0)
        return not self.take()

    def __or__(self, stop: Any) -> Any:
        # Asked last: where another stops, nothing is taken.
        try:
            from tenacity.stop import stop_any  # noqa: PLC0415 - only who retries needs it
        except ImportError:
            raise MissingExtra("retry") from None
        join: Any = stop_any
        return join(stop, self)

    def __repr__(self) -> str:
        with self._lock:
            totals = self._window.totals(self._clock.now())
        return f"<RetryBudget: {totals[RETRY]} retries of {totals[CALL]} calls>"
