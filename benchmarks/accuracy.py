"""Accuracy: what is admitted, against what the definition says should be.

Two kinds of traffic, both in virtual time. An adversary asks as often as it can, after silences
chosen to put a burst just before a boundary; counted is the most it got into any one period. A
Poisson stream offers 1.2 times the limit; every answer is compared with that of an ideal, written
here on exact fractions, that shares no code with anybody.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import deque
from contextlib import ExitStack
from fractions import Fraction
from importlib import metadata
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from replays import Moment, Replay, replays

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Decide = Callable[[int], bool]

LIMIT = 100
PERIOD = 60
PERIOD_US = PERIOD * 1_000_000
# On the minute, and late enough that a clock which began in 1970 makes sense of it.
START_US = 1_700_000_040 * 1_000_000
STEP_US = 50_000
SILENCES_US = (0, 1_000, 15_000_000, 30_000_000, 45_000_000, 59_999_000)


def judge(wanted: Callable[[str], bool], seconds: int) -> dict[str, dict[str, Any]]:
    """Every replay under both kinds of traffic, beside its ideal."""
    arrivals = list(poisson(1.2 * LIMIT / PERIOD, seconds))
    chosen = [replay for replay in replays() if wanted(replay.name)]
    ideals = {kind: verdict(IDEALS[kind], arrivals) for kind in {each.kind for each in chosen}}
    return {replay.name: judged(replay, arrivals, ideals[replay.kind]) for replay in chosen}


def judged(replay: Replay, arrivals: list[int], ideal: tuple[int, list[bool]]) -> dict[str, Any]:
    """One replay's figures, or why there are none."""
    try:
        metadata.version(replay.package)
        worst, answers = replayed(replay, arrivals)
    except Exception as problem:  # a peer may fail in any way; the others are still judged
        return {"failed": f"{type(problem).__name__}: {problem}"}
    ideal_worst, ideal_answers = ideal
    return {
        "kind": replay.kind,
        "worst": worst,
        "ideal_worst": ideal_worst,
        "admitted": sum(answers),
        "ideal_admitted": sum(ideal_answers),
        "differing": sum(a != b for a, b in zip(answers, ideal_answers, strict=True)),
        "offered": len(answers),
    }


def replayed(replay: Replay, arrivals: list[int]) -> tuple[int, list[bool]]:
    """The verdict on a contestant, while virtual time is told in its modules."""
    moment = Moment()

    def make() -> Decide:
        ask = replay.build(moment, LIMIT, PERIOD)

        def decide(now: int) -> bool:
            moment.us = now
            return ask()

        return decide

    with ExitStack() as stack:
        for module in replay.modules:
            stack.enter_context(patch(f"{module}.time", moment))
        return verdict(make, arrivals)


def verdict(make: Callable[[], Decide], arrivals: list[int]) -> tuple[int, list[bool]]:
    """The most admitted in any one period under attack, and the answers to the stream."""
    worst = max(busiest(attack(make(), silence, n)) for silence in SILENCES_US for n in (0, 1))
    decide = make()
    return worst, [decide(now) for now in arrivals]


def attack(decide: Decide, silence: int, openers: int) -> list[int]:
    """When a greedy client got in: perhaps one request to open a window, a silence, then all."""
    admitted = [START_US for _ in range(openers) if decide(START_US)]
    now = START_US + silence
    while now < START_US + 3 * PERIOD_US:
        while decide(now):
            admitted.append(now)
        # It asks at every step, and a millisecond before and after each whole period.
        into = (now - START_US) % PERIOD_US
        now += 1_000 if into >= PERIOD_US - 1_000 or into == 0 else STEP_US
    return admitted


def busiest(admitted: list[int]) -> int:
    """The most admitted in any half-open span of one period."""
    return max(
        index + 1 - bisect_right(admitted, now - PERIOD_US) for index, now in enumerate(admitted)
    )


def poisson(rate: float, seconds: int) -> Iterator[int]:
    """Arrivals at `rate` a second, in whole microseconds; the same ones every time."""
    dice = random.Random(20_240_601)
    now = float(START_US)
    while (now := now + dice.expovariate(rate) * 1e6) < START_US + seconds * 1e6:
        yield int(now)


def ideal_bucket() -> Decide:
    """A bucket that starts full and refills without pause."""
    rate = Fraction(LIMIT, PERIOD_US)
    level, then = Fraction(LIMIT), START_US

    def decide(now: int) -> bool:
        nonlocal level, then
        level, then = min(Fraction(LIMIT), level + (now - then) * rate), now
        if level < 1:
            return False
        level -= 1
        return True

    return decide


def ideal_log() -> Decide:
    """No more than the limit in any half-open span of one period."""
    admitted: deque[int] = deque()

    def decide(now: int) -> bool:
        while admitted and admitted[0] <= now - PERIOD_US:
            admitted.popleft()
        if len(admitted) >= LIMIT:
            return False
        admitted.append(now)
        return True

    return decide


def ideal_window() -> Decide:
    """The limit in each period of the clock."""
    return windows(lambda _start, now: now // PERIOD_US * PERIOD_US)


def ideal_window_from_the_first() -> Decide:
    """The limit in a period that begins with its first request."""
    return windows(lambda start, now: now if now >= start + PERIOD_US else start)


def windows(begin: Callable[[int, int], int]) -> Decide:
    """A count that starts again with each window; `begin` says when the present one began."""
    start, count = -PERIOD_US, 0

    def decide(now: int) -> bool:
        nonlocal start, count
        began = begin(start, now)
        if began != start:
            start, count = began, 0
        if count >= LIMIT:
            return False
        count += 1
        return True

    return decide


# A counter approximates the log, so the log is what it is held against.
IDEALS: dict[str, Callable[[], Decide]] = {
    "bucket": ideal_bucket,
    "log": ideal_log,
    "counter": ideal_log,
    "window": ideal_window,
    "window from the first": ideal_window_from_the_first,
}
