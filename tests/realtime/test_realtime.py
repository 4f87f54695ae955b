"""On the machine's own clock: waits end in time, and small ones are paced."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from headgate import AsyncLimiter, Limiter, LimitExceeded, TokenBucket

pytestmark = pytest.mark.realtime

LATE = 0.02


def timed(work: Callable[[], Any]) -> float:
    """How many seconds `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def test_a_wait_ends_when_it_said_and_hardly_later() -> None:
    limiter = Limiter(TokenBucket("10/s", burst=1))
    limiter.take()

    assert 0.09 < timed(lambda: limiter.acquire(timeout=0.15)) < 0.1 + LATE


def test_an_async_wait_ends_when_it_said_and_hardly_later() -> None:
    limiter = AsyncLimiter(TokenBucket("10/s", burst=1))

    async def main() -> None:
        await limiter.take()
        await limiter.acquire(timeout=0.15)

    assert 0.09 < timed(lambda: asyncio.run(main())) < 0.1 + 2 * LATE


def test_a_wait_that_cannot_be_in_time_is_not_begun() -> None:
    limiter = Limiter(TokenBucket("1/s", burst=1))
    limiter.take()

    def refused() -> None:
        with pytest.raises(LimitExceeded):
            limiter.acquire(timeout=0.9)

    assert timed(refused) < LATE


def test_waits_below_a_millisecond_are_paced() -> None:
    limiter = Limiter(TokenBucket("2000/s", burst=1))
    limiter.take()

    spent = timed(lambda: [limiter.acquire() for _ in range(200)])

    assert 0.0995 < spent < 0.3


def test_who_sleeps_retry_after_is_let_in() -> None:
    limiter = Limiter(TokenBucket("200/s", burst=1))
    limiter.take()
    admitted = []
    for _ in range(20):
        time.sleep(limiter.peek().retry_after)
        admitted.append(bool(limiter.take()))

    assert admitted == [True] * 20


def test_tasks_wait_side_by_side() -> None:
    limiter = AsyncLimiter(TokenBucket("20/s", burst=1))

    async def enter(key: str) -> None:
        await limiter.acquire(key)
        await limiter.acquire(key)

    async def main() -> None:
        await asyncio.gather(*(enter(str(number)) for number in range(100)))

    assert 0.049 < timed(lambda: asyncio.run(main())) < 0.05 + 10 * LATE
