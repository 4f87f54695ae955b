"""Guava's limiters, as their users know them: the waits it publishes come out here (R70 to R75)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import Limiter, LimitExceeded, ManualClock, Rate, TokenBucket, WarmUp

SECOND = 1_000_000


def bursty(rate: str, clock: ManualClock) -> Limiter:
    """What `RateLimiter.create` makes: nothing stored, and the next caller pays."""
    return Limiter(TokenBucket(rate, initial=0, borrow=True), clock=clock)


# costs asked one after another, seconds waited for each
PUBLISHED = [
    pytest.param("5/s", [1, 1, 1, 1], [0.0, 0.2, 0.2, 0.2], id="R71 four at five a second"),
    pytest.param("5/s", [10, 1, 1, 1], [0.0, 2.0, 0.2, 0.2], id="R73 ten, and the next one pays"),
    pytest.param(
        "5/s",
        [5, 1, 1, 1, 5, 1],
        [0.0, 1.0, 0.2, 0.2, 0.2, 1.0],
        id="R73 five in the midst of ones",
    ),
    pytest.param("2/s", [1, 1, 1], [0.0, 0.5, 0.5], id="two a second"),
    pytest.param("10/min", [1, 1], [0.0, 6.0], id="less than one a second"),
]


@pytest.mark.parametrize(("rate", "costs", "waits"), PUBLISHED)
def test_the_published_waits_come_out(
    rate: str, costs: list[int], waits: list[float], clock: ManualClock
) -> None:
    limiter = bursty(rate, clock)

    assert [limiter.acquire(cost=cost).waited for cost in costs] == waits


def test_r70_an_idle_second_is_stored_and_no_more(clock: ManualClock) -> None:
    limiter = bursty("5/s", clock)
    limiter.acquire()

    clock.advance(100.0)

    # Five are stored, one may be borrowed, then they come one at a time.
    assert [limiter.acquire().waited for _ in range(8)] == [0, 0, 0, 0, 0, 0, 0.2, 0.2]


def test_r70_half_an_idle_second_stores_half(clock: ManualClock) -> None:
    limiter = bursty("4/s", clock)
    limiter.acquire()

    clock.advance(0.75)

    assert [limiter.acquire().waited for _ in range(5)] == [0, 0, 0, 0.25, 0.25]


def test_r72_without_patience_nothing_is_waited_for_and_nothing_spent(clock: ManualClock) -> None:
    limiter = bursty("5/s", clock)
    limiter.acquire()

    with pytest.raises(LimitExceeded) as refused:
        limiter.acquire(timeout=0)

    assert (refused.value.retry_after, clock.now(), limiter.acquire().waited) == (0.2, 0, 0.2)


def test_r72_patience_that_is_too_short_is_known_at_once(clock: ManualClock) -> None:
    limiter = bursty("5/s", clock)
    limiter.acquire(cost=10)

    with pytest.raises(LimitExceeded) as refused:
        limiter.acquire(timeout=1.999999)

    assert (refused.value.retry_after, clock.now()) == (2.0, 0)


def test_r72_patience_that_just_suffices_goes_in(clock: ManualClock) -> None:
    limiter = bursty("5/s", clock)
    limiter.acquire(cost=10)

    assert limiter.acquire(timeout=2.0).waited == 2.0


def test_r75_a_new_key_starts_empty_with_one_free_call(clock: ManualClock) -> None:
    limiter = bursty("1/s", clock)

    assert [limiter.acquire("new").waited for _ in range(3)] == [0.0, 1.0, 1.0]


def test_r195_a_debt_is_not_forgotten_after_ten_seconds(clock: ManualClock) -> None:
    limiter = bursty("1/s", clock)
    limiter.acquire(cost=100)

    clock.advance(11.0)

    assert limiter.peek().retry_after == 89.0


def test_r74_warming_up_two_a_second_over_three_seconds(clock: ManualClock) -> None:
    limiter = Limiter(WarmUp("2/s", period=3), clock=clock)

    waits = [round(limiter.acquire().waited, 2) for _ in range(8)]

    assert waits == [0.0, 1.33, 1.0, 0.67, 0.5, 0.5, 0.5, 0.5]


def test_r74_the_way_from_cold_to_warm_takes_the_warm_up_period(clock: ManualClock) -> None:
    limiter = Limiter(WarmUp("2/s", period=3), clock=clock)

    waits = [limiter.acquire().waited for _ in range(4)]

    assert sum(waits) == pytest.approx(3.0, abs=2e-6)


def test_r74_it_grows_cold_again_in_as_long(clock: ManualClock) -> None:
    limiter = Limiter(WarmUp("2/s", period=3), clock=clock)
    for _ in range(20):
        limiter.acquire()

    # What the last one owes takes half a second to pay, then three to grow cold.
    clock.advance(3.5)

    assert [round(limiter.acquire().waited, 2) for _ in range(5)] == [0.0, 1.33, 1.0, 0.67, 0.5]


class Trapezoid:
    """Guava's formula as it is published, in floats and seconds, with cold three times as slow."""

    def __init__(self, rate: Rate, period: float) -> None:
        self.stable = rate.seconds / rate.count
        cold = 3 * self.stable
        self.threshold = 0.5 * period / self.stable
        self.most = self.threshold + 2 * period / (self.stable + cold)
        self.slope = (cold - self.stable) / (self.most - self.threshold)
        self.refill = period / self.most
        self.stored = self.most
        self.free = 0.0

    def acquire(self, now: float, permits: int) -> float:
        """Seconds to wait at `now`."""
        if now > self.free:
            self.stored = min(self.most, self.stored + (now - self.free) / self.refill)
            self.free = now
        wait = self.free - now
        spent = min(permits, self.stored)
        self.free += self.area(spent) + (permits - spent) * self.stable
        self.stored -= spent
        return wait

    def area(self, permits: float) -> float:
        """How long it takes to pay for permits from the store."""
        above = self.stored - self.threshold
        if above <= 0:
            return permits * self.stable
        taken = min(above, permits)
        slowest, fastest = (self.stable + p * self.slope for p in (above, above - taken))
        return taken * (slowest + fastest) / 2 + (permits - taken) * self.stable


@given(
    count=st.integers(1, 50),
    rate_period=st.sampled_from((SECOND, 60 * SECOND, 700_000)),
    period=st.sampled_from((0.5, 1.0, 3.0, 10.0)),
    asks=st.lists(st.tuples(st.integers(0, 5 * SECOND), st.integers(1, 20)), max_size=40),
)
def test_r74_warm_up_waits_are_those_of_the_published_formula(
    count: int, rate_period: int, period: float, asks: list[tuple[int, int]]
) -> None:
    rate = Rate.of(count, rate_period)
    clock = ManualClock()
    limiter, model = Limiter(WarmUp(rate, period=period), clock=clock), Trapezoid(rate, period)

    for number, (gap, cost) in enumerate(asks, start=1):
        clock.advance(gap / SECOND)
        expected = model.acquire(clock.now() / SECOND, cost)
        # Two microseconds for each step: ours rounds waits up, and areas to a grain.
        assert limiter.acquire(cost=cost).waited == pytest.approx(expected, abs=2e-6 * number)
