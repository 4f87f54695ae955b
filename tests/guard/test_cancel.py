"""A task cancelled at any moment leaves no place and no probe behind, and nothing falls back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from headgate import AsyncLimiter, Breaker, Bulkhead, Limiter, ManualClock, guard
from tests.guard.test_guard import half_open

# So many turns of the loop, and the call is over.
TURNS = 40


class Play:
    """A guarded call that waits for a token, then for a place, then works, for some turns each."""

    def __init__(self, kind: Any, timeout: float) -> None:
        self.clock = ManualClock()
        self.limiter = kind("2/s", clock=self.clock)
        self.bulkhead = Bulkhead(1, clock=self.clock)
        self.breaker = Breaker(calls=2, clock=self.clock)
        self.where = "limiter"
        self.answered = 0
        half_open(self.breaker, self.clock)
        given: dict[str, Any] = {"limiter": self.limiter, "bulkhead": self.bulkhead}
        self.call = guard(
            **given,
            breaker=self.breaker,
            timeout=timeout,
            patience=5.0,
            fallback=self.cached,
            key="{user}",
        )(self.work)

    async def work(self, user: str) -> str:
        self.where = "function"
        for _ in range(5):
            await asyncio.sleep(0)
        self.where = "over"
        return user

    def cached(self, user: str) -> str:
        self.answered += 1
        return "cached"

    async def other(self) -> None:
        """Somebody who has the place when the token comes, and leaves a little later."""
        async with self.bulkhead.hold(""):
            await self.clock.asleep(0.6)


async def cancelled(play: Play, turns: int) -> tuple[str, Any]:
    """Where the call was when it was cancelled after so many turns, and what came of it."""
    await play.clock.asleep(0)
    getattr(play.limiter, "_limiter", play.limiter).debit("", 2)
    holder = asyncio.create_task(play.other())
    await asyncio.sleep(0)
    task = asyncio.create_task(play.call(""))
    for _ in range(turns):
        await asyncio.sleep(0)
    where = "bulkhead" if play.bulkhead.waiting() else play.where
    task.cancel()
    (outcome,) = await asyncio.gather(task, return_exceptions=True)
    await holder
    return where, outcome


@pytest.mark.parametrize("kind", [Limiter, AsyncLimiter])
@pytest.mark.parametrize("timeout", [60.0, float("inf")])
def test_a_task_cancelled_at_any_await_leaves_nothing_behind(kind: Any, timeout: float) -> None:
    seen = set()
    for turns in range(TURNS):
        play = Play(kind, timeout)

        where, outcome = asyncio.run(cancelled(play, turns))

        seen.add(where)
        assert isinstance(outcome, asyncio.CancelledError) == (where != "over"), (turns, outcome)
        assert (play.bulkhead.inside(), play.bulkhead.waiting(), play.answered) == (0, 0, 0)
        # The probe is back: there is only one, and it is to be had without waiting for it.
        assert (play.breaker.state() == "closed") == (where == "over"), turns
        assert asyncio.run(play.call("")) == ""
        assert play.breaker.state() == "closed"

    assert seen == {"limiter", "bulkhead", "function", "over"}


def test_a_timeout_is_not_a_cancellation_and_a_cancellation_is_no_timeout() -> None:
    breaker = Breaker(calls=100)
    forever = forever_with(breaker, timeout=0.01)

    async def main() -> tuple[str, bool]:
        late = await forever()
        task = asyncio.create_task(forever_with(breaker, timeout=60)())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return late, task.cancelled()

    assert asyncio.run(main()) == ("TimeoutError", True)
    assert breaker.totals() == (0, 0, 1, 0, 0)


def test_a_call_that_raises_while_it_is_cancelled_raises_that() -> None:
    @guard(timeout=0.01, fallback=lambda *, problem: repr(problem))
    async def stubborn() -> str:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            raise ValueError("while cleaning up")

    assert asyncio.run(stubborn()) == "ValueError('while cleaning up')"


def test_a_cancelled_fallback_is_cancelled() -> None:
    @guard(fallback=forever_with(Breaker(), timeout=60))
    async def fail() -> str:
        raise ValueError

    async def main() -> bool:
        task = asyncio.create_task(fail())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return task.cancelled()

    assert asyncio.run(main())


def forever_with(breaker: Breaker, timeout: float) -> Callable[[], Any]:
    """A call that ends only when it is cancelled."""

    @guard(breaker=breaker, timeout=timeout, fallback=lambda *, problem: type(problem).__name__)
    async def forever() -> str:
        await asyncio.get_running_loop().create_future()
        return "never"

    return forever
