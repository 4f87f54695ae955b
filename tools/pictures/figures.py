"""What the pictures show: figures from the library's own simulator, the same at every run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headgate import (
    GCRA,
    FixedWindow,
    LeakyBucket,
    Limit,
    Limiter,
    ManualClock,
    SlidingLog,
    SlidingWindow,
    TokenBucket,
    WarmUp,
)
from headgate.testing import Request, boundary, greedy, most_in_any, play, steady, timeline

Figures = dict[str, list[float]]

# All algorithms under the same burst, in slots of a tenth of a second.
SECONDS, SLOT = 6.0, 0.1
BURST_LIMITS: list[Limit] = [
    TokenBucket("10/s", burst=20),
    GCRA("10/s", burst=5),
    LeakyBucket("10/s", burst=1),
    FixedWindow("10/s"),
    SlidingWindow("10/s"),
    SlidingLog("10/s"),
    WarmUp("10/s", period=2),
]

# The attack on the boundary.
LIMIT = 20
ATTACKED: list[Limit] = [
    FixedWindow("20/s"),
    TokenBucket("20/s"),
    SlidingWindow("20/s"),
    TokenBucket("20/s", burst=5),
    WarmUp("20/s", period=2),
    LeakyBucket("20/s", burst=1),
    SlidingWindow("20/s", oldest="whole"),
    SlidingLog("20/s"),
]

WARM = WarmUp("100/s", period=4)

# One for each algorithm. A request costs `FINE` units of a limit `FINE` times as large, so that
# parts of a request show.
FINE = 100
OWN: dict[str, Limit] = {
    "token_bucket": TokenBucket("1000/s", burst=2000),
    "gcra": GCRA("1000/s", burst=500),
    "leaky_bucket": LeakyBucket("1000/s", burst=300),
    "fixed_window": FixedWindow("1000/s"),
    "sliding_window": SlidingWindow("1000/s", parts=5),
    "sliding_log": SlidingLog("1000/s"),
}


def same_burst() -> Figures:
    """What each limit let in of the same traffic, for each tenth of a second."""
    figures: Figures = {"offered": [0.0] * round(SECONDS / SLOT)}
    for request in rush():
        figures["offered"][int(request.at / SLOT + 1e-6)] += 1
    for limit in BURST_LIMITS:
        limiter = Limiter(limit, clock=ManualClock())
        figures[repr(limit)] = [*map(float, timeline(play(limiter, rush()), SLOT, SECONDS))]
    return figures


def rush() -> Iterator[Request]:
    """Half the limit, then a hundred requests across the turn of a second, then twice the limit."""
    yield from steady(every=0.2, until=1.7)
    yield from steady(every=0.006, start=1.7, until=2.3)
    yield from steady(every=0.05, start=2.3, until=SECONDS)


def attacks() -> Figures:
    """The most that each limit let in within one second, under the worst of many attacks."""
    return {repr(limit): [float(max(attempts(limit)))] for limit in ATTACKED}


def attempts(limit: Limit) -> Iterator[int]:
    """Attack the turn of a second, and after every silence there is, greedily."""
    yield most(limit, boundary(2 * LIMIT, window=1.0, times=3))
    for tenths in range(11):
        first = 10 + tenths / 10 - 1e-6
        yield most(limit, knock(first), greedy(until=15.0, start=first + 0.899))


def most(limit: Limit, *traffic: Any) -> int:
    return most_in_any(play(Limiter(limit, clock=ManualClock()), *traffic), span=1.0)


def knock(at: float) -> Iterator[Request]:
    """Take all there is in one moment."""
    for _ in range(2 * LIMIT):
        yield Request(at)


def warming() -> Figures:
    """Requests a second let in while a greedy client comes, pauses, and comes back."""
    limiter = Limiter(WARM, clock=ManualClock())
    history = play(limiter, greedy(until=6.0), greedy(until=16.0, start=10.0))
    return {repr(WARM): [count * 5.0 for count in timeline(history, 0.2, 16.0)]}


def room_of(limit: Limit) -> Callable[[], Figures]:
    """How to get the figures of one limit: who went in, who did not, and the room in between."""

    def figures() -> Figures:
        clock = ManualClock()
        limiter = Limiter(limit, clock=clock)
        found: Figures = {"in": [], "out": [], "at": [], "room": []}
        for request in sorted([*visits(), *ticks()], key=lambda each: each.at):
            clock.set(request.at)
            if request.cost:
                found["in" if limiter.take(cost=FINE) else "out"].append(round(request.at, 4))
            found["at"].append(round(request.at, 4))
            found["room"].append(limiter.peek().remaining / FINE)
        return found

    return figures


def visits() -> Iterator[Request]:
    """A few, then a rush across the turn of a second, then more than the limit, a pause."""
    yield from steady(every=0.25, start=0.1, until=0.8)
    yield from steady(every=0.01, start=0.9, until=1.12)
    yield from steady(every=0.08, start=1.2, until=2.9)
    yield from steady(every=0.02, start=3.6, until=3.9)


def ticks() -> Iterator[Request]:
    """Moments to look at the room, a hundredth of a second apart."""
    yield from steady(every=0.01, until=4.0, cost=0)
