"""Pace: how a client calls others without being a burden to them.

    pace = Pace("10/s")
    client = httpx.Client(transport=Transport(httpx.HTTPTransport(), pace))

Before a request it waits for the client's own limiter. After an answer it does as it was told: a
429 or 503 with `Retry-After`, and any answer by which nothing is left of a quota, holds back
everything that goes to the same host until then. So one refusal is enough for all.

A request that was refused is sent again, but only where that is sure to do no harm:

- The other side said when. Nobody guesses, so a 429 without `Retry-After` is final.
- Its body is still there. One that was streamed is gone.
- It has not been acted upon. A 429 has not; after a 503 that is known of methods which may be
  repeated, such as GET and PUT, and not of POST.
- There is budget for it: see `RetryBudget`.

What is refused for good is answered as it came. Nobody waits longer than `longest` for any of this:
where it would take more, `LimitExceeded` is raised at once and nothing is sent.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from itertools import count
from math import inf
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from headgate.adapters.http.advice import read
from headgate.async_limiter import AsyncLimiter
from headgate.clock import Clock, SystemClock
from headgate.decision import Decision
from headgate.drive import Flow, adrive, drive
from headgate.errors import LimitExceeded
from headgate.guards.retry import RetryBudget
from headgate.limiter import Limiter
from headgate.measures import MILLION, number, seconds, whole
from headgate.pacers.pacer import Pacer
from headgate.rate import Rate

REFUSED = (429, 503)
REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})
# Nobody is believed for longer than a day: who said more was wrong, and would never be asked again.
DAY = 86_400 * MILLION


class Exchange(NamedTuple):
    """A request as its library makes it; `send` and `close` may be awaited, if `arun` runs it."""

    key: str
    method: str
    send: Callable[[], Any]
    close: Callable[[Any], Any]
    replayable: Callable[[], bool]


class Pace:
    """Lets requests go no faster than `limiter` allows and the other side asks for.

    `limiter` is a rate such as `"10/s"`, which each host has for itself, or a `Limiter`,
    `AsyncLimiter` or `Pacer` of one's own; without one there is only what the other side says.
    What is held back together has one `key`, the host unless it is a function of the request.

    A request is sent at most `retries` times again, as far as the `budget` goes, and waits at most
    `longest` seconds each time. Waits for the other side are longer by up to the share `jitter`,
    so that a fleet does not come back as one. Threads and tasks may share a pace.
    """

    def __init__(
        self,
        limiter: Limiter | AsyncLimiter | Pacer | Rate | str | None = None,
        *,
        key: Callable[[Any], str] | None = None,
        longest: float = 60.0,
        retries: int = 2,
        jitter: float = 0.1,
        budget: RetryBudget | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.clock = SystemClock() if clock is None else clock
        self.limiter = keeper(limiter, self.clock)
        if key is not None and not callable(key):
            raise TypeError(f"Pace: key is a function of the request, not {key!r}")
        self.key = key
        self.longest = seconds("Pace", "longest", longest) / MILLION
        self.retries = whole("Pace", "retries", retries, 0)
        self.jitter = number("Pace", "jitter", jitter, 0.0, 1.0)
        self.budget = RetryBudget(clock=self.clock) if budget is None else budget
        self.luck = random.Random()  # noqa: S311 - spreads, keeps no secret
        # Until which moment nothing is to go to whom. Few are held back, and not for long.
        self._until: dict[str, int] = {}

    def name(self, request: Any, url: str) -> str:
        """What a request is held back with: by its host, or as `key` has it."""
        return host(url) if self.key is None else self.key(request)

    def held(self, key: str) -> float:
        """For how many seconds from now the other side wants to hear nothing of this key."""
        return max(0, self._until.get(key, 0) - self.clock.now()) / MILLION

    def run(self, exchange: Exchange) -> Any:
        """Send it when it may go, again if it is refused, and return the answer."""
        return drive(self._flow(exchange, self.clock.sleep, self._enter), lambda done: done)

    async def arun(self, exchange: Exchange) -> Any:
        """`run` for event loops."""
        return await adrive(self._flow(exchange, self.clock.asleep, self._begin), arrived)

    def __repr__(self) -> str:
        return f"<Pace: {self.limiter!r}, {len(self._until)} held back>"

    def _flow(
        self, exchange: Exchange, sleep: Callable[[float], Any], enter: Callable[[str], Any]
    ) -> Flow[Any]:
        # What is yielded is done already, or awaited by who runs it: told once for both colours.
        self.budget.count()
        for tries in count():
            yield from self._hold(exchange.key, sleep)
            if self.limiter is not None:
                yield enter(exchange.key)
                # Somebody else may have been refused meanwhile.
                yield from self._hold(exchange.key, sleep)
            answer = yield exchange.send()
            if not self._again(exchange, answer, tries):
                return answer
            yield exchange.close(answer)

    def _hold(self, key: str, sleep: Callable[[float], Any]) -> Flow[None]:
        end = self.clock.now() / MILLION + self.longest
        while (left := self.held(key)) > 0.0:
            if self.clock.now() / MILLION + left > end:
                raise LimitExceeded(
                    Decision(False, 0, 0, left, left, rule="of the other side"), key
                )
            yield sleep(left * (1.0 + self.jitter * self.luck.random()))

    def _again(self, exchange: Exchange, answer: Any, tries: int) -> bool:
        """Whether to send it again, after what was said was heard."""
        status = code(answer)
        advice = read(answer.headers, self.clock.now() / MILLION)
        told = advice.retry_after if status in REFUSED else None
        self._obey(exchange.key, advice.spent if told is None else told)
        return (
            told is not None
            and told <= self.longest
            and tries < self.retries
            and (status == 429 or exchange.method.upper() in REPEATABLE)
            and exchange.replayable()
            and self.budget.take()
        )

    def _obey(self, key: str, wait: float) -> None:
        if wait <= 0.0:
            return
        now = self.clock.now()
        for other, moment in list(self._until.items()):
            if moment <= now:
                self._until.pop(other, None)
        until = now + min(seconds("Pace", "wait", wait), DAY)
        self._until[key] = max(until, self._until.get(key, 0))

    def _enter(self, key: str) -> Any:
        if isinstance(self.limiter, AsyncLimiter):
            raise TypeError("Pace: this client does not await, and AsyncLimiter is; use Limiter")
        if isinstance(self.limiter, Pacer):
            return self.limiter.acquire(timeout=self.longest)
        return None if self.limiter is None else self.limiter.acquire(key, timeout=self.longest)

    def _begin(self, key: str) -> Any:
        if isinstance(self.limiter, Limiter):
            return self.limiter._aacquire(key, 1, self.longest, inf)
        if isinstance(self.limiter, Pacer):
            return self.limiter.turn(timeout=self.longest)
        return None if self.limiter is None else self.limiter.acquire(key, timeout=self.longest)


def keeper(limiter: Any, clock: Clock) -> Limiter | AsyncLimiter | Pacer | None:
    """The limiter meant: a rate is one of its own."""
    if isinstance(limiter, str | Rate):
        return Limiter(limiter, clock=clock)
    if limiter is None or isinstance(limiter, Limiter | AsyncLimiter | Pacer):
        return limiter
    raise TypeError(
        f'Pace: limiter is a rate such as "10/s", a Limiter, AsyncLimiter or Pacer, not {limiter!r}'
    )


def host(url: str) -> str:
    """Where a URL leads, without who is asking."""
    return urlsplit(url).netloc.rpartition("@")[2].lower()


def code(answer: Any) -> int:
    """The status of an answer, under either of its names."""
    status: int = answer.status_code if hasattr(answer, "status_code") else answer.status
    return status


async def arrived(effect: Awaitable[Any]) -> Any:
    return await effect
