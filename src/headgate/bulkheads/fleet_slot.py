"""FleetSlot: a place among those that several processes share, in either colour.

Those of one process who want a place stand in line, and only the first of them asks the store, now
and then, until there is one: order is kept within a process, and a crowd asks no more often than
one would. Between processes chance decides.
"""

from __future__ import annotations

import _thread
import logging
import random
from collections.abc import Generator
from inspect import iscoroutinefunction
from typing import Any, NamedTuple

from headgate.drive import Flow, adrive, drive
from headgate.errors import BulkheadFull
from headgate.wrapper import title

logger = logging.getLogger("headgate")

OUTSIDE, HELD, OVER = range(3)
# The first pause before the store is asked again, and the longest, in seconds.
SHORTEST, LONGEST = 0.001, 0.05


class Stand(NamedTuple):
    """Be the first in line."""

    place: Any


class Ask(NamedTuple):
    """Ask the store for a place; answered by a ticket or None."""

    key: str


class Sleep(NamedTuple):
    """Let `seconds` pass."""

    seconds: float


class FleetSlot:
    """A place for one: `with bulkhead.hold() as slot`; true while it is held."""

    __slots__ = ("_bulkhead", "_key", "_patience", "_priority", "_state", "_ticket", "_waited")

    def __init__(self, bulkhead: Any, key: str, patience: int, priority: float) -> None:
        self._bulkhead = bulkhead
        self._key = key
        self._patience = patience
        self._priority = priority
        self._ticket: Any = None
        self._waited = 0
        self._state = OUTSIDE

    @property
    def waited(self) -> float:
        """How many seconds one waited for it."""
        return self._waited / 1e6

    def success(self) -> None:
        """Give the place back: the call went as it should."""
        self.end()

    def ignore(self) -> None:
        """Give the place back: the call says nothing."""
        self.end()

    def dropped(self) -> None:
        """Give the place back: the call took too long, or was turned away further on."""
        self.end()

    def begin(self) -> int:
        """Go in at once, if one can; 1 if so."""
        try:
            drive(self._enter(), self._perform)
        except BulkheadFull:
            return 0
        return 1

    def end(self) -> None:
        """Give the place back, once; later calls change nothing."""
        if self._state == HELD:
            self._state = OVER
            permits = self._bulkhead.permits
            give = permits.drop if permits.awaited else permits.leave
            give(self._key, self._ticket)

    def __enter__(self) -> FleetSlot:
        if self._state != HELD:
            drive(self._enter(), self._perform)
        return self

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        self.end()

    async def __aenter__(self) -> FleetSlot:
        if halting(self._bulkhead.permits):
            raise TypeError("a Bulkhead on a server is entered by `with`; use AsyncBulkhead")
        if self._state != HELD:
            await adrive(self._enter(), self._aperform)
        return self

    async def __aexit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if self._state == HELD and self._bulkhead.permits.awaited:
            self._state = OVER
            await self._bulkhead.permits.leave(self._key, self._ticket)
        self.end()

    def __await__(self) -> Generator[Any, None, FleetSlot]:
        return self.__aenter__().__await__()

    def __bool__(self) -> bool:
        return self._state == HELD

    def __del__(self) -> None:
        # As a local slot that was lost: a thread of its own gives it back.
        if self._state == HELD:
            _thread.start_new_thread(recover, (self._bulkhead.permits, self._key, self._ticket))

    def _enter(self) -> Flow[None]:
        if self._state != OUTSIDE:
            raise RuntimeError("a slot is entered once; hold another")
        bulkhead = self._bulkhead
        begun = bulkhead.time()
        # Where nobody waits, all may ask at once; else whoever waits goes first.
        if bulkhead.waiting(self._key) == 0 and (yield from self._ask()):
            return
        if self._patience == 0:
            raise BulkheadFull(bulkhead.name, bulkhead.limit, "full")
        if bulkhead.queue == 0:
            raise BulkheadFull(bulkhead.name, bulkhead.limit, "queue")
        timeout = self._patience / 1e6
        try:
            first = yield Stand(bulkhead.gate.hold(self._key, timeout, self._priority))
        except BulkheadFull as full:
            raise BulkheadFull(bulkhead.name, bulkhead.limit, full.reason) from None
        try:
            yield from self._insist(begun)
        finally:
            first.ignore()
        self._waited = bulkhead.time() - begun

    def _insist(self, begun: int) -> Flow[None]:
        # Ask now and then, until there is a place or the time is up.
        bulkhead = self._bulkhead
        pause = SHORTEST
        while not (yield from self._ask()):
            left = begun + self._patience - bulkhead.time()
            if left <= 0:
                raise BulkheadFull(bulkhead.name, bulkhead.limit, "timeout")
            # Spread, so that processes do not ask all at once.
            spread = pause * random.uniform(0.5, 1.5)  # noqa: S311 - keeps no secret
            yield Sleep(min(spread, left / 1e6))
            pause = min(2 * pause, LONGEST)

    def _ask(self) -> Flow[bool]:
        # Whether the store had a place.
        self._ticket = yield Ask(self._key)
        if self._ticket is not None:
            self._state = HELD
        return self._state == HELD

    def _perform(self, effect: Any) -> Any:
        if self._bulkhead.permits.awaited:
            raise TypeError("an AsyncBulkhead is entered by `async with` or awaited")
        if isinstance(effect, Ask):
            return self._bulkhead.permits.enter(effect.key)
        if isinstance(effect, Stand):
            return effect.place.__enter__()
        return self._bulkhead.clock.sleep(effect.seconds)

    async def _aperform(self, effect: Any) -> Any:
        if isinstance(effect, Ask):
            answer = self._bulkhead.permits.enter(effect.key)
            return await answer if self._bulkhead.permits.awaited else answer
        if isinstance(effect, Stand):
            return await effect.place
        return await self._bulkhead.clock.asleep(effect.seconds)


def halting(permits: Any) -> bool:
    """Whether asking for a place would hold up a loop."""
    return bool(permits.remote and not permits.awaited)


def suit(permits: Any, function: Any) -> None:
    """Refuse to guard a function that could never enter; None are the permits of one process."""
    if permits is not None and halting(permits) and iscoroutinefunction(function):
        raise TypeError(
            f"Bulkhead.guard: {title(function)} is an async def, and a Bulkhead on a server would "
            "hold up its loop; use AsyncBulkhead"
        )


def recover(permits: Any, key: str, ticket: Any) -> None:
    """Give back the place of a slot that nobody has any more."""
    logger.warning("a slot was lost before it was ended; its place is free again")
    permits.drop(key, ticket)
