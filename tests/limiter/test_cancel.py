"""Whoever gives up a wait gets its units back, and no place is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

import pytest

from headgate import (
    GCRA,
    AsyncLimiter,
    FixedWindow,
    LeakyBucket,
    Limit,
    Limiter,
    ManualClock,
    SlidingLog,
    SlidingWindow,
    TokenBucket,
    WarmUp,
)
from tests.limiter.clocks import FailingClock, FalteringClock

STOPS = 5
METERS = [
    TokenBucket("10/s"),
    TokenBucket("10/s", refill="interval"),
    TokenBucket("10/s", borrow=True),
    GCRA("10/s"),
    LeakyBucket("10/s"),
]
WINDOWS = [
    FixedWindow("10/s"),
    FixedWindow("10/s", anchor="first"),
    SlidingWindow("10/s"),
    SlidingWindow("10/s", oldest="whole"),
    SlidingLog("10/s"),
    WarmUp("10/s", period=1.0),
]
PROBLEMS = [asyncio.CancelledError(), GeneratorExit(), ValueError("x")]


@pytest.mark.parametrize("limit", METERS, ids=repr)
@pytest.mark.parametrize("stop", range(STOPS))
@pytest.mark.parametrize("problem", PROBLEMS, ids=repr)
def test_a_cancel_at_any_await_leaves_nothing_behind(
    limit: Limit, stop: int, problem: BaseException
) -> None:
    limiter = AsyncLimiter(limit, clock=FalteringClock(STOPS))
    spend_all(limiter)
    before = answers(limiter)
    wait = begin(limiter, stop)
    booked = answers(limiter)

    with pytest.raises(type(problem)):
        wait.throw(problem)

    assert booked != before
    assert answers(limiter) == before


@pytest.mark.parametrize("limit", [*METERS, *WINDOWS], ids=repr)
def test_a_cancelled_wait_is_never_given_back_more_than_it_spent(limit: Limit) -> None:
    limiter = AsyncLimiter(limit, clock=FalteringClock(STOPS))
    spend_all(limiter)
    before = answers(limiter)

    begin(limiter, 0).close()

    after = answers(limiter)
    assert [a.retry_after >= b.retry_after for a, b in zip(after, before, strict=True)] == [
        True
    ] * 11


@pytest.mark.parametrize("limit", [*METERS, *WINDOWS], ids=repr)
def test_when_its_moment_has_come_a_cancelled_wait_has_left_no_trace(limit: Limit) -> None:
    clock = FalteringClock(STOPS)
    limiter, untouched = AsyncLimiter(limit, clock=clock), AsyncLimiter(limit, clock=clock)
    for one in (limiter, untouched):
        spend_all(one)
    due = limiter._limiter.peek("a", 3).retry_after
    begin(limiter, 0).close()

    clock.advance(due)

    # But for reset_after: a ring that was turned on does not turn back.
    assert [(bool(one), one.remaining, one.retry_after) for one in answers(limiter)] == [
        (bool(one), one.remaining, one.retry_after) for one in answers(untouched)
    ]


def test_a_wait_thrown_away_at_any_await_leaves_nothing_behind() -> None:
    for stop in range(STOPS):
        limiter = AsyncLimiter("10/s", clock=FalteringClock(STOPS))
        spend_all(limiter)
        before = answers(limiter)

        begin(limiter, stop).close()

        assert answers(limiter) == before


def test_a_wait_closed_before_it_began_spends_nothing() -> None:
    limiter = AsyncLimiter("10/s", clock=FalteringClock(STOPS))
    before = answers(limiter)

    limiter.acquire("a", 3).__await__().close()

    assert answers(limiter) == before


def test_a_wait_that_is_over_stays_paid() -> None:
    limiter = AsyncLimiter("10/s", clock=FalteringClock(STOPS))
    asyncio.run(limiter.take("a", 10))
    wait = limiter.acquire("a", 3).__await__()
    for _ in range(STOPS):
        wait.send(None)
    with pytest.raises(StopIteration) as over:
        wait.send(None)

    assert over.value.value.waited == 0.3
    assert asyncio.run(limiter.take("a")).retry_after == 0.1


def test_a_cancelled_task_gives_back_and_those_behind_it_keep_their_moment(
    clock: ManualClock,
) -> None:
    limiter = AsyncLimiter("10/s", clock=clock)
    waited: dict[str, float] = {}

    async def enter(name: str, cost: int) -> None:
        waited[name] = (await limiter.acquire("a", cost)).waited

    async def main() -> None:
        await limiter.take("a", 10)
        tasks = [asyncio.create_task(enter(name, 5)) for name in ("first", "second")]
        await asyncio.sleep(0)
        tasks[0].cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(outcomes[0], asyncio.CancelledError)

    asyncio.run(main())

    assert waited == {"second": 1.0}


def test_the_last_in_line_gives_everything_back(clock: ManualClock) -> None:
    limiter = AsyncLimiter("10/s", clock=clock)

    async def main() -> tuple[float, float]:
        await limiter.take("a", 10)
        first = asyncio.create_task(limiter.acquire("a", 5).__aenter__())
        last = asyncio.create_task(limiter.acquire("a", 4).__aenter__())
        await asyncio.sleep(0)
        booked = (await limiter.peek("a")).retry_after
        last.cancel()
        await asyncio.gather(last, return_exceptions=True)
        return booked, (await first).waited

    booked, waited = asyncio.run(main())

    assert (booked, waited) == (1.0, 0.5)
    assert asyncio.run(limiter.take("a")).retry_after == pytest.approx(0.1)


def test_a_thousand_waiters_who_all_give_up_leave_a_key_as_it_was(clock: ManualClock) -> None:
    limiter = AsyncLimiter("10/s", clock=clock)

    async def main() -> None:
        await limiter.take("a", 10)
        tasks = [
            asyncio.create_task(limiter.acquire("a", 1 + number % 10).__aenter__())
            for number in range(1000)
        ]
        await asyncio.sleep(0)
        for task in reversed(tasks):
            task.cancel()
        # The loop runs the cancelled in the order they came: each but the last is relied on.
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(main())
    owed = asyncio.run(limiter.peek("a")).retry_after
    clock.advance(owed)

    assert asyncio.run(limiter.take("a"))


@pytest.mark.parametrize("limit", METERS, ids=repr)
@pytest.mark.parametrize("problem", [KeyboardInterrupt(), SystemExit(), OSError("x")], ids=repr)
def test_a_sleep_that_is_interrupted_gives_back(limit: Limit, problem: BaseException) -> None:
    clock = FailingClock(problem)
    limiter, untouched = Limiter(limit, clock=clock), Limiter(limit, clock=clock)
    for one in (limiter, untouched):
        spend_all(one)

    with pytest.raises(type(problem)):
        limiter.acquire("a", 3)

    assert limiter.peek("a", 0) == untouched.peek("a", 0)


@pytest.mark.parametrize("limit", METERS, ids=repr)
def test_a_task_interrupted_by_its_clock_gives_back(limit: Limit) -> None:
    clock = FailingClock(OSError("x"))
    limiter, untouched = AsyncLimiter(limit, clock=clock), AsyncLimiter(limit, clock=clock)
    for one in (limiter, untouched):
        spend_all(one)

    with pytest.raises(OSError, match="x"):
        asyncio.run(limiter.acquire("a", 3).__aenter__())

    assert answers(limiter) == answers(untouched)


def begin(limiter: AsyncLimiter, stop: int) -> Generator[Any, Any, Any]:
    """A wait for three units, gone into and stopped at its suspension number `stop`."""
    wait = limiter.acquire("a", 3).__await__()
    for _ in range(stop + 1):
        wait.send(None)
    return wait


def spend_all(limiter: Any) -> None:
    """Take until a request of three would have to wait."""
    plain = getattr(limiter, "_limiter", limiter)
    while plain.peek("a", 3):
        plain.take("a", 1)


def answers(limiter: AsyncLimiter) -> list[Any]:
    """What the limiter would say to requests of every size, now."""
    return [limiter._limiter.peek("a", cost) for cost in range(11)]
