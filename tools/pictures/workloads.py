"""All algorithms under the same five workloads, and limits that follow a capacity: the figures."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache
from math import ceil
from typing import Any, NamedTuple

from headgate import (
    AIMD,
    BBR,
    GCRA,
    Bulkhead,
    FixedWindow,
    Gradient,
    LeakyBucket,
    Limit,
    Limiter,
    ManualClock,
    SlidingLog,
    SlidingWindow,
    TokenBucket,
    Vegas,
    WarmUp,
)
from headgate.testing import (
    History,
    Request,
    boundary,
    greedy,
    most_in_any,
    on_off,
    play,
    poisson,
    queueing,
    steady,
    timeline,
)

Figures = dict[str, list[float]]

# Everybody says ten a second.
RATE, SECONDS, SLOT = 10, 6.0, 0.2


class Contender(NamedTuple):
    """A limit, and what it promises for a span of so many seconds."""

    limit: Limit
    bound: Callable[[float], float]


def meter(burst: int) -> Callable[[float], float]:
    """What is there when the span begins, and what flows in."""
    return lambda span: burst + RATE * span


def windows(reach: float, more: int = 0) -> Callable[[float], float]:
    """A full count for each `reach` seconds of the span, and `more` beside."""
    return lambda span: RATE * (ceil(round(span / reach, 9)) + more)


CONTENDERS: dict[str, Contender] = {
    "token bucket, burst 20": Contender(TokenBucket("10/s", burst=20), meter(20)),
    "GCRA, burst 5": Contender(GCRA("10/s", burst=5), meter(5)),
    "leaky bucket, burst 1": Contender(LeakyBucket("10/s", burst=1), meter(1)),
    "fixed window": Contender(FixedWindow("10/s"), windows(1.0, more=1)),
    "sliding window": Contender(SlidingWindow("10/s"), windows(0.9)),
    "sliding window, whole": Contender(SlidingWindow("10/s", oldest="whole"), windows(1.0)),
    "sliding log": Contender(SlidingLog("10/s"), windows(1.0)),
    "warm-up, 2 s": Contender(WarmUp("10/s", period=2), meter(1)),
}


def loads(until: float = SECONDS) -> dict[str, list[Request]]:
    """The five workloads, each of which offers more than ten a second at some time."""
    return {
        "steady 12/s": list(steady(every=1 / 12, until=until)),
        "burst of 60": [
            *steady(every=0.2, until=2.55),
            *hurry(2.6, 60, 0.3),
            *steady(every=0.2, start=3.0, until=until),
        ],
        "boundary": list(boundary(20, window=1.0, times=ceil(until / 2))),
        "on/off": list(on_off(every=0.03, on=0.5, off=1.0, until=until)),
        "Poisson 12/s": list(poisson(mean=12.0, until=until, seed=7)),
    }


def hurry(at: float, count: int, during: float) -> Iterator[Request]:
    """So many within a moment, one after the other."""
    yield from steady(every=during / count, start=at, until=at + during - 1e-9)


def workloads() -> Figures:
    """What was offered and what went in, for each workload and limit, in slots."""
    figures: Figures = {}
    for load, requests in loads().items():
        counts = [0.0] * round(SECONDS / SLOT)
        for request in requests:
            counts[int(request.at / SLOT + 1e-6)] += 1
        figures[load] = counts
        for name in CONTENDERS:
            history = played(name, requests)
            figures[f"{load} | {name}"] = [*map(float, timeline(history, SLOT, SECONDS))]
    return figures


def played(name: str, *traffic: Any) -> History:
    return play(Limiter(CONTENDERS[name].limit, clock=ManualClock()), *traffic)


@cache
def worst() -> Figures:
    """The most that got into any span under many attacks, and what is promised, for many spans."""
    spans = [round(0.1 * number, 1) for number in range(1, 26)]
    figures: Figures = {"spans": spans}
    for name, contender in CONTENDERS.items():
        histories = list(attacks(name))
        found = [max(most_in_any(one, span) for one in histories) for span in spans]
        figures[name] = [*map(float, found)]
        figures[f"{name}, promised"] = [round(contender.bound(span), 6) for span in spans]
    return figures


def attacks(name: str) -> Iterator[History]:
    """Keep silent, take all there is at one of many moments, then all that comes free."""
    yield played(name, boundary(2 * RATE, window=1.0, times=3))
    for tenths in range(0, 11, 2):
        first = 10 + tenths / 10 - 1e-6
        yield played(name, [Request(first)] * 3 * RATE, greedy(until=14.0, start=first))
        yield played(name, [Request(first)] * 3 * RATE, greedy(until=14.0, start=first + 0.899))


def wrongly() -> Figures:
    """Of the requests of a minute, the share that was refused though the last second had room."""
    return {
        load: [round(needless(played(name, requests)), 4) for name in CONTENDERS]
        for load, requests in loads(until=60.0).items()
    }


def needless(history: History) -> float:
    """The share of requests refused while fewer than ten had gone in during the second before."""
    inside = [entry.at for entry in history if entry.decision]
    wrong = 0
    for entry in history:
        if not entry.decision:
            last = bisect_right(inside, entry.at) - bisect_right(inside, entry.at - 1.0 + 1e-9)
            wrong += last < RATE
    return wrong / len(history)


# A service of 20 workers loses 14 of them for a while. It is asked for half as much again
# as all of them can do.
WORKERS, FEWER, LATENCY, TURNS = 20, 6, 0.25, (30.0, 60.0, 90.0)
RULES: dict[str, Callable[[queueing.Service], Any]] = {
    "AIMD": lambda _: AIMD(),
    "Vegas": lambda _: Vegas(),
    "Gradient": lambda _: Gradient(),
    "BBR": lambda service: BBR(signal=service.load),
}


def capacity() -> Figures:
    """How many each rule had inside, a mean for each second, and how many workers there were."""
    figures: Figures = {"workers": [float(there(at)) for at in range(int(TURNS[-1]))]}
    for name, rule in RULES.items():
        service = queueing.Service(WORKERS, LATENCY, noise=0.2)
        door = Bulkhead(rule(service), clock=ManualClock())
        changes = tuple((turn, staffed(there(turn))) for turn in TURNS[:2])
        run = queueing.overload(door, service, queueing.poisson(120.0), TURNS[-1], changes, seed=2)
        counts = [moment.inside for moment in run.moments]
        figures[name] = [sum(counts[at : at + 20]) / 20 for at in range(0, len(counts), 20)]
    return figures


def there(at: float) -> int:
    """How many workers there are then."""
    return FEWER if TURNS[0] <= at < TURNS[1] else WORKERS


def staffed(workers: int) -> Callable[[queueing.Service], None]:
    def change(service: queueing.Service) -> None:
        service.workers = workers

    return change
