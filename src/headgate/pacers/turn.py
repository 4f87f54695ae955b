"""Turn: leave to go on, from before it is had until it was.

How a turn is waited for is told once, as a generator that says until when; a thread is woken by a
lock, a task by a future, and the rest is the same.

Waits are exact. A thread sleeps until shortly before its moment, because the machine wakes it some
50 microseconds late, and asks the clock for the rest. An event loop counts in milliseconds, so a
task sleeps for all but the last of them, and then lets others have their turns until it is time:
while a task is about to leave, its loop does not rest.
"""

from __future__ import annotations

import _thread
import asyncio
import threading
from collections.abc import Callable, Generator
from math import inf
from threading import TIMEOUT_MAX
from typing import Any

from headgate.bulkheads.slot import Chime
from headgate.clock import Clock, SystemClock
from headgate.drive import Flow, adrive, drive
from headgate.errors import PacerFull
from headgate.measures import FOREVER
from headgate.pacers.queue import DEPARTED, FULL, LATE, LEFT, WAITS, Queue, Waiter

# How many microseconds before its moment a thread, or a task, stops sleeping.
SPIN, TURNS = 150, 1_200


class Gate:
    """A line, with what it takes to stand in it: a lock, a clock, and words for the refused."""

    def __init__(self, queue: Queue, clock: Clock, name: str) -> None:
        self.queue = queue
        self.clock = clock
        self.name = name
        # A thread may meet itself here: in a signal handler, or when garbage is collected.
        self.lock = threading.RLock()

    def leave(self, waiter: Waiter) -> Flow[None]:
        """Stand in line and leave; yields the waiter as often as it has to wait."""
        try:
            answer = self.look(waiter, self.queue.join)
            while answer == WAITS:
                yield waiter
                answer = self.look(waiter, self.queue.step)
        except BaseException:
            self.quit(waiter)
            raise

    def look(self, waiter: Waiter, act: Callable[[Waiter, int], int]) -> int:
        """Let it join, or see whether it may leave by now; raises `PacerFull` if it cannot."""
        with self.lock:
            # Under the lock, for the line takes time that goes back for a clock that was set back.
            now = self.clock.now()
            answer = act(waiter, now)
            if answer in (LATE, LEFT):
                self.queue.rouse()
        if answer not in (FULL, LATE):
            return answer
        size = inf if self.queue.size == FOREVER else self.queue.size
        reason = "full" if answer == FULL else "timeout"
        raise PacerFull(self.name, size, reason, (waiter.until - now) / 1e6)

    def quit(self, waiter: Waiter) -> None:
        """Leave the line; whoever is the next to go learns of it."""
        with self.lock:
            if self.queue.quit(waiter):
                self.queue.rouse()


class Turn:
    """Leave to go on: `with pacer.turn()`, `async with pacer.turn()` or `await pacer.turn()`.

    It is true once it was had; `waited` says for how many seconds one stood in line, and `departed`
    when one left it, in microseconds on the pacer's clock. Nothing is held, so leaving the block
    means nothing.
    """

    __slots__ = ("_begun", "_gate", "_waiter")

    def __init__(self, gate: Gate, cost: int, patience: int, lead: int) -> None:
        self._gate = gate
        self._waiter = Waiter(cost, patience, lead)
        self._begun = False

    @property
    def waited(self) -> float:
        """How many seconds one stood in line; 0 before one left."""
        return (self._waiter.departed - self._waiter.joined) / 1e6 if self else 0.0

    @property
    def departed(self) -> int:
        """When one left, in microseconds on the pacer's clock; 0 before."""
        return self._waiter.departed

    def __enter__(self) -> Turn:
        bell = Bell(self._gate.clock)
        drive(self._begin(bell.ring), bell.pause)
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def __aenter__(self) -> Turn:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None

    def __await__(self) -> Generator[Any, Any, Turn]:
        return self._pass().__await__()

    def __bool__(self) -> bool:
        return self._waiter.state == DEPARTED

    def __repr__(self) -> str:
        return f"<Turn: left after {self.waited:g} s>" if self else "<Turn: not had>"

    async def _pass(self) -> Turn:
        bell = AsyncBell(self._gate.clock)
        await adrive(self._begin(bell.ring), bell.pause)
        return self

    def _begin(self, ring: Callable[[], None]) -> Flow[None]:
        if self._begun:
            raise RuntimeError("a turn is had once; ask for another")
        self._begun = True
        self._waiter.bell = ring
        return self._gate.leave(self._waiter)


class Bell:
    """Wakes a thread that waits; rung before it waits, it does not wait."""

    __slots__ = ("clock", "lock")

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.lock = _thread.allocate_lock()
        self.lock.acquire()

    def ring(self) -> None:
        if self.lock.locked():
            self.lock.release()

    def pause(self, waiter: Waiter) -> None:
        """Wait until the bell rings, or it is time for the waiter to look again."""
        until = waiter.until
        if until >= FOREVER:
            self.lock.acquire()
            return
        left = until - self.clock.now()
        if not isinstance(self.clock, SystemClock):
            # Time that is moved by hand moves on.
            if not self.lock.acquire(False):
                self.clock.sleep(left / 1e6)
            return
        spin = SPIN if waiter.first else 0
        if left > spin and self.lock.acquire(True, min((left - spin) / 1e6, TIMEOUT_MAX)):
            return
        while self.clock.now() < until:
            pass


class AsyncBell:
    """Wakes a task that waits; rung before it waits, it does not wait."""

    __slots__ = ("chime", "clock")

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.chime = Chime()

    def ring(self) -> None:
        self.chime.ring()

    async def pause(self, waiter: Waiter) -> None:
        """Wait until the bell rings, or it is time for the waiter to look again."""
        until = waiter.until
        system = isinstance(self.clock, SystemClock)
        early = TURNS if system and waiter.first else 0
        if until >= FOREVER:
            await self.chime.future
        elif (left := until - early - self.clock.now()) > 0:
            await self._doze(left / 1e6, system)
        if self.chime.future.done():
            self.chime = Chime()
        # Rung early, it is not the time for this yet; rung now, there is something else to see.
        while 0 < until - self.clock.now() <= early and not self.chime.future.done():
            await self.clock.asleep(0)

    async def _doze(self, seconds: float, system: bool) -> None:
        chime = self.chime
        if system:
            timer: Any = chime.loop.call_later(seconds, chime.sound)
        else:
            timer = asyncio.ensure_future(self.clock.asleep(seconds))
            timer.add_done_callback(lambda _: chime.sound())
        try:
            await chime.future
        finally:
            timer.cancel()
