"""Courier: waits for the answer to one question of an exchange.

A task does the same and more: it begins in the next turn of the loop, and takes two more to end.
What is asked here is a rule that counts on a server, for every request, and waits for one future.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any

from headgate.wire.exchange import Exchange


class Courier:
    """Goes for an answer, and brings it, or the exception it met, to `arrive(exchange, answer)`."""

    __slots__ = ("_arrive", "_exchange", "_waited", "_way")

    def __init__(self, exchange: Exchange, question: Awaitable[Any], arrive: Callable[..., Any]):
        self._exchange: Exchange | None = exchange
        self._arrive = arrive
        self._way: Generator[Any, Any, Any] = question.__await__()
        self._waited: Any = None

    def step(self, waited: Any = None) -> None:
        """Go as far as one gets without waiting."""
        exchange = self._exchange
        try:
            # What was waited for knows its own outcome.
            self._waited = self._way.send(None)
        except StopIteration as end:
            if exchange is not None:
                self._arrive(exchange, end.value)
            return
        except BaseException as problem:
            if exchange is not None:
                self._arrive(exchange, problem)
            if not isinstance(problem, Exception) and exchange is not None:
                raise
            return
        # As a task does it, by which a future knows that it is awaited and not yielded by mistake.
        self._waited._asyncio_future_blocking = False
        self._waited.add_done_callback(self.step)

    def cancel(self) -> None:
        """Nobody wants the answer any more."""
        self._exchange = None
        if self._waited is not None:
            self._waited.cancel()
