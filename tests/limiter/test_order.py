"""Waiters go in in the order they asked, whatever they ask for."""

from __future__ import annotations

import asyncio
import threading
from itertools import accumulate

import pytest

from headgate import GCRA, AsyncLimiter, LeakyBucket, Limit, Limiter, ManualClock, TokenBucket
from tests.limiter.clocks import GateClock

COSTS = [1 + number * 7 % 10 for number in range(50)]
DUE = [spent * 100_000 for spent in accumulate(COSTS)]
LIMITS = [TokenBucket("10/s"), GCRA("10/s"), LeakyBucket("10/s")]


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: type(limit).__name__)
def test_fifty_tasks_are_served_in_the_order_they_asked(clock: ManualClock, limit: Limit) -> None:
    limiter = AsyncLimiter(limit, clock=clock)
    served: list[tuple[int, int]] = []

    async def enter(number: int) -> None:
        await limiter.acquire("a", COSTS[number])
        served.append((number, clock.now()))

    async def main() -> None:
        await limiter.take("a", 10)
        await asyncio.gather(*map(enter, range(50)))

    asyncio.run(main())

    assert served == list(enumerate(DUE))


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: type(limit).__name__)
def test_fifty_threads_are_served_in_the_order_they_asked(limit: Limit) -> None:
    clock = GateClock()
    limiter = Limiter(limit, clock=clock)
    limiter.take("a", 10)
    served: list[int] = []

    def enter(number: int) -> None:
        limiter.acquire("a", COSTS[number])
        served.append(number)

    threads = [threading.Thread(target=enter, args=(number,)) for number in range(50)]
    for number, thread in enumerate(threads):
        thread.start()
        clock.wait_for_sleepers(number + 1)
    for number, thread in enumerate(threads):
        clock.set(DUE[number])
        thread.join(30)
        assert served == list(range(number + 1))

    assert clock.asleep_until == DUE


def test_a_small_request_does_not_overtake_a_large_one(clock: ManualClock) -> None:
    limiter = Limiter("10/s", clock=clock)
    limiter.take("a", 9)
    large, small = limiter.reserve("a", 10), limiter.reserve("a", 1)

    assert (large.wait, small.wait) == (0.9, 1.0)


def test_a_take_does_not_overtake_those_who_wait(clock: ManualClock) -> None:
    limiter = Limiter("10/s", clock=clock)
    limiter.take("a", 9)
    limiter.reserve("a", 5)

    assert limiter.take("a", 1).retry_after == 0.5
