"""SharedPermits: at most so many at once, for all processes of a machine, in a file they map."""

from __future__ import annotations

import os
import struct
from hashlib import blake2b
from itertools import count as counter

from headgate.errors import StoreUnavailable
from headgate.fork import follow
from headgate.measures import whole
from headgate.permits.shared.census import Census
from headgate.permits.shared.latch import Latch
from headgate.permits.shared.roll import (
    COUNT,
    CROWDED,
    FULL,
    OWNER,
    SECOND,
    Mark,
    Roll,
    extent,
)
from headgate.stores.shared.charter import Charter
from headgate.stores.shared.deed import Bolt
from headgate.stores.shared.segment import Segment
from headgate.stores.shared.store import CHARTER, home, named, plain

VERSION = "1"
# How many keys' marks are kept at hand.
KEPT = 1024


class SharedPermits:
    """At most `limit` places for each key, shared by all processes of this user.

    Permits of the same store `name` and `bulkhead` are one, in whatever process. Memory is taken
    when they are made, for `capacity` keys that somebody is inside of, counted once for every
    process that is. The places of a process that ended, however it did, are free at once; a forked
    child has none of its parent's.

    All processes have to be of one pid namespace, such as one container: others are refused while
    anybody is inside.
    """

    awaited = remote = False
    # Nobody here is late: who holds a place lives.
    zombies = 0

    def __init__(
        self,
        name: str,
        limit: int,
        capacity: int = 10_000,
        folder: str | None = None,
        bulkhead: str = "",
        census: Census | None = None,
    ) -> None:
        self.name = named(name, "SharedPermits")
        self.limit = whole("SharedPermits", "limit", limit, 1)
        self.capacity = whole("SharedPermits", "capacity", capacity, 1, 1 << 30)
        self.folder = folder
        self.bulkhead = bulkhead
        self.census = Census() if census is None else census
        self._owner = self.census.myself()
        self._world = self.census.world()
        place = home(self.name, folder)
        self._charter = Charter(os.path.join(place, CHARTER))
        self._open(place)
        self._marks: dict[str, Mark] = {}
        self._tickets = counter(1)
        # The row of each ticket that is out, and the rows of those that came back and are not
        # struck off yet.
        self._held: dict[int, tuple[str, int]] = {}
        self._owed: list[int] = []
        self._turn = 0
        follow(self, renew)

    def _open(self, place: str) -> None:
        title = plain(self.bulkhead) if self.bulkhead else "="
        cells = extent(self.capacity)
        segment = Segment(os.path.join(place, f"{title}.permits"), self._facts(), 1, cells)
        with segment.deed:
            block, bolt = segment.plots[0].block, segment.plots[0].bolt
            if segment.deed.alone and not segment.made:
                # Nobody has it open, so nobody who is in it lives.
                block[:] = memoryview(bytes(8 * cells)).cast("q")
            self._path = segment.deed.path
            self._latch = Latch(self._path, bolt or Bolt(segment.deed))
            self._roll: Roll | None = Roll(block, self.capacity)
            self._segment: Segment | None = segment
            segment.admit()

    def _facts(self) -> dict[str, str]:
        # The limit is none of them: who is inside is inside under any, while it is being changed.
        return {
            "version": VERSION,
            "holds": "permits",
            "capacity": str(self.capacity),
            "boot": self._charter.boot,
            "seed": self._charter.sign,
            "namespaces": self._world,
        }

    def enter(self, key: str) -> int | None:
        """A ticket for a place, or None if all are taken."""
        mark = self._mark(key)
        ticket = next(self._tickets)
        try:
            row, holders = self._try(key, mark, ticket)
            if row < 0:
                # Not behind the latch: to ask for the living takes longer than all the rest, and
                # who is dead stays so.
                dead = self._dead(holders)
                if dead:
                    self._bury(dead, None if row == CROWDED else mark)
                    row, _ = self._try(key, mark, ticket)
        except BaseException:
            # Interrupted, as by Ctrl-C: nobody will ever bring it back.
            self.leave(key, ticket)
            raise
        if row == CROWDED:
            raise StoreUnavailable(
                f"{self._path}: there is no room for one key more in it ({self.capacity:,} were "
                "asked for); choose a larger capacity, the same in all programs",
                "crowded",
                unknown=False,
            )
        return None if row == FULL else ticket

    def leave(self, key: str, ticket: int) -> bool:
        """Give a place back; false if it was not held, or not by this process.

        Where there is no way in at the time, it is given back with whatever comes next.
        """
        held = self._held.get(ticket)
        if held is None or held[0] != key:
            return False
        try:
            del self._held[ticket]
        except KeyError:
            # Somebody else brought the same ticket at the same time.
            return False
        self._owed.append(held[1])
        self._settle()
        return True

    def drop(self, key: str, ticket: int) -> None:
        """Give a place back, whoever has it."""
        self.leave(key, ticket)

    def inside(self, key: str) -> int:
        """How many places are held now, by processes that live."""
        roll = self._opened()
        mark = self._mark(key)
        with self._latch:
            self._strike(roll)
            holders = roll.holders(mark)
        dead = self._dead(holders)
        return sum(held for owner, held in holders.items() if owner not in dead)

    def close(self) -> None:
        """Give back all that is held through this object, and let go of the file."""
        while self._held:
            self._owed.append(self._held.popitem()[1][1])
        self._settle()
        if not self._owed:
            self._roll = self._segment = None

    def __repr__(self) -> str:
        named = f", bulkhead={self.bulkhead!r}" if self.bulkhead else ""
        return f"SharedPermits({self.name!r}, {self.limit}{named})"

    def _try(self, key: str, mark: Mark, ticket: int) -> tuple[int, dict[int, int]]:
        # The row that has one more now; or why not, and who is in the way.
        roll = self._opened()
        owner = self._owner or self._begin()
        first, second = mark
        cells = roll.cells
        with self._latch:
            if self._owed:
                self._strike(roll)
            while True:
                turn = self._turn
                row, count = roll.seek(mark, owner, self.limit)
                if row < 0:
                    return row, roll.holders(mark if row == FULL else None)
                # Else a signal's handler has been here meanwhile, and what we saw is not so now.
                # From here on there is no call, so none comes in between.
                if turn == self._turn:
                    self._turn = turn + 1
                    if count == 0:
                        cells[row] = first
                        cells[row + SECOND] = second
                        cells[row + OWNER] = owner
                    cells[row + COUNT] = count + 1
                    self._held[ticket] = key, row
                    return row, {}

    def _settle(self) -> None:
        try:
            roll = self._opened()
            with self._latch:
                self._strike(roll)
        except StoreUnavailable:
            # It stays owed.
            return

    def _strike(self, roll: Roll) -> None:
        # Strike off what came back, behind the latch.
        cells = roll.cells
        while self._owed:
            row = self._owed[0]
            left = cells[row + COUNT] - 1
            self._turn += 1
            # No call between these two: whoever is interrupted has done both or neither.
            del self._owed[0]
            cells[row + COUNT] = left
            if left <= 0:
                roll.tidy(row)

    def _dead(self, holders: dict[int, int]) -> set[int]:
        mine = self._owner or self._begin()
        return {owner for owner in holders if owner != mine and not self.census.lives(owner)}

    def _bury(self, dead: set[int], mark: Mark | None) -> None:
        roll = self._opened()
        with self._latch:
            self._turn += 1
            roll.bury(dead, mark)

    def _begin(self) -> int:
        # In a forked child, which has a number and a moment of its own.
        if self.census.world() != self._world:
            raise StoreUnavailable(
                f"{self._path}: this process is in another pid namespace than the one that opened "
                "it; give it permits of its own"
            )
        self._owner = self.census.myself()
        return self._owner

    def _mark(self, key: str) -> Mark:
        # The key as two numbers that nobody can choose who does not know the seed.
        found = self._marks.get(key)
        if found is None:
            if not isinstance(key, str):
                raise TypeError(f"a key is a str, not {key!r}")
            data = key.encode("utf-8", "surrogatepass")
            first, second = struct.unpack(
                "<qq", blake2b(data, digest_size=16, key=self._charter.seed).digest()
            )
            if len(self._marks) >= KEPT:
                self._marks.clear()
            found = self._marks[key] = (first, second)
        return found

    def _opened(self) -> Roll:
        if self._roll is None:
            raise StoreUnavailable(f"{self._path}: these permits are closed", "closed", False)
        return self._roll


def renew(permits: SharedPermits) -> None:
    """Let a forked child begin without any place: what is held is its parent's."""
    permits._latch.renew()
    permits._held.clear()
    permits._owed.clear()
    permits._owner = 0
