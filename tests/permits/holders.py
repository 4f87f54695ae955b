"""Holders: permits of either colour, whose verbs are run to their end where they are called."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from headgate.permits.redis.async_permits import AsyncRedisPermits
from headgate.permits.redis.permits import RedisPermits

COLOURS = ["sync", "async"]
# Seconds: what is tried here is right or wrong, and a busy machine is neither.
BUDGET = 10.0


class Holder:
    """Permits as one process has them. `ttl` is 8 seconds, and `crash` ends it as SIGKILL would."""

    def __init__(self, server: Any, limit: int, colour: str = "sync", **options: Any) -> None:
        options = {"budget": BUDGET, "ttl": 8.0, **options}
        self.runner = asyncio.Runner() if colour == "async" else None
        self.permits: Any = (AsyncRedisPermits if self.runner else RedisPermits)(
            server, limit, **options
        )

    def __enter__(self) -> Holder:
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self.permits.close)
        if self.runner is not None:
            self.runner.close()

    def enter(self, key: str = "k") -> Any:
        return self.run(self.permits.enter, key)

    def leave(self, ticket: Any, key: str = "k") -> bool:
        left: bool = self.run(self.permits.leave, key, ticket)
        return left

    def inside(self, key: str = "k") -> int:
        count: int = self.run(self.permits.inside, key)
        return count

    def fill(self, key: str = "k") -> list[Any]:
        """Enter until there is no place left."""
        tickets: list[Any] = []
        while (ticket := self.enter(key)) is not None:
            tickets.append(ticket)
        return tickets

    def renew(self) -> None:
        self.permits.renew()

    @property
    def zombies(self) -> int:
        count: int = self.permits.zombies
        return count

    def crash(self) -> None:
        """Forget everything without a word to anybody."""
        self.permits._book.empty()

    def run(self, call: Callable[..., Any], *said: Any) -> Any:
        if self.runner is None:
            return call(*said)

        async def wait() -> Any:
            answer = call(*said)
            return await answer if inspect.isawaitable(answer) else answer

        return self.runner.run(wait())
