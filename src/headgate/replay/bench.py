"""Bench: where rules count while a log is replayed: in memory, with room for every key.

It stands in for a shelf. The time is that of the line which is being replayed, and who waits for
a place waits in that time, without holding up anybody.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headgate.algorithms.limit import KEEP, Limit
from headgate.bulkheads.room import GONE, INSIDE, WAITS, Room
from headgate.bulkheads.waiter import Waiter
from headgate.errors import BulkheadFull
from headgate.limiter import Limiter
from headgate.replay.dial import Dial
from headgate.rules.live.tally import Tally
from headgate.stores.flat.table import Table
from headgate.stores.memory import MemoryStore

# How many keys there is room for at first, and by how much room grows.
KEYS = 4096
LONE = 64
GROWTH = 4
# A table never gives up a row while less than half of what it has room for is in use.
FULL = 2
FOREVER = 1 << 62
WHOLE = (1_000_000,)


class Bench:
    """Limiters and rooms of rules, by name."""

    url = "memory://"
    near = True
    far = False
    era = 0
    realm = ""

    def __init__(self, clock: Dial) -> None:
        self.clock = clock
        self._limiters: dict[str, Limiter] = {}
        # Those that count for one key, or for all together.
        self._lone: dict[str, Limiter] = {}
        self._things: dict[tuple[str, str], Any] = {}
        self._rooms: dict[str, int] = {}

    def limiter(
        self, era: int, name: str, limits: tuple[Limit, ...], mode: str, alone: bool
    ) -> Limiter:
        """The limiter of this name."""
        known = self._lone if alone else self._limiters
        found = known.get(name)
        if found is None:
            room = LONE if alone else self._rooms.get(name.partition("@")[0], KEYS)
            # Without a limit it lets everything in.
            terms = limits or ("unlimited",)
            found = known[name] = Limiter(*terms, store=MemoryStore(room), clock=self.clock)
        return found

    def bulkhead(self, era: int, name: str, limit: int, queue: int) -> Berths:
        """The places of this name."""
        found: Berths = self.thing(
            era, "bulkhead", name, None, lambda: Berths(name, limit, queue, self.clock)
        )
        return found

    def tally(self) -> Tally:
        """What counts the requests that a rule meets; what single keys did is in the scores."""
        return Tally(keyed=False)

    def thing(self, era: int, kind: str, name: str, terms: Any, make: Callable[[], Any]) -> Any:
        """What has this name."""
        found = self._things.get((kind, name))
        if found is None:
            found = self._things[kind, name] = make()
        return found

    def widen(self, name: str, keys: int) -> int:
        """See that a rule has room for so many keys; answers for how many it is enough."""
        room = self._rooms.get(name, KEYS)
        while room < keys * FULL:
            room *= GROWTH
        self._rooms[name] = room
        for title, limiter in self._limiters.items():
            table = limiter.table
            if title.partition("@")[0] == name and table is not None:
                table.adopt(Table(table.limits, room), self.clock.moment, KEEP)
        return room // FULL

    def given_up(self) -> int:
        """How many keys had to make way for others: none."""
        tables = [one.table for one in self._limiters.values() if one.table is not None]
        return sum(table.tally()["evicted"] + table.tally()["crowded"] for table in tables)


class Berths:
    """Places for each key, in the time of the log. `hold` is one of them, to be had later."""

    def __init__(self, name: str, limit: int, queue: int, clock: Dial) -> None:
        self.name = name
        self.limit = limit
        self._queue = queue
        self.clock = clock
        self._rooms: dict[str, Room] = {}

    def hold(self, key: str = "", timeout: float = 0.0) -> Berth:
        """A place that may be waited for so many seconds."""
        return Berth(self, key, timeout)

    def inside(self, key: str = "") -> int:
        """How many of this key are inside."""
        room = self._rooms.get(key)
        return 0 if room is None else room.inside

    def room(self, key: str) -> Room:
        """The room of a key."""
        found = self._rooms.get(key)
        if found is None:
            found = self._rooms[key] = Room(self.limit, self._queue, FOREVER, WHOLE, False)
        return found

    def sweep(self, key: str) -> None:
        """Forget the room of a key, if nobody is in it."""
        room = self._rooms.get(key)
        if room is not None and room.retire():
            del self._rooms[key]


class Berth:
    """A place for one."""

    def __init__(self, berths: Berths, key: str, patience: float) -> None:
        self.berths = berths
        self.key = key
        self.patience = patience
        self.held = False
        self._room = berths.room(key)
        self._waiter: Waiter | None = None

    def enter(self, wake: Callable[[], object]) -> bool:
        """Go in, or stand in line until `wake` is called; raises `BulkheadFull`."""
        answer = self._room.enter(0)
        if answer == GONE:
            self._room = self.berths.room(self.key)
            answer = self._room.enter(0)
        if answer == INSIDE:
            self.held = True
            return True
        if self.patience <= 0.0:
            raise BulkheadFull(self.berths.name, self.berths.limit, "full")
        now = self.berths.clock.moment
        self._waiter = Waiter(wake, 0, now, now)
        if self._room.join(self._waiter) != WAITS:
            raise BulkheadFull(self.berths.name, self.berths.limit, "queue")
        return False

    def settle(self) -> None:
        """Be in after one has waited, or give up: then `BulkheadFull` is raised."""
        waiter = self._waiter
        if waiter is not None and not waiter.inside and self._room.quit(waiter) != INSIDE:
            raise BulkheadFull(self.berths.name, self.berths.limit, "timeout")
        self.held = True

    def success(self) -> None:
        """Give it back, and let in who is next."""
        if not self.held:
            return
        self.held = False
        for waiter in list(self._room.leave(0, self.berths.clock.moment, self._room.era)):
            waiter.bell()
        self.berths.sweep(self.key)

    ignore = dropped = success
