"""acquire waits exactly as long as it must, and says no at once where waiting would not help."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from typing import Any

import pytest

from headgate import (
    GCRA,
    AsyncLimiter,
    CannotFit,
    Decision,
    LeakyBucket,
    Limiter,
    LimitExceeded,
    ManualClock,
    SlidingLog,
    TokenBucket,
)

Make = Callable[..., Any]

ALIKE = [TokenBucket("10/s"), GCRA("10/s"), LeakyBucket("10/s"), SlidingLog("10/s")]


def test_there_is_no_wait_while_there_is_room(make: Make, clock: ManualClock) -> None:
    limiter = make("10/s")

    assert [limiter.acquire("a", 5).waited, limiter.acquire("a", 5).waited, clock.now()] == [
        0,
        0,
        0,
    ]


def test_a_wait_is_exact_and_moves_the_clock_by_just_that(make: Make, clock: ManualClock) -> None:
    limiter = make("10/s")
    limiter.take("a", 10)

    permit = limiter.acquire("a", 3)

    assert (permit.waited, clock.now()) == (0.3, 300_000)


@pytest.mark.parametrize("rate", ["3/s", "7/s", "1000/min", "1000000/day"])
def test_an_uneven_rate_is_waited_for_to_the_microsecond(clock: ManualClock, rate: str) -> None:
    limiter = Limiter(TokenBucket(rate, burst=1), clock=clock)
    limiter.take()
    before = clock.now()
    waited = [limiter.acquire().waited for _ in range(100)]
    count, period = limiter.limits[0].rate.count, limiter.limits[0].rate.period

    assert sum(round(wait * 1e6) for wait in waited) == clock.now() - before
    assert clock.now() == -(-100 * period // count)


def test_a_permit_carries_its_decision(make: Make) -> None:
    limiter = make("10/s")
    limiter.take("a", 10)

    assert limiter.acquire("a", 3).decision == Decision(True, 10, 0, 0.3, 1.3, "10/s")


def test_a_timeout_just_long_enough_is_waited_for(make: Make) -> None:
    limiter = make("10/s")
    limiter.take("a", 10)

    assert limiter.acquire("a", 3, timeout=0.3).waited == 0.3


@pytest.mark.parametrize("limit", ALIKE, ids=lambda limit: type(limit).__name__)
@pytest.mark.parametrize("bound", [{"timeout": 0.299999}, {"deadline": 100.299999}, {"timeout": 0}])
def test_a_wait_that_cannot_be_in_time_is_refused_at_once_and_spends_nothing(
    limit: Any, bound: dict[str, float]
) -> None:
    clock = ManualClock(100.0)
    limiter = Limiter(limit, clock=clock)
    for cost in (3, 7):
        limiter.take("a", cost)
        clock.advance(0.0)
    clock.set(100.0)
    before = limiter.table.read("a")
    wait = limiter.peek("a", 3).retry_after

    with pytest.raises(LimitExceeded) as caught:
        limiter.acquire("a", 3, **bound)

    assert caught.value.retry_after == wait >= 0.3
    assert (limiter.table.read("a"), clock.now()) == (before, 100_000_000)


def test_a_refusal_names_the_limit_and_the_wait_but_not_the_key(make: Make) -> None:
    limiter = make("10/s")
    limiter.take("secret", 10)

    with pytest.raises(LimitExceeded) as caught:
        limiter.acquire("secret", 3, timeout=0.1)

    assert str(caught.value) == "over the limit 10/s; try again in 0.300 s"
    assert caught.value.key == "secret"
    assert caught.value.decision == Decision(False, 10, 0, 0.3, 1.0, "10/s")


@pytest.mark.parametrize("bound", [{}, {"timeout": 0.0}, {"timeout": 1e9}, {"deadline": 1e9}])
def test_what_can_never_fit_is_said_at_once(
    make: Make, clock: ManualClock, bound: dict[str, float]
) -> None:
    limiter = make("10/s")
    limiter.take("a", 4)

    with pytest.raises(CannotFit) as caught:
        limiter.acquire("a", 11, **bound)

    assert str(caught.value) == "can never fit the limit 10/s; ask for at most 10"
    assert caught.value.decision == Decision(False, 10, 6, inf, 0.4, "10/s")
    assert (clock.now(), limiter.peek("a").remaining) == (0, 6)


def test_a_limit_of_zero_lets_nobody_in(make: Make) -> None:
    with pytest.raises(CannotFit) as caught:
        make("0/s").acquire("a")

    assert str(caught.value) == "can never fit the limit 0/s; it lets nothing in"


def test_the_earlier_of_timeout_and_deadline_counts(make: Make, clock: ManualClock) -> None:
    clock.set(50.0)
    limiter = make("10/s")
    limiter.take("a", 10)
    with pytest.raises(LimitExceeded):
        limiter.acquire("a", 3, timeout=0.2, deadline=60.0)
    with pytest.raises(LimitExceeded):
        limiter.acquire("a", 3, timeout=10.0, deadline=50.2)

    assert limiter.acquire("a", 3, timeout=0.3, deadline=50.3).waited == 0.3


def test_a_deadline_of_this_very_moment_is_met_where_there_is_room(
    make: Make, clock: ManualClock
) -> None:
    clock.set(50.0)

    assert make("10/s").acquire("a", deadline=50.0).waited == 0.0


def test_who_waits_for_several_limits_waits_for_the_slowest(make: Make, clock: ManualClock) -> None:
    limiter = make(TokenBucket("10/s", burst=2), TokenBucket("1/s", burst=4))
    waited = [limiter.acquire("a", 2).waited for _ in range(4)]

    assert waited == [0.0, 0.2, 1.8, 2.0]


def test_acquiring_nothing_never_waits(make: Make) -> None:
    limiter = make("10/s")
    limiter.take("a", 10)

    assert limiter.acquire("a", 0).waited == 0.0


def test_a_permit_is_a_context(clock: ManualClock) -> None:
    limiter = Limiter("10/s", clock=clock)
    limiter.take("a", 10)

    with limiter.acquire("a") as permit:
        assert permit.waited == 0.1


def test_what_goes_wrong_inside_passes_through_and_stays_paid(clock: ManualClock) -> None:
    limiter = Limiter("10/s", clock=clock)
    with pytest.raises(KeyError), limiter.acquire("a"):
        raise KeyError("inside")

    assert limiter.peek("a").remaining == 9


def test_an_async_permit_is_awaited_or_entered(clock: ManualClock) -> None:
    limiter = AsyncLimiter("10/s", clock=clock)

    async def main() -> list[float]:
        await limiter.take("a", 10)
        first = await limiter.acquire("a")
        async with limiter.acquire("a", 2) as second:
            return [first.waited, second.waited]

    assert asyncio.run(main()) == [0.1, 0.2]


def test_what_goes_wrong_inside_an_async_permit_passes_through(clock: ManualClock) -> None:
    limiter = AsyncLimiter("10/s", clock=clock)

    async def main() -> None:
        async with limiter.acquire("a"):
            raise KeyError("inside")

    with pytest.raises(KeyError):
        asyncio.run(main())


def test_an_async_wait_that_nobody_begins_spends_nothing(clock: ManualClock) -> None:
    limiter = AsyncLimiter("10/s", clock=clock)
    limiter.acquire("a", 10)

    assert asyncio.run(limiter.peek("a")).remaining == 10


def test_an_async_wait_may_be_begun_again_and_pays_each_time(clock: ManualClock) -> None:
    limiter = AsyncLimiter("10/s", clock=clock)
    entry = limiter.acquire("a", 10)

    async def main() -> list[float]:
        async with entry as first:
            pass
        second = await entry
        async with entry as third:
            return [first.waited, second.waited, third.waited]

    assert asyncio.run(main()) == [0.0, 1.0, 1.0]


def test_two_tasks_wait_side_by_side_under_one_clock(clock: ManualClock) -> None:
    limiter = AsyncLimiter(TokenBucket("10/s", burst=1), clock=clock)

    async def enter(key: str) -> list[float]:
        return [(await limiter.acquire(key)).waited for _ in range(4)]

    async def main() -> list[list[float]]:
        return await asyncio.gather(enter("a"), enter("b"))

    assert asyncio.run(main()) == [[0.0, 0.1, 0.1, 0.1]] * 2
    assert clock.now() == 300_000
