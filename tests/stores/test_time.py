"""A clock that goes back: counted, never granting twice, never freezing a key for long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate import (
    GCRA,
    FixedWindow,
    LeakyBucket,
    Limiter,
    ManualClock,
    MemoryStore,
    SharedStore,
    SlidingLog,
    SlidingWindow,
    TokenBucket,
    WarmUp,
)
from headgate.stores.store import FAR

Kind = Callable[..., Any]

SECOND = 1_000_000
HOUR = 3600 * SECOND

KINDS: list[Kind] = [TokenBucket, GCRA, LeakyBucket, FixedWindow, SlidingWindow, SlidingLog]
EVERY = pytest.mark.parametrize("kind", KINDS)


def test_a_clock_that_goes_on_is_no_anomaly(clock: ManualClock) -> None:
    limiter = Limiter("10/s", clock=clock)
    for _ in range(100):
        limiter.take("a")
        clock.advance(1000.0)

    assert limiter.table.anomalies == 0


@pytest.mark.parametrize("verb", ["take", "book", "charge"])
@pytest.mark.parametrize("several", [False, True], ids=["one limit", "two"])
@pytest.mark.parametrize("where", ["memory", "shared"])
@EVERY
def test_who_was_held_up_on_the_way_decides_by_the_time_it_is(
    tmp_path: Path, kind: Kind, where: str, several: bool, verb: str
) -> None:
    # Two hours lie between its look at the clock and its turn, as for a process that was stopped.
    store = MemoryStore() if where == "memory" else SharedStore("api", 8, str(tmp_path))
    limits = (kind("3/h"), kind("3/h", name="twin"))
    ledger = Limiter(*(limits if several else limits[:1]), store=store).ledger
    now = store.clock().now()
    for _ in range(3):
        ledger.take("a", 1, now, 0)

    if verb == "charge":
        ledger.charge("a", 0, now - 2 * HOUR, FAR)
    else:
        getattr(ledger, verb)("a", 1, now - 2 * HOUR, 0)

    assert not ledger.take("a", 1, now + 1, 0)
    assert ledger.tally()["anomalies"] == 0


@pytest.mark.parametrize("where", ["memory", "shared"])
def test_a_time_that_the_clock_does_not_show_yet_holds_nobody_up(
    tmp_path: Path, where: str
) -> None:
    # Whoever wrote it had another clock, or the file was damaged: it is a clock that went back.
    store = MemoryStore() if where == "memory" else SharedStore("api", 8, str(tmp_path))
    ledger = Limiter("3/s", store=store).ledger
    now = store.clock().now()
    ledger.take("a", 3, now + 24 * HOUR, 0)

    ledger.take("a", 1, now, 0)

    assert ledger.take("a", 3, now + 2 * SECOND, 0)
    assert ledger.tally()["anomalies"] == 1


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
