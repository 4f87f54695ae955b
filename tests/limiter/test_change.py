"""Limits change while in use: what is left is carried over, what is owed is kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import headgate
from headgate import (
    GCRA,
    FixedWindow,
    LeakyBucket,
    Limiter,
    LimitError,
    ManualClock,
    MemoryStore,
    SlidingLog,
    SlidingWindow,
    TokenBucket,
    WarmUp,
)

Make = Callable[..., Any]
Kind = Callable[..., Any]

KINDS: list[Kind] = [TokenBucket, GCRA, LeakyBucket, FixedWindow, SlidingWindow, SlidingLog]
METERS: list[Kind] = [TokenBucket, GCRA, LeakyBucket]
SMALL = MemoryStore(100)
EVERY = pytest.mark.parametrize("kind", KINDS)


@EVERY
def test_what_is_left_scales_with_the_capacity(make: Make, kind: Kind) -> None:
    limiter = make(kind("10/s"))
    limiter.take("a", 4)

    limiter.change(kind("20/s"))

    assert [limiter.peek(key).remaining for key in ("a", "fresh")] == [12, 20]


@EVERY
def test_what_is_left_scales_down_as_well(make: Make, kind: Kind) -> None:
    limiter = make(kind("20/s"))
    limiter.take("a", 8)

    limiter.change(kind("10/s"))

    assert [limiter.peek(key).remaining for key in ("a", "fresh")] == [6, 10]


@EVERY
@pytest.mark.parametrize(("rate", "left"), [("20/s", 6), ("10/s", 6), ("7/s", 6), ("3/s", 3)])
def test_what_is_left_may_be_kept_up_to_the_new_capacity(
    make: Make, kind: Kind, rate: str, left: int
) -> None:
    limiter = make(kind("10/s"))
    limiter.take("a", 4)

    limiter.change(kind(rate), carry="keep")

    assert limiter.peek("a").remaining == left


@EVERY
def test_every_key_may_start_anew(make: Make, kind: Kind) -> None:
    limiter = make(kind("10/s"))
    limiter.debit("a", 100)
    limiter.take("b", 4)

    limiter.change(kind("20/s"), carry="reset")

    assert [limiter.peek(key).remaining for key in ("a", "b")] == [20, 20]


@pytest.mark.parametrize(("before", "after"), list(product(KINDS, KINDS)))
def test_what_is_left_is_carried_across_kinds(before: Kind, after: Kind) -> None:
    limiter = Limiter(before("10/s"), store=SMALL, clock=ManualClock(100.0))
    limiter.take("a", 4)

    limiter.change(after("10/s"))

    assert limiter.peek("a").remaining == 6


@pytest.mark.parametrize("carry", ["scale", "keep"])
@pytest.mark.parametrize(("before", "after"), list(product(METERS, METERS)))
def test_a_debt_is_kept_in_units_and_paid_off_at_the_new_rate(
    before: Kind, after: Kind, carry: str
) -> None:
    limiter = Limiter(before("10/s"), store=SMALL, clock=ManualClock(100.0))
    limiter.debit("a", 15)

    limiter.change(after("20/s"), carry=carry)

    assert limiter.take("a").retry_after == 0.3


@EVERY
def test_a_booking_still_counts_after_a_change(clock: ManualClock, kind: Kind) -> None:
    limiter = Limiter(kind("10/s"), store=SMALL, clock=clock)
    limiter.take("a", 10)
    booked = limiter.reserve("a", 10)

    limiter.change(kind("10/s", name="changed"))
    clock.advance(booked.wait)

    assert not limiter.take("a")


def test_a_warm_up_keeps_what_is_owed(clock: ManualClock) -> None:
    limiter = Limiter(WarmUp("10/s", period=1.0), clock=clock)
    limiter.debit("a", 5)

    limiter.change(WarmUp("20/s", period=1.0))

    assert limiter.take("a").retry_after == pytest.approx(0.25)


@pytest.mark.parametrize("kind", METERS)
def test_the_new_rate_applies_from_now_and_the_old_one_until_now(
    clock: ManualClock, kind: Kind
) -> None:
    limiter = Limiter(kind("10/s"), store=SMALL, clock=clock)
    limiter.take("a", 10)
    clock.advance(0.2)

    limiter.change(kind("100/s", burst=10))
    left = limiter.peek("a").remaining
    limiter.take("a", 2)
    refused = limiter.take("a")

    assert (left, refused.retry_after) == (2, 0.01)


@EVERY
@pytest.mark.parametrize("carry", ["scale", "keep"])
def test_a_change_to_the_same_limit_changes_nothing(
    clock: ManualClock, kind: Kind, carry: str
) -> None:
    limiter, untouched = (Limiter(kind("10/s"), store=SMALL, clock=clock) for _ in range(2))
    for one in (limiter, untouched):
        one.take("a", 10)
    clock.advance(0.05)

    limiter.change(kind("10/s"), carry=carry)

    assert limiter.peek("a") == untouched.peek("a")


@pytest.mark.parametrize("kind", METERS)
def test_a_limit_that_is_changed_all_the_time_still_lets_its_rate_in(
    clock: ManualClock, kind: Kind
) -> None:
    limiter = Limiter(kind("10/s"), store=SMALL, clock=clock)
    limiter.take("a", 10)
    admitted = 0
    for number in range(200):
        clock.advance(0.05)
        limiter.change(kind("10/s", name=str(number)))
        admitted += bool(limiter.take("a"))

    assert admitted == 100


@pytest.mark.parametrize("kind", METERS)
def test_a_change_never_lets_in_more_than_the_larger_of_both_limits_would(
    clock: ManualClock, kind: Kind
) -> None:
    limiter = Limiter(kind("10/s"), store=SMALL, clock=clock)
    admitted = 0
    for number in range(200):
        while limiter.take("a"):
            admitted += 1
        clock.advance(0.03)
        limiter.change(kind(("10/s", "20/s")[number % 2]))

    assert admitted <= 20 + 20 * 200 * 0.03


def test_limits_are_matched_in_the_order_given(clock: ManualClock) -> None:
    limiter = Limiter("10/s", FixedWindow("100/min"), clock=clock)
    limiter.take("a", 5)

    limiter.change("20/s", FixedWindow("100/h", name="hour"), SlidingLog("50/day"))

    assert limiter.peek("a", 11).rule == "20/s"
    assert limiter.limits == (
        TokenBucket("20/s"),
        FixedWindow("100/h", name="hour"),
        SlidingLog("50/day"),
    )


def test_a_change_is_seen_in_the_limiter(make: Make) -> None:
    limiter = make("10/s")

    limiter.change("20/s")

    assert limiter.limits == (TokenBucket("20/s"),)
    assert "20/s" in repr(limiter)
    assert limiter.take("a").limit == 20


def test_keys_by_the_thousand_are_carried_over(clock: ManualClock) -> None:
    limiter = Limiter("10/s", store=MemoryStore(3000), clock=clock)
    for number in range(3000):
        limiter.take(str(number), 1 + number % 10)

    limiter.change("10/s burst 20")

    assert [limiter.peek(str(number)).remaining for number in range(3000)] == [
        2 * (9 - number % 10) for number in range(3000)
    ]


def test_what_has_been_given_up_is_still_counted_after_a_change(clock: ManualClock) -> None:
    limiter = Limiter("10/s", store=MemoryStore(1), clock=clock)
    for number in range(100):
        limiter.take(str(number))
    evicted = limiter.table.rows.evicted

    limiter.change("20/s")

    assert limiter.table.rows.evicted >= evicted > 0


def test_threads_that_take_while_limits_change_lose_nothing_and_gain_nothing(
    clock: ManualClock,
) -> None:
    units = 40_000 if headgate.COMPILED else 8_000
    limits = [TokenBucket(f"{units}/day", name=name) for name in ("odd", "even")]
    limiter = Limiter(limits[0], store=SMALL, clock=clock)
    admitted: list[int] = []
    ready = threading.Barrier(9)

    def take() -> None:
        ready.wait()
        admitted.append(sum(bool(limiter.take("a")) for _ in range(units // 6)))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    ready.wait()
    changes = 0
    while changes < 2 or any(thread.is_alive() for thread in threads):
        limiter.change(limits[changes % 2], carry="keep")
        changes += 1
    for thread in threads:
        thread.join()

    assert sum(admitted) == units


@pytest.mark.parametrize(("before", "after"), [("10/s", "unlimited"), ("unlimited", "10/s")])
def test_from_or_to_unlimited_is_a_new_limiter(make: Make, before: str, after: str) -> None:
    with pytest.raises(LimitError) as caught:
        make(before).change(after)

    assert str(caught.value) == "change: from or to unlimited is a new Limiter"


def test_a_change_to_no_limit_at_all_is_refused(make: Make) -> None:
    with pytest.raises(TypeError) as caught:
        make("10/s").change()

    assert str(caught.value) == 'change needs at least one limit, for example change("100/min")'


def test_a_change_to_a_misspelled_limit_changes_nothing(make: Make) -> None:
    limiter = make("10/s")
    limiter.take("a", 4)
    with pytest.raises(ValueError):
        limiter.change("20/sex")

    assert limiter.peek("a").remaining == 6
    assert limiter.limits == (TokenBucket("10/s"),)


def test_a_store_knows_a_limiter_by_what_it_was_changed_to(clock: ManualClock) -> None:
    store = MemoryStore()
    first = Limiter("10/s", store=store, name="api", clock=clock)
    first.take("a", 10)
    first.change("20/s")

    assert Limiter("20/s", store=store, name="api", clock=clock).peek("a").remaining == 0
    with pytest.raises(ValueError):
        Limiter("10/s", store=store, name="api", clock=clock)


def test_a_limiter_of_the_same_name_goes_by_the_changed_limits(clock: ManualClock) -> None:
    store = MemoryStore()
    first, second = (Limiter("10/s", store=store, name="api", clock=clock) for _ in range(2))

    first.change("20/s")

    assert (second.take("a", 15).remaining, second.limits) == (5, (TokenBucket("20/s"),))
