"""Faults of published limiters, one by one, and that ours does not have them.

Each name begins with the number of the requirement that describes the fault.
"""

from __future__ import annotations

import sys
import time

import pytest

from headgate import (
    GCRA,
    FixedWindow,
    LeakyBucket,
    Limit,
    Limiter,
    ManualClock,
    SlidingLog,
    SlidingWindow,
    SystemClock,
    TokenBucket,
)
from tests.crowd import hasty, together

WINDOWED = [
    FixedWindow("5/min"),
    FixedWindow("5/min", anchor="first"),
    SlidingWindow("5/min"),
    SlidingLog("5/min"),
]
EXACT = [*WINDOWED, TokenBucket("5/min"), GCRA("5/min"), LeakyBucket("5/min")]
METERS = [TokenBucket, GCRA, LeakyBucket]


@pytest.mark.parametrize("limit", WINDOWED, ids=repr)
def test_r187_the_first_request_of_a_new_window_is_counted(
    limit: Limit, clock: ManualClock
) -> None:
    limiter = Limiter(limit, clock=clock)
    drained(limiter)

    clock.advance(120.0)

    assert drained(limiter) == 5


def test_r187_a_new_window_starts_from_nothing_for_every_limiter(clock: ManualClock) -> None:
    # The published counter was shared by all instances and never set back.
    one, other = (Limiter(FixedWindow("5/min"), clock=clock) for _ in range(2))

    assert (drained(one), drained(other)) == (5, 5)


@pytest.mark.parametrize("limit", EXACT, ids=repr)
def test_r187_checking_and_counting_is_one_act(limit: Limit) -> None:
    limiter = Limiter(limit, clock=ManualClock())
    with hasty():
        admitted = together(lambda _: drained(limiter), 8)

    assert sum(admitted) == 5


@pytest.mark.parametrize("limit", EXACT, ids=repr)
def test_r188_a_limit_of_five_admits_five_and_not_six(limit: Limit, clock: ManualClock) -> None:
    assert drained(Limiter(limit, clock=clock)) == 5


def test_r188_any_number_of_expired_entries_is_dropped_without_recursion(
    clock: ManualClock,
) -> None:
    size = 10 * sys.getrecursionlimit()
    limiter = Limiter(SlidingLog(f"{size}/min"), clock=clock)
    limiter.take(cost=size)

    clock.advance(60.0)

    assert limiter.take(cost=size).allowed


@pytest.mark.parametrize("limit", EXACT, ids=repr)
def test_r188_a_key_without_entries_is_looked_at_safely(limit: Limit, clock: ManualClock) -> None:
    assert Limiter(limit, clock=clock).peek("nobody").remaining == 5


@pytest.mark.parametrize("kind", METERS)
@pytest.mark.parametrize(
    ("rate", "seconds"),
    [("1/s", 1.0), ("999/s", 1 / 999), ("10/min", 6.0), ("1/h", 3600.0), ("1 per 7day", 604800.0)],
)
def test_r189_r190_r141_slow_rates_are_kept_as_they_are(
    kind: type[Limit], rate: str, seconds: float, clock: ManualClock
) -> None:
    limiter = Limiter(kind(rate), clock=clock)
    drained(limiter)

    assert limiter.take().retry_after == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize("kind", METERS)
def test_r190_a_refill_does_not_throw_the_rest_of_a_second_away(
    kind: type[Limit], clock: ManualClock
) -> None:
    # Ten a minute, looked at every 900 ms: in integer seconds nothing would ever arrive.
    limiter = Limiter(kind("10/min"), clock=clock)
    drained(limiter)

    given = 0
    for _ in range(400):
        clock.advance(0.9)
        given += drained(limiter)

    assert given == 60


def test_r141_ten_a_minute_is_one_every_six_seconds(clock: ManualClock) -> None:
    limiter = Limiter(TokenBucket("10/min", burst=1), clock=clock)
    limiter.take()

    answers = []
    for moment in (5.999999, 6.0, 11.999999, 12.0):
        clock.set(moment)
        answers.append(limiter.take().allowed)

    assert answers == [False, True, False, True]


@pytest.mark.parametrize("parts", [1, 2, 5, 10, 60])
def test_r191_a_window_in_parts_limits_whatever_their_size(parts: int, clock: ManualClock) -> None:
    limiter = Limiter(SlidingWindow("10/min", parts=parts), clock=clock)

    given = 0
    for _ in range(59):
        given += limiter.take().allowed
        clock.advance(1.0)

    assert given == 10


def test_r191_the_oldest_part_is_weighted(clock: ManualClock) -> None:
    # Ten in the first minute; a quarter into the third, three quarters of the second still count.
    limiter = Limiter(SlidingWindow("10/min", parts=1), clock=clock)
    clock.set(60.0)
    limiter.take(cost=10)

    clock.set(120.0 + 15.0)

    assert limiter.peek().remaining == 2


def test_r192_a_request_exactly_one_window_old_has_left(clock: ManualClock) -> None:
    limiter = Limiter(SlidingLog("1/min"), clock=clock)
    limiter.take()

    answers = []
    for moment in (59.999999, 60.0):
        clock.set(moment)
        answers.append(limiter.take().allowed)

    assert answers == [False, True]


def test_r193_the_clock_does_not_follow_the_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SystemClock()
    before = clock.now()

    monkeypatch.setattr(time, "time", lambda: 0.0)
    monkeypatch.setattr(time, "time_ns", lambda: 0)

    assert clock.now() >= before


@pytest.mark.parametrize("limit", EXACT, ids=repr)
def test_r193_every_key_has_its_own_count(limit: Limit, clock: ManualClock) -> None:
    limiter = Limiter(limit, clock=clock)

    assert [drained(limiter, f"user:{number}") for number in range(100)] == [5] * 100


def test_r124_who_may_wait_a_millisecond_is_not_refused(clock: ManualClock) -> None:
    # A thousand a second, none stored: of ten at once nine would be refused, and all fit in 10 ms.
    limiter = Limiter(TokenBucket("1000/s", burst=1), clock=clock)

    waits = [limiter.acquire(timeout=0.01).waited for _ in range(10)]

    assert waits == [0.0] + [0.001] * 9


def test_r195_a_debt_outlives_any_fixed_expiry(clock: ManualClock) -> None:
    limiter = Limiter("1/s", clock=clock)
    limiter.debit(cost=100)

    clock.advance(11.0)

    assert limiter.take().retry_after == 89.0


def test_r197_refused_requests_do_not_lock_the_limiter_up(clock: ManualClock) -> None:
    limiter = Limiter(FixedWindow("5/min"), clock=clock)
    for _ in range(1000):
        limiter.take()

    clock.advance(60.0)

    assert drained(limiter) == 5


def drained(limiter: Limiter, key: str = "") -> int:
    """How many single units can be taken now."""
    given = 0
    while limiter.take(key):
        given += 1
    return given
