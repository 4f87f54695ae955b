"""A clock that goes back: counted, never granting twice, never freezing a key for long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate import (
    GCRA,
    FixedWindow,
    LeakyBucket,
    Limiter,
    ManualClock,
    SlidingLog,
    SlidingWindow,
    TokenBucket,
    WarmUp,
)

Kind = Callable[..., Any]

KINDS: list[Kind] = [TokenBucket, GCRA, LeakyBucket, FixedWindow, SlidingWindow, SlidingLog]
EVERY = pytest.mark.parametrize("kind", KINDS)


def test_a_clock_that_goes_on_is_no_anomaly(clock: ManualClock) -> None:
    limiter = Limiter("10/s", clock=clock)
    for _ in range(100):
        limiter.take("a")
        clock.advance(1000.0)

    assert limiter.table.anomalies == 0


@pytest.mark.parametrize("limit", [TokenBucket("10/s"), FixedWindow("10/day", calendar="day")])
@pytest.mark.parametrize("verb", ["take", "peek", "debit", "refund", "reserve", "acquire"])
def test_a_step_back_of_more_than_a_second_is_counted_once(
    clock: ManualClock, verb: str, limit: Any
) -> None:
    clock.set(1_000_000.0)
    limiter = Limiter(limit, clock=clock)
    limiter.take("a")
    clock.advance(-50.0)

    for _ in range(3):
        getattr(limiter, verb)("a")

    assert limiter.table.anomalies == 1


@pytest.mark.parametrize("verb", ["take", "debit"])
def test_every_step_back_is_counted(clock: ManualClock, verb: str) -> None:
    clock.set(1000.0)
    limiter = Limiter("1000/s", clock=clock)
    for _ in range(5):
        getattr(limiter, verb)("a")
        clock.advance(11.0)
        getattr(limiter, verb)("a")
        clock.advance(-11.0)

    assert limiter.table.anomalies == 4


def test_a_step_back_of_up_to_a_second_is_not_worth_a_word(clock: ManualClock) -> None:
    clock.set(1000.0)
    limiter = Limiter("10/s", clock=clock)
    limiter.take("a")
    clock.advance(-1.0)
    limiter.take("a")

    assert limiter.table.anomalies == 0


@EVERY
@pytest.mark.parametrize("back", [0.000_001, 0.5, 1.0, 1.000_001, 2.0, 60.0, 999.0])
def test_a_step_back_grants_nothing(clock: ManualClock, kind: Kind, back: float) -> None:
    clock.set(1000.0)
    limiter = Limiter(kind("10/s"), clock=clock)
    limiter.take("a", 10)
    clock.advance(-back)

    assert not limiter.take("a")


@EVERY
@pytest.mark.parametrize("back", [0.5, 2.0, 60.0, 999.0])
def test_a_step_back_does_not_shut_a_key_out_for_long(
    clock: ManualClock, kind: Kind, back: float
) -> None:
    clock.set(1000.0)
    limiter = Limiter(kind("10/s"), clock=clock)
    limiter.take("a", 10)
    clock.advance(-back)

    # The window, the second that a clock is doubted for, and a sliding part.
    assert limiter.take("a").retry_after <= 3.3


@EVERY
def test_a_clock_that_swings_brings_no_more_than_the_time_it_showed(kind: Kind) -> None:
    clock = ManualClock(1000.0)
    limiter = Limiter(kind("10/min"), clock=clock)
    admitted = 0
    for turn in range(100):
        clock.set(1000.0 + 11.0 * (turn % 2))
        while limiter.take("a"):
            admitted += 1

    # It went forward fifty times by eleven seconds, each of which bring less than two.
    assert admitted <= 10 + 50 * 2


@pytest.mark.parametrize("limit", [*(kind("10/s") for kind in KINDS), WarmUp("10/s")], ids=repr)
def test_a_leap_forward_makes_a_key_as_new_and_no_more(clock: ManualClock, limit: Any) -> None:
    limiter = Limiter(limit, clock=clock)
    fresh = limiter.peek("a")
    limiter.take("a")
    clock.advance(50 * 365 * 86_400.0)

    assert limiter.peek("a") == fresh


def test_a_step_back_to_the_beginning_of_time_is_survived(clock: ManualClock) -> None:
    clock.set(1e9)
    limiter = Limiter("10/s", clock=clock)
    limiter.take("a", 10)
    clock.set(0.0)

    assert limiter.take("a").retry_after == 0.1
