"""Slot: a place in a bulkhead, from before it is had until after it is given back.

It ends in one of three ways, and whoever finds limits by itself learns from them: success, a call
that went as it should; dropped, one that took too long or was turned away; ignore, one that says
nothing. A block that raises `TimeoutError` was dropped, any other exception says nothing.
"""

from __future__ import annotations

import _thread
import asyncio
import logging
from typing import Any

from headgate.adaptive.gauge import DROPPED, IGNORE, SUCCESS
from headgate.bulkheads.room import FULL, GONE, INSIDE, Room
from headgate.bulkheads.waiter import Waiter
from headgate.errors import BulkheadFull

logger = logging.getLogger("headgate")

OUTSIDE, HELD, OVER = range(3)


class Slot:
    """A place for one: `with bulkhead.hold() as slot`; true while it is held."""

    __slots__ = (
        "_bulkhead", "_era", "_key", "_part", "_patience", "_priority", "_room", "_start",
        "_state", "_waited",
    )  # fmt: skip

    def prepare(
        self, bulkhead: Any, room: Room, key: str, part: int, patience: int, priority: float
    ) -> Slot:
        """Be a place in that part of the room, had within `patience` microseconds."""
        self._bulkhead = bulkhead
        self._room = room
        self._key = key
        self._part = part
        self._patience = patience
        self._priority = priority
        self._era = self._start = self._waited = 0
        self._state = OUTSIDE
        return self

    @property
    def waited(self) -> float:
        """How many seconds one waited for it."""
        return self._waited / 1e6

    def success(self) -> None:
        """Give the place back: the call went as it should."""
        self.end(SUCCESS)

    def ignore(self) -> None:
        """Give the place back: the call says nothing."""
        self.end(IGNORE)

    def dropped(self) -> None:
        """Give the place back: the call took too long, or was turned away further on."""
        self.end(DROPPED)

    def begin(self) -> int:
        """Go in at once, if one can; 1 if so."""
        if self._state != OUTSIDE:
            raise RuntimeError("a slot is entered once; hold another")
        if self._room.gauge is not None:
            self._bulkhead.adjust(self._room)
        answer = self._room.enter(self._part)
        while answer == GONE:
            self._room = self._bulkhead.room(self._key)
            answer = self._room.enter(self._part)
        if answer != INSIDE:
            if self._patience == 0:
                self._refuse()
            return 0
        self._arrive()
        return 1

    def end(self, outcome: int) -> None:
        """Give the place back, once; later calls change nothing."""
        if self._state == HELD:
            self._state = OVER
            if self._room.gauge is not None:
                self._end(outcome)
                return
            woken = self._room.leave(self._part, self._bulkhead.moment(), self._era)
            if woken:
                self._bulkhead.ring(self._room, woken)

    def __enter__(self) -> Slot:
        if self._state != HELD and not self.begin():
            self._wait()
        return self

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        self.end(SUCCESS if problem is None else verdict(problem))

    def __aenter__(self) -> Slot:
        return self

    def __await__(self) -> Any:
        if self._state == HELD or self.begin():
            return self
        return self._await().__await__()

    def __next__(self) -> None:
        raise StopIteration(self)

    def __aexit__(self, kind: object, problem: BaseException | None, trace: object) -> Done:
        self.end(SUCCESS if problem is None else verdict(problem))
        return DONE

    def __bool__(self) -> bool:
        return self._state == HELD

    def __del__(self) -> None:
        # Whoever had it has lost it. Here nothing may be locked or let in: this may happen in the
        # middle of anything, so a thread of its own does it.
        if self._state == HELD:
            _thread.start_new_thread(recover, (self._bulkhead, self._room, self._part, self._era))

    def _arrive(self) -> None:
        self._state = HELD
        self._era = self._room.era
        if self._room.gauge is not None:
            self._start = self._bulkhead.time()

    def _end(self, outcome: int) -> None:
        # A limit that finds itself learns first; whatever it raises, the place is given back. Who
        # came in before a fork is its parent's to learn from.
        try:
            if self._era == self._room.era:
                self._bulkhead.learn(self._room, self._start, outcome)
        finally:
            woken = self._room.leave(self._part, self._bulkhead.moment(), self._era)
            self._bulkhead.ring(self._room, list(woken))

    def _refuse(self) -> None:
        if self._room.gauge is not None:
            self._room.gauge.refused(self._bulkhead.time())

    def _wait(self) -> None:
        # In line, holding up the thread.
        lock = _thread.allocate_lock()
        lock.acquire()
        waiter = self._join(lock.release)
        if waiter is None:
            return
        begun = self._bulkhead.time()
        try:
            self._bulkhead.pause(lock, self._patience)
        except BaseException:
            self._quit(waiter)
            raise
        self._admitted(waiter, begun)

    async def _await(self) -> Slot:
        # In line, letting other tasks run.
        chime = Chime()
        waiter = self._join(chime.ring)
        if waiter is None:
            return self
        begun = self._bulkhead.time()
        try:
            await self._bulkhead.apause(chime.future, self._patience)
        except BaseException:
            self._quit(waiter)
            raise
        self._admitted(waiter, begun)
        return self

    def _join(self, bell: Any) -> Waiter | None:
        # A waiter in line, or None: there was a place after all.
        bulkhead = self._bulkhead
        if self._patience == 0:
            raise BulkheadFull(bulkhead.name, self._room.limit, "full")
        now = bulkhead.time()
        waiter = Waiter(bell, self._part, now, bulkhead.rank(now, self._priority))
        answer = self._room.join(waiter)
        while answer == GONE:
            self._room = bulkhead.room(self._key)
            answer = self._room.join(waiter)
        if answer == FULL:
            self._refuse()
            raise BulkheadFull(bulkhead.name, self._room.limit, "queue")
        if answer != INSIDE:
            return waiter
        self._arrive()
        return None

    def _admitted(self, waiter: Waiter, begun: int) -> None:
        # The bell rang, or the time is up; both may be true, and then there is a place.
        if not waiter.inside and self._room.quit(waiter) != INSIDE:
            self._refuse()
            raise BulkheadFull(self._bulkhead.name, self._room.limit, "timeout")
        self._arrive()
        self._waited = self._bulkhead.time() - begun

    def _quit(self, waiter: Waiter) -> None:
        # Whoever gives up at the moment of being let in leaves the place to the next.
        if self._room.quit(waiter) == INSIDE:
            self._arrive()
            self.end(IGNORE)


class Chime:
    """Wakes one task, from whatever thread it is rung."""

    __slots__ = ("future", "loop", "thread")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.thread = _thread.get_ident()
        self.future: asyncio.Future[None] = self.loop.create_future()

    def ring(self) -> None:
        """Wake it; raises RuntimeError if its loop is closed."""
        if _thread.get_ident() == self.thread:
            self.sound()
        else:
            self.loop.call_soon_threadsafe(self.sound)

    def sound(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


class Done:
    """What is awaited where there is nothing to wait for."""

    __slots__ = ()

    def __await__(self) -> Any:
        return self

    def __iter__(self) -> Done:
        return self

    def __next__(self) -> None:
        raise StopIteration


DONE = Done()


def verdict(problem: BaseException) -> int:
    """What an exception says about the call that raised it."""
    return DROPPED if isinstance(problem, TimeoutError) else IGNORE


def recover(bulkhead: Any, room: Room, part: int, era: int) -> None:
    """Give back the place of a slot that nobody has any more."""
    logger.warning("a slot was lost before it was ended; its place is free again")
    bulkhead.ring(room, list(room.leave(part, bulkhead.moment(), era)))
