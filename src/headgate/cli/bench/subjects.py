"""Subjects: what is measured, each as a batch that can be repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count, repeat
from random import Random
from typing import Any, NamedTuple

from headgate.async_limiter import AsyncLimiter
from headgate.cli.bench.stopwatch import (
    HOT,
    Batch,
    batch_on_one_key,
    batch_size,
    crowd,
    timed,
    timed_awaited,
)
from headgate.decision import Decision
from headgate.limiter import Limiter

LOOP = "an empty loop"
CALL = "an empty call"
CLOCK = "a clock read"
TASKS = 64
# How many of many keys are asked about in one batch.
CHUNK = 2_000
# So many units a minute are let in, whatever happens; and so few an hour that all else is refused.
AMPLE, SPENT = "1000000000/min", "1/hour"


class Plan(NamedTuple):
    """What to measure: `limits` are the user's own, if there are any."""

    store: Any
    awaited: Any
    name: str
    limits: tuple[Any, ...]
    keys: int
    threads: int

    def limiter(self, *limits: Any, name: str = "") -> Limiter:
        """A limiter on the store that is measured; one that cannot be asked is an error."""
        name = f"{self.name}{name}"
        return Limiter(*limits, store=self.store, name=name, when_unavailable="raise")


class Nothing:
    """Somebody who is called, and does nothing."""

    def take(self, key: str) -> None:
        """Take nothing."""


def idle(keys: Iterable[str]) -> None:
    """The loop alone."""
    for _ in keys:
        pass


def ask(keys: Iterable[str], limiter: Any) -> None:
    """A decision for each key."""
    for key in keys:
        limiter.take(key)


async def wait(keys: Iterable[str], limiter: AsyncLimiter) -> None:
    """A decision for each key, awaited one after another."""
    for key in keys:
        await limiter.take(key)


async def gather(keys: Iterable[str], limiter: AsyncLimiter) -> None:
    """A decision for each key, which as many tasks share among them."""
    shared = iter(keys)
    await asyncio.gather(*(wait(shared, limiter) for _ in range(TASKS)))


def floors() -> Iterator[tuple[str, Batch]]:
    """What nobody can save."""
    yield LOOP, batch_on_one_key(idle)
    yield CALL, batch_on_one_key(partial(ask, limiter=Nothing()))


def decisions(plan: Plan) -> Iterator[tuple[str, Batch]]:
    """What a decision costs, in threads."""
    limiter = plan.limiter(*(plan.limits or (AMPLE,)))
    run = partial(ask, limiter=limiter)
    yield "take" if plan.limits else "take, let in", batch_on_one_key(run)
    if not plan.limits:
        spent = plan.limiter(SPENT, name="-spent")
        spent.take(HOT)
        yield "take, refused", batch_on_one_key(partial(ask, limiter=spent))
    if plan.keys > 1:
        yield f"take, one of {plan.keys:,} keys", scattered(limiter, plan.keys)
    if plan.threads > 1:
        size = batch_size(lambda keys: timed(run, keys, 1))
        yield f"take, {plan.threads} threads at once", lambda: crowd(run, size, plan.threads)


def scattered(limiter: Limiter, number: int) -> Batch:
    """Batches over many keys, in no order; all of them are known before."""
    keys = [f"user:{place}" for place in range(1, number + 1)]
    Random(number).shuffle(keys)  # noqa: S311 - nothing secret
    limiter.take_many(keys)
    run = partial(ask, limiter=limiter)
    size = min(CHUNK, number, batch_size(lambda keys: timed(run, keys, 1)))
    starts = (turn * size % number for turn in count())

    def batch() -> Any:
        start = next(starts)
        chunk = keys[start : start + size]
        return timed(run, chunk, len(chunk))

    return batch


def awaited(plan: Plan, runner: asyncio.Runner) -> Iterator[tuple[str, Batch]]:
    """What a decision costs in an event loop, one after another and many at once."""
    limits = plan.limits or (AMPLE,)
    limiter = AsyncLimiter(*limits, store=plan.awaited, name=plan.name, when_unavailable="raise")
    for name, way in ((f"take, awaited by {TASKS} tasks", gather), ("take, awaited", wait)):
        run: Any = partial(way, limiter=limiter)
        size = batch_size(partial(once, runner, run))
        # What it takes to make the tasks must not show.
        size = max(TASKS * 16, size) if way is gather else size
        yield name, partial(again, runner, run, size)


def again(runner: asyncio.Runner, run: Any, size: int) -> Any:
    """One batch on the hot key."""
    return once(runner, run, repeat(HOT, size), size)


def once(runner: asyncio.Runner, run: Any, keys: Iterable[str], calls: int = 1) -> Any:
    """One batch inside the event loop."""
    return runner.run(timed_awaited(run, keys, calls))


def share(plan: Plan, asked: int = 1000) -> float:
    """How many of the user's own limits let in, asked about one key without a pause."""
    limiter = plan.limiter(*plan.limits, name="-share")
    found: list[Decision] = [limiter.take(HOT) for _ in range(asked)]
    return sum(map(bool, found)) / asked
