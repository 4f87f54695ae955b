"""Traffic: who asks when, as traces for the simulator.

A trace is an iterable of requests, or of plain `(seconds, key, cost)`, in the order they are
made. One that goes back in time is a clock that steps back. A trace that is a generator is told
each decision by `send`, so that a client can act on what it was answered, as `greedy` does.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterable, Iterator
from math import ceil, inf
from typing import NamedTuple

from headgate.decision import Decision

# The finest a limiter can tell two moments apart.
TICK = 1e-6


class Request(NamedTuple):
    """Somebody asks for `cost` units of `key` at `at` seconds."""

    at: float
    key: str = ""
    cost: int = 1


Trace = Iterable[Request | tuple[float, str, int]]
Client = Generator[Request, Decision, None]


def steady(
    every: float, until: float, start: float = 0.0, key: str = "", cost: int = 1
) -> Iterator[Request]:
    """One request each `every` seconds, the first at `start`, the last before `until`."""
    for number in range(ceil((until - start) / every)):
        if start + number * every < until:
            yield Request(start + number * every, key, cost)


def burst(count: int, at: float = 0.0, key: str = "", cost: int = 1) -> Iterator[Request]:
    """As many as `count` requests in one moment."""
    for _ in range(count):
        yield Request(at, key, cost)


def poisson(
    mean: float, until: float, seed: int, start: float = 0.0, key: str = "", cost: int = 1
) -> Iterator[Request]:
    """Independent visitors, `mean` a second on average; the same ones for the same `seed`."""
    chance = random.Random(seed)  # noqa: S311 - traffic, not secrets
    at = start + chance.expovariate(mean)
    while at < until:
        yield Request(round(at, 6), key, cost)
        at += chance.expovariate(mean)


def on_off(
    every: float, on: float, off: float, until: float, key: str = "", cost: int = 1
) -> Iterator[Request]:
    """Steady for `on` seconds, silent for `off`, and so on `until` then."""
    for number in range(ceil(until / (on + off))):
        begin = number * (on + off)
        yield from steady(every, min(begin + on, until), begin, key, cost)


def boundary(
    count: int, window: float, times: int = 1, key: str = "", cost: int = 1
) -> Iterator[Request]:
    """The attack on windows aligned to the clock: `count` just before each edge, `count` at it.

    The first edge is at `window` seconds; each of `times` attacks leaves a window free before the
    next.
    """
    for number in range(times):
        edge = (2 * number + 1) * window
        yield from burst(count, edge - TICK, key, cost)
        yield from burst(count, edge, key, cost)


def greedy(until: float, start: float = 0.0, key: str = "", cost: int = 1) -> Client:
    """A client that takes whatever it can get, and comes back the moment it is told to."""
    at = start
    while at < until:
        decision = yield Request(at, key, cost)
        if decision.retry_after == inf:
            return
        # Counted in whole microseconds, as limiters do: sums of floats would drift.
        at = round((at + decision.retry_after) * 1e6) / 1e6
