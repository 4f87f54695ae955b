"""What a process of `test_exact` does on a limit, and what it is told there."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from headgate import Limit
from tests.stores.redis.callers import Caller

TASKS = 25


class Answer(NamedTuple):
    """What somebody was told about a key."""

    key: str
    allowed: bool
    remaining: int


def visit(way: str, colour: str, limits: tuple[Limit, ...], keys: list[str]) -> list[Answer]:
    """Take each key in turn, as somebody who has just come; in many tasks where there may be."""
    with Caller(way, colour) as caller:
        limiter = caller.limiter(*limits, name="exact")
        if colour == "async":
            told: list[Answer] = caller.run(crowd, limiter.thing, keys)
            return told
        return [seen(limiter, key) for key in keys]


async def crowd(limiter: Any, keys: list[str]) -> list[Answer]:
    """Take the keys in so many tasks that share them."""

    async def task(mine: list[str]) -> list[Answer]:
        told = [(key, await limiter.take(key)) for key in mine]
        return [Answer(key, one.allowed, one.remaining) for key, one in told]

    shares = [task(keys[number::TASKS]) for number in range(TASKS)]
    return [answer for told in await asyncio.gather(*shares) for answer in told]


def seen(limiter: Any, key: str) -> Answer:
    decision = limiter.take(key)
    return Answer(key, decision.allowed, decision.remaining)
