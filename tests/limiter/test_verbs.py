"""take, take_many, peek, debit, refund, reset, reserve and cancel, in both colours."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import pytest

from headgate import Decision, FixedWindow, ManualClock, TokenBucket

Make = Callable[..., Any]


def test_a_take_spends_and_says_what_is_left(make: Make) -> None:
    limiter = make("10/s")

    assert limiter.take("a", 4) == Decision(True, 10, 6, 0.0, 0.4, "10/s")


def test_a_take_that_does_not_fit_spends_nothing_and_says_when_it_would(make: Make) -> None:
    limiter = make("10/s")
    limiter.take("a", 8)

    assert limiter.take("a", 5) == Decision(False, 10, 2, 0.3, 0.8, "10/s")
    assert limiter.take("a", 2) == Decision(True, 10, 0, 0.0, 1.0, "10/s")


def test_who_returns_after_retry_after_goes_in_and_not_a_microsecond_sooner(
    make: Make, clock: ManualClock
) -> None:
    limiter = make("10/s")
    limiter.take("a", 10)
    retry = limiter.take("a", 3).retry_after

    clock.set(retry - 1e-6)
    early = limiter.take("a", 3)
    clock.set(retry)

    assert (bool(early), bool(limiter.take("a", 3))) == (False, True)


def test_keys_do_not_know_each_other(make: Make) -> None:
    limiter = make("1/s")

    assert [bool(limiter.take(key)) for key in ("a", "b", "a", "b", "")] == [
        True, True, False, False, True,
    ]  # fmt: skip


def test_a_take_of_nothing_is_a_look(make: Make) -> None:
    limiter = make("10/s")
    limiter.take("a", 10)

    assert limiter.take("a", 0) == Decision(True, 10, 0, 0.0, 1.0, "10/s")


def test_take_many_decides_for_each_key_in_turn(make: Make) -> None:
    limiter = make("2/s")

    decisions = limiter.take_many(key for key in ("a", "b", "a", "a"))

    assert [(bool(one), one.remaining) for one in decisions] == [
        (True, 1), (True, 1), (True, 0), (False, 0),
    ]  # fmt: skip


def test_take_many_charges_each_key_the_cost(make: Make) -> None:
    limiter = make("10/s")
    limiter.take_many(["a", "b"], cost=7)

    assert [limiter.peek(key).remaining for key in ("a", "b", "c")] == [3, 3, 10]


def test_a_peek_says_what_take_would_and_what_is_left_now(make: Make) -> None:
    limiter = make("10/s")
    limiter.take("a", 8)

    peeked = [limiter.peek("a", 2), limiter.peek("a", 3)]

    assert peeked == [
        Decision(True, 10, 2, 0.0, 0.8, "10/s"),
        Decision(False, 10, 2, 0.1, 0.8, "10/s"),
    ]


def test_a_debit_may_go_below_nothing_and_is_paid_off_before_the_next_entry(
    make: Make, clock: ManualClock
) -> None:
    limiter = make("10/s")

    assert limiter.debit("a", 25) == Decision(False, 10, 0, 1.5, 2.5, "10/s")
    assert limiter.take("a").retry_after == 1.6
    clock.set(1.6)
    assert limiter.take("a")


def test_a_refund_gives_back_up_to_what_a_fresh_key_has(make: Make) -> None:
    limiter = make("10/s")
    limiter.take("a", 6)

    assert [limiter.refund("a", 2).remaining, limiter.refund("a", 9).remaining] == [6, 10]


def test_a_refund_to_a_key_never_seen_changes_nothing(make: Make) -> None:
    limiter = make("10/s")

    assert limiter.refund("a", 5) == Decision(True, 10, 10, 0.0, 0.0, "10/s")


def test_a_reset_key_is_as_if_it_had_never_been_seen(make: Make) -> None:
    limiter = make("10/s")
    limiter.debit("a", 100)

    assert limiter.reset("a") is None
    assert limiter.peek("a") == limiter.peek("never seen")


def test_a_reservation_says_when_it_may_act(make: Make) -> None:
    limiter = make("10/s")
    waits = [limiter.reserve("a", cost).wait for cost in (10, 2, 3)]

    assert waits == [0.0, 0.2, 0.5]


def test_a_reservation_carries_its_decision(make: Make) -> None:
    limiter = make("10/s")
    limiter.take("a", 10)

    assert limiter.reserve("a", 2).decision == Decision(True, 10, 0, 0.2, 1.2, "10/s")


def test_a_reservation_that_would_wait_too_long_is_false_and_spends_nothing(make: Make) -> None:
    limiter = make("10/s")
    limiter.take("a", 10)
    before = limiter.peek("a")

    refused = limiter.reserve("a", 5, timeout=0.499999)

    assert (bool(refused), refused.wait, refused.decision.retry_after) == (False, inf, 0.5)
    assert limiter.peek("a") == before


def test_a_reservation_is_granted_for_exactly_its_timeout(make: Make) -> None:
    limiter = make("10/s")
    limiter.take("a", 10)

    assert limiter.reserve("a", 5, timeout=0.5)


def test_a_cancelled_reservation_gives_everything_back_when_nobody_came_after(make: Make) -> None:
    limiter = make("10/s")
    limiter.take("a", 10)
    before = limiter.peek("a")
    reservation = limiter.reserve("a", 5)

    reservation.cancel()

    assert limiter.peek("a") == before


def test_a_second_cancel_changes_nothing(make: Make) -> None:
    limiter = make("10/s")
    limiter.take("a", 10)
    reservation = limiter.reserve("a", 5)
    limiter.reserve("a", 5)
    reservation.cancel()
    before = limiter.peek("a")

    reservation.cancel()

    assert limiter.peek("a") == before


def test_cancelling_a_refused_reservation_changes_nothing(make: Make) -> None:
    limiter = make("10/s")
    limiter.take("a", 10)
    before = limiter.peek("a")

    limiter.reserve("a", 5, timeout=0).cancel()

    assert limiter.peek("a") == before


def test_a_cancel_keeps_what_a_later_booking_counts_on(make: Make, clock: ManualClock) -> None:
    limiter = make("10/s")
    limiter.take("a", 10)
    first = limiter.reserve("a", 5)
    second = limiter.reserve("a", 2)

    first.cancel()

    # Of the 5, the 2 that the later one stands behind are not free before it has gone in.
    assert second.wait == 0.7
    assert limiter.reserve("a", 3).wait == pytest.approx(0.7, abs=2e-6)


def test_every_limit_must_agree_and_a_refusal_by_one_charges_none(make: Make) -> None:
    limiter = make("10/s", FixedWindow("3/min"))
    limiter.take("a", 3)
    before = limiter.peek("a", 0)

    refused = limiter.take("a")

    assert refused == Decision(False, 3, 0, 60.0, 60.0, "3/min")
    assert limiter.peek("a", 0) == before


def test_the_tightest_limit_is_reported(make: Make) -> None:
    limiter = make(TokenBucket("10/s", name="second"), TokenBucket("6/min", name="minute"))

    assert limiter.take("a") == Decision(True, 6, 5, 0.0, 10.0, "minute")


def test_a_limit_of_zero_lets_nothing_in(make: Make) -> None:
    limiter = make("0/s")

    assert limiter.take("a") == Decision(False, 0, 0, inf, 0.0, "0/s")
