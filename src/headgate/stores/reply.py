"""Reply: what stands in for a future where nobody awaits; and work that nobody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

RUNNING: set[asyncio.Future[Any]] = set()


class Reply:
    """Is told as a future is, and tells `arrive`: a decision, or the exception that there was.

    `ledger` sees to what follows from it for the store.
    """

    __slots__ = ("_arrive", "_cost", "_key", "_ledger", "_now", "_over")

    def __init__(
        self, ledger: Any, key: str, cost: int, now: int, arrive: Callable[[Any], Any]
    ) -> None:
        self._ledger = ledger
        self._key = key
        self._cost = cost
        self._now = now
        self._arrive = arrive
        self._over = False

    def done(self) -> bool:
        """Whether it was told."""
        return self._over

    def set_result(self, answer: Any) -> None:
        """The store has answered."""
        self._over = True
        self._ledger.thrive(self._now)
        self._arrive(answer)

    def set_exception(self, problem: Exception) -> None:
        """The store has not."""
        self._over = True
        self._arrive(self._ledger.endure(problem, self._key, self._cost, self._now))

    def exception(self) -> None:
        """Nothing: whoever was told has dealt with it."""


def later(work: Any) -> None:
    """Have it done beside the caller, and keep it until it is."""
    task = asyncio.ensure_future(work)
    RUNNING.add(task)
    task.add_done_callback(RUNNING.discard)
