"""Bulkhead: how many at once. Keeps one slow or greedy part of a ship from sinking the rest.

`hold` waits for a place and keeps it while one works, `take` gets one now or not at all. Threads
and tasks may share a bulkhead: `with` holds up a thread, `async with` a task, and all stand in one
line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from math import inf
from threading import TIMEOUT_MAX
from typing import Any, ParamSpec, TypeVar

from headgate.adaptive.gauge import Adaptive, Watched, adaptive
from headgate.bulkheads.fleet_slot import FleetSlot, suit
from headgate.bulkheads.room import Room
from headgate.bulkheads.slot import Slot
from headgate.bulkheads.terms import behind, divided, lengthy
from headgate.bulkheads.waiter import Waiter
from headgate.clock import Clock, SystemClock
from headgate.fork import follow
from headgate.measures import FOREVER, MILLION, seconds, whole
from headgate.permits.reach import reach
from headgate.wrapper import around, refuse

P = ParamSpec("P")
R = TypeVar("R")

# Beyond so many keys, rooms that nobody is in are given up.
KEYS = 10_000


class Bulkhead:
    """At most `limit` at once for each key; the others wait in line, `queue` of them at most.

    A limit that finds itself is one of `BBR()`, `Vegas()`, `Gradient()` and `AIMD()`.

    Who has waited longest goes in first; a level of `priority` counts as `ageing` seconds of
    waiting. With `newest_after`, those who came last go first once the first has waited for that
    many seconds: under overload, they are the ones still being waited for.

    `partitions` such as `{"live": 0.8, "batch": 0.2}` give each a share of the places; what one
    does not use is lent to the others, unless `lend` is false.

    With a `store`, `"shared://name"` or `"redis://host"`, all processes that name it share the
    places. On Redis a place is lent for `ttl` seconds and renewed while it is held, so that what a
    process that was killed held comes back within that time; `method` is one of `"leases"`,
    `"counters"` and `"windows"`. Who waits there waits in line with those of its own process.
    """

    def __init__(
        self,
        limit: int | Adaptive,
        *,
        queue: float = inf,
        ageing: float = 1.0,
        newest_after: float = inf,
        partitions: Mapping[str, float] | None = None,
        lend: bool = True,
        store: Any = "memory://",
        method: str = "leases",
        ttl: float = 30.0,
        name: str = "",
        clock: Clock | None = None,
    ) -> None:
        self.adaptive = None if isinstance(limit, int) else adaptive(limit)
        self.limit = whole("Bulkhead", "limit", limit if self.adaptive is None else 1, 1)
        self.queue = lengthy(queue)
        self.ageing = seconds("Bulkhead", "ageing", ageing)
        self.newest_after = seconds("Bulkhead", "newest_after", newest_after)
        self.parts, self.shares = divided(partitions or {})
        self.plain = not self.parts
        self.lend = lend
        self.name = name
        self.clock = SystemClock() if clock is None else clock
        self.system = self.clock if isinstance(self.clock, SystemClock) else None
        self.main = self._fresh()
        self.rooms = {"": self.main}
        self.permits = reach(store, self.limit, name, method, ttl, False)
        self.gate: Bulkhead | None = None
        if self.permits is not None:
            self._share()
        follow(self, renew)

    def hold(
        self, key: str = "", timeout: float = inf, priority: float = 0, partition: str = ""
    ) -> Slot | FleetSlot:
        """A place, to be entered by `with` or `async with`; raises `BulkheadFull`.

        It is given back when the block ends, however it ends. Who waits gives up after `timeout`
        seconds; with 0 it does not wait.
        """
        if self.permits is None:
            return self.slot(key, timeout, priority, partition)
        return self.fleet(key, timeout, priority, partition)

    def take(self, key: str = "", partition: str = "") -> Slot | FleetSlot:
        """A place now, or a slot that is false; whoever has one ends it, or enters it by `with`."""
        slot = self.hold(key, 0.0, 0, partition)
        slot.begin()
        return slot

    def guard(
        self,
        key: str | Callable[..., str] = "",
        timeout: float = inf,
        priority: float = 0,
        partition: str = "",
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Decorate a `def` or an `async def`: each call holds a place while it runs.

        `key` is a template over the arguments, such as `"user:{user_id}"`, or a function of them.
        """

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            refuse("Bulkhead", function)
            suit(self.permits, function)
            return around(function, key, lambda name: self.hold(name, timeout, priority, partition))

        return decorate

    def change(self, limit: int, queue: float | None = None) -> None:
        """Have so many places from now on; who is inside stays, and who fits now comes in.

        With `queue`, so many may wait from now on; who waits already goes on waiting.
        """
        if self.adaptive is not None:
            raise ValueError("Bulkhead: a limit that finds itself is not changed")
        places = whole("Bulkhead", "limit", limit, 1)
        self.queue = self.queue if queue is None else lengthy(queue)
        self.limit = places
        if self.permits is not None and self.gate is not None:
            self.permits.limit = places
            self.gate.change(1, behind(self.queue))
        for room in list(self.rooms.values()):
            room.extend(self.queue)
            self.ring(room, list(room.resize(places, self.time())))

    def inside(self, key: str = "") -> int:
        """How many places are held now."""
        if self.permits is not None:
            return self.permits.inside(key)  # type: ignore[no-any-return]
        room = self.rooms.get(key)
        return 0 if room is None else room.inside

    def waiting(self, key: str = "") -> int:
        """How many wait for one, in this process."""
        if self.gate is not None:
            # The first of them stands at the gate.
            return self.gate.waiting(key) + self.gate.inside(key)
        room = self.rooms.get(key)
        return 0 if room is None else room.waiting

    def __repr__(self) -> str:
        named = f" {self.name!r}" if self.name else ""
        if self.permits is not None:
            return f"<Bulkhead{named}: {self.limit} on {self.permits!r}>"
        return f"<Bulkhead{named}: {self.main.inside} of {self.main.limit} inside>"

    def slot(self, key: str, timeout: float, priority: float, partition: str) -> Slot:
        room = self.main if key == "" else self.room(key)
        part = 0 if self.plain and partition == "" else self.part(partition)
        patience = FOREVER if timeout is inf else seconds("Bulkhead", "timeout", timeout)
        # As `Decision`, made without a constructor, to stay in C when compiled.
        slot: Slot = Slot.__new__(Slot)
        return slot.prepare(self, room, key, part, patience, priority)

    def fleet(self, key: str, timeout: float, priority: float, partition: str) -> FleetSlot:
        # A place among those that several processes share.
        if partition:
            self.part(partition)
        if not isinstance(key, str):
            raise TypeError(f"a key is a str, not {key!r}")
        return FleetSlot(self, key, seconds("Bulkhead", "timeout", timeout), priority)

    def room(self, key: str) -> Room:
        # The room of a key; beyond so many, those that nobody is in make way for others.
        found = self.rooms.get(key)
        if found is None or found.retired:
            if not isinstance(key, str):
                raise TypeError(f"a key is a str, not {key!r}")
            if len(self.rooms) >= KEYS:
                self._sweep()
            found = self.rooms.setdefault(key, self._fresh())
        return found

    def part(self, partition: str) -> int:
        # The number of a partition.
        if partition not in self.parts:
            known = ", ".join(map(repr, self.parts)) or "none"
            raise ValueError(f"Bulkhead: there is no partition {partition!r}; there are {known}")
        return self.parts[partition]

    def time(self) -> int:
        if self.system is not None:
            return self.system.read()
        return self.clock.now()

    def moment(self) -> int:
        # The time, where it matters who has waited for how long.
        return self.time() if self.newest_after < FOREVER or self.adaptive is not None else 0

    def adjust(self, room: Room) -> None:
        # Let the limit be what it should be now.
        now = self.time()
        limit = room.gauge.limit(now, room.inside)
        if limit != room.limit:
            self.ring(room, list(room.resize(limit, now)))

    def learn(self, room: Room, start: int, outcome: int) -> None:
        # What came of a call that is about to leave.
        now = self.time()
        room.gauge.ended(now, now - start, room.inside - 1, outcome)
        self.adjust(room)

    def rank(self, now: int, priority: float) -> int:
        # Since when one waits, as far as the order goes.
        return now - int(max(-FOREVER, min(priority * self.ageing, FOREVER)))

    def pause(self, lock: Any, patience: int) -> None:
        # Wait until the lock is released, at most so long. Time that is moved by hand moves on.
        if patience >= FOREVER:
            lock.acquire()
        elif self.system is not None:
            lock.acquire(True, min(patience / 1e6, TIMEOUT_MAX))
        elif not lock.acquire(False):
            self.clock.sleep(patience / 1e6)

    async def apause(self, future: asyncio.Future[None], patience: int) -> None:
        # Wait until the future is done, at most so long.
        if patience >= FOREVER:
            await future
            return
        if self.system is not None:
            timer: Any = future.get_loop().call_later(patience / 1e6, expire, future)
        else:
            timer = asyncio.ensure_future(self.clock.asleep(patience / 1e6))
            timer.add_done_callback(lambda _: expire(future))
        try:
            await future
        finally:
            timer.cancel()

    def ring(self, room: Room, waiters: list[Waiter]) -> None:
        # Wake those who were let in. Who cannot be woken any more leaves a place to the next.
        while waiters:
            waiter = waiters.pop()
            try:
                waiter.bell()
            except RuntimeError:
                waiters.extend(room.lose(waiter, self.time()))

    def _share(self) -> None:
        # Those of this process who want a place stand in line, and only the first asks for it.
        unfit = (("a limit that finds itself", self.adaptive), ("partitions", self.parts))
        for word, given in unfit:
            if given:
                raise ValueError(
                    f"Bulkhead: {word} is for one process; leave out the store, or that"
                )
        # The one at the gate waits as well.
        self.gate = Bulkhead(
            1,
            queue=behind(self.queue),
            ageing=self.ageing / MILLION,
            newest_after=inf if self.newest_after >= FOREVER else self.newest_after / MILLION,
            name=self.name,
            clock=self.clock,
        )

    def _fresh(self) -> Room:
        gauge = None if self.adaptive is None else Watched(self.adaptive.open())
        limit = self.limit if gauge is None else gauge.limit(self.time(), 0)
        return Room(limit, self.queue, self.newest_after, self.shares, self.lend, gauge)

    def _sweep(self) -> None:
        for key, room in list(self.rooms.items()):
            if key and room.retire():
                self.rooms.pop(key, None)


def expire(future: asyncio.Future[None]) -> None:
    """Stop waiting for it."""
    if not future.done():
        future.set_result(None)


def renew(bulkhead: Bulkhead) -> None:
    """Empty the rooms of a forked child: those inside are its parent's."""
    for room in list(bulkhead.rooms.values()):
        room.empty()
        if room.gauge is not None:
            room.gauge.renew()
