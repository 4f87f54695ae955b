"""A teller at a store of each kind, with a clock that is moved by hand, asked as services ask."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from contextlib import suppress
from inspect import isawaitable
from typing import Any

from headgate import Decision, ManualClock
from headgate.rules import AsyncGatekeeper, Rule, Rules
from headgate.service.teller import Teller
from headgate.stores.shared.store import SharedStore

SECRET = "a secret that all workers of a test share"
BEGIN = 1_000_000.0


class Counter:
    """Asks a teller, and waits for what it answers where that has to be."""

    def __init__(self, rules: list[Rule], store: str, clock: ManualClock, **more: Any) -> None:
        self.keeper = AsyncGatekeeper(Rules(rules, **more), store, clock)
        self.teller: Any = Teller(self.keeper, SECRET)
        self.clock = clock

    async def ask(self, verb: str, *said: Any, **named: Any) -> Any:
        """What a verb of the teller answers."""
        answer = getattr(self.teller, verb)(*said, **named)
        return await answer if isawaitable(answer) else answer

    async def take(self, *said: Any, **named: Any) -> Decision:
        """What `take` answers."""
        found: Decision = await self.ask("take", *said, **named)
        return found

    async def __aenter__(self) -> Counter:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.teller.close()
        await self.keeper.close()


class Town:
    """Stores of one kind at `url`, and counters there."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.clock = ManualClock(BEGIN)

    def open(self, *rules: Rule, **more: Any) -> Counter:
        """A counter; those of one town share what is counted unless it is in memory."""
        return Counter([*rules], self.url, self.clock, **more)

    def play(self, scene: Callable[[Town], Coroutine[Any, Any, None]]) -> None:
        """Have a scene played in a loop."""
        asyncio.run(scene(self))


def shared() -> str:
    """A store in shared memory that nobody else has."""
    return f"shared://teller-{uuid.uuid4().hex[:12]}"


def remove(url: str) -> None:
    """Have its files gone."""
    if url.startswith("shared:"):
        with suppress(OSError):
            SharedStore(url.partition("://")[2]).remove()
