"""Simulation: what the algorithms make of the same traffic, side by side, in virtual time.

Each of them is given the rate, and the burst where it has one, and a limiter of its own; the same
requests at the same moments are put to all of them. What went in is counted from their answers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from math import ceil
from typing import Any, NamedTuple

from headgate.algorithms.fixed_window import FixedWindow
from headgate.algorithms.gcra import GCRA
from headgate.algorithms.leaky_bucket import LeakyBucket
from headgate.algorithms.limit import Limit
from headgate.algorithms.sliding_log import SlidingLog
from headgate.algorithms.sliding_window import SlidingWindow
from headgate.algorithms.token_bucket import TokenBucket
from headgate.clock import ManualClock, microseconds
from headgate.errors import HeadgateError
from headgate.limiter import Limiter
from headgate.rate import Rate

# So many requests in all, in so many parts of the picture.
MOST = 20_000
PARTS = 120
LONGEST = 86_400
# What a second is short of two.
TICK = 1e-6

BUCKETS: tuple[Callable[..., Limit], ...] = (TokenBucket, GCRA, LeakyBucket)
WINDOWS: tuple[Callable[..., Limit], ...] = (FixedWindow, SlidingWindow, SlidingLog)


class Traffic(NamedTuple):
    """A rate and its burst, and who asks: `mean` requests a second of a `kind`, for `seconds`."""

    rate: Rate
    kind: str
    mean: float
    seconds: float


def read(said: Mapping[str, Any]) -> Traffic:
    """The traffic that somebody asks about; raises ValueError if there can be no such."""
    try:
        rate = Rate(str(said.get("rate", "10/s burst 20")))
    except HeadgateError as problem:
        raise ValueError(f"rate: {problem}") from None
    if rate.unlimited or not rate.count:
        raise ValueError("rate: lets in some, and not all, such as 10/s burst 20")
    kind = str(said.get("kind", "steady"))
    if kind not in KINDS:
        raise ValueError(f"kind: is {', '.join(KINDS)}, not {kind[:60]}")
    mean = number("mean", said.get("mean", 12), 0.001, MOST)
    seconds = number("seconds", said.get("seconds", 30), 1, LONGEST)
    if mean * seconds > MOST:
        raise ValueError(f"mean: {mean * seconds:,.0f} requests in all are more than {MOST:,}")
    return Traffic(rate, kind, mean, seconds)


def number(word: str, given: Any, least: float, most: float) -> float:
    """A number in these bounds."""
    try:
        found = float(given)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{word}: is a number, not {str(given)[:60]}") from None
    if not least <= found <= most:
        raise ValueError(f"{word}: is from {least:g} to {most:,g}, not {found:g}")
    return found


def play(traffic: Traffic) -> dict[str, Any]:
    """What each algorithm lets in of the traffic, part by part, and the most in any period."""
    made = islice(KINDS[traffic.kind](traffic), MOST)
    # The finest a limiter can tell two moments apart.
    moments = sorted(round(moment, 6) for moment in made)
    width = traffic.seconds / PARTS
    asked = parted(moments, width)
    return {
        "width": width,
        "asked": asked,
        "requests": len(moments),
        "period": traffic.rate.seconds,
        "algorithms": [told(limit, moments, width) for limit in limits(traffic.rate)],
    }


def limits(rate: Rate) -> Iterator[Limit]:
    """The limit by each algorithm; windows have no burst."""
    plain = Rate.of(rate.count, rate.period)
    for kind in BUCKETS:
        yield kind(rate)
    for kind in WINDOWS:
        yield kind(plain)


def told(limit: Limit, moments: list[float], width: float) -> dict[str, Any]:
    """What became of requests at these moments under one limit."""
    clock = ManualClock()
    limiter = Limiter(limit, clock=clock)
    passed = []
    for moment in moments:
        clock.set(moment)
        if limiter.take(""):
            passed.append(moment)
    return {
        "name": type(limit).__name__,
        "spelled": repr(limit),
        "allowed": len(passed),
        "refused": len(moments) - len(passed),
        "most": fullest(passed, limit.rate.seconds),
        "parts": parted(passed, width),
    }


def fullest(moments: list[float], span: float) -> int:
    """The most in any span; what went in exactly so far apart is never in one."""
    most = first = 0
    exact, width = [microseconds(moment) for moment in moments], microseconds(span)
    for last, moment in enumerate(exact):
        while exact[first] <= moment - width:
            first += 1
        most = max(most, last - first + 1)
    return most


def parted(moments: list[float], width: float) -> list[int]:
    """How many fall into each part of the time."""
    counts = [0] * PARTS
    for moment in moments:
        counts[min(PARTS - 1, int(moment / width))] += 1
    return counts


def steady(traffic: Traffic) -> Iterator[float]:
    """One after another, always as far apart."""
    for one in range(int(traffic.mean * traffic.seconds)):
        yield one / traffic.mean


def visitors(traffic: Traffic) -> Iterator[float]:
    """Each comes when it likes; the same ones every time."""
    chance = random.Random(7)  # noqa: S311 - traffic, not secrets
    moment = chance.expovariate(traffic.mean)
    while moment < traffic.seconds:
        yield round(moment, 6)
        moment += chance.expovariate(traffic.mean)


def bursts(traffic: Traffic) -> Iterator[float]:
    """All of five seconds' requests in one moment, and then none."""
    for begin in range(0, ceil(traffic.seconds), 5):
        for _ in range(round(traffic.mean * 5)):
            yield float(begin)


def edges(traffic: Traffic) -> Iterator[float]:
    """Half of them just before a window of the clock ends, and half as the next begins."""
    span = traffic.rate.seconds
    # There may be very many of them, and somebody comes to each.
    for one in range(1, max(2, int(traffic.seconds / span)), 2):
        for _ in range(max(1, round(traffic.mean * span))):
            yield one * span - TICK
            yield one * span


def surge(traffic: Traffic) -> Iterator[float]:
    """Half as many as said, four times as many in the third part of the time, and again half."""
    third = traffic.seconds / 3
    for begin, share in ((0.0, 0.5), (third, 4.0), (2 * third, 0.5)):
        many = int(traffic.mean * share * third)
        yield from (begin + one * third / many for one in range(many))


KINDS: dict[str, Callable[[Traffic], Iterator[float]]] = {
    "steady": steady, "visitors": visitors, "bursts": bursts, "edges": edges, "surge": surge,
}  # fmt: skip
