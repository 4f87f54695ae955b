"""Places in shared memory: those of all processes of a machine, in a file they map.

A row for each holder: the two halves of the key's mark, the two of its name, and the moment its
time is over, which is written last. A row whose moment has passed is free, whatever else stands in
it, so nobody has to clean up after a holder that died, and a process that is killed in the middle
of a change has made it or has not. A moment of 0 says that a row never had a holder.

A key's rows stand somewhere behind its home, which its mark names, before the next row that never
had a holder. Free rows just before the end of such a chain are made as if never used, so that it
ends early again.
"""

from __future__ import annotations

import os
import struct
from hashlib import blake2b
from typing import Any

from headgate.clock import Clock, SystemClock
from headgate.errors import StoreUnavailable
from headgate.fork import follow
from headgate.permits.shared.latch import Latch
from headgate.service.places.scan import scan
from headgate.stores.shared.charter import Charter
from headgate.stores.shared.deed import Bolt
from headgate.stores.shared.segment import Segment
from headgate.stores.shared.store import CHARTER, home, named

VERSION = "1"
FILE = "_places.rows"
# The cells of a row, and how many there are. A row that was used and is free ends at the first
# moment there is.
FIRST, SECOND, NAME, SURNAME, END, WIDTH = range(6)
OVER = 1

Marks = tuple[int, int, int, int]


class Joint:
    """Who holds which places, up to `capacity` of them, among those who use the store `name`."""

    def __init__(
        self, name: str, clock: Clock | None = None, capacity: int = 20_000, folder: str = ""
    ) -> None:
        self._view: Any
        self._cells: Any
        place = home(named(name, "Joint"), folder or None)
        self._charter = Charter(os.path.join(place, CHARTER))
        self.clock = SystemClock(offset=self._charter.offset) if clock is None else clock
        self._capacity = capacity
        # Homes that are half empty, and room behind the last for all who may come.
        self._homes = 2 * capacity
        self._last = 3 * capacity * WIDTH
        segment = Segment(os.path.join(place, FILE), self._facts(), 1, self._last + WIDTH)
        with segment.deed:
            self._view = self._cells = segment.plots[0].block
            self._path = segment.deed.path
            self._latch = Latch(self._path, segment.plots[0].bolt or Bolt(segment.deed))
            self._segment: Segment | None = segment
            segment.admit()
        follow(self, renew)

    def enter(self, title: str, key: str, name: str, limit: int, ttl: int) -> int:
        """How many hold a place then, or 0."""
        marks = self._marks(title, key, name)
        with self._latch:
            now = self.clock.now()
            row, free, count = self._seek(marks, now)
            if row >= 0:
                self._cells[row + END] = now + ttl
                return count
            if count >= limit:
                return 0
            if free >= self._last:
                raise StoreUnavailable(
                    f"{self._path}: {self._capacity:,} places are held already, as many as there "
                    "is room for", "crowded", unknown=False,
                )  # fmt: skip
            for cell, mark in enumerate(marks):
                self._cells[free + cell] = mark
            self._cells[free + END] = now + ttl
            return count + 1

    def renew(self, title: str, key: str, name: str, ttl: int) -> bool:
        """Hold it from now on; whether it was held."""
        return self._move(title, key, name, ttl)

    def leave(self, title: str, key: str, name: str) -> bool:
        """Give it back; whether it was held."""
        return self._move(title, key, name, 0)

    def inside(self, title: str, key: str) -> int:
        """How many hold a place."""
        with self._latch:
            return self._seek(self._marks(title, key, ""), self.clock.now())[2]

    def close(self) -> None:
        """Let go of the file."""
        self._segment = self._view = self._cells = None

    def _move(self, title: str, key: str, name: str, ttl: int) -> bool:
        marks = self._marks(title, key, name)
        with self._latch:
            now = self.clock.now()
            row, _, _ = self._seek(marks, now)
            if row < 0:
                return False
            self._cells[row + END] = now + ttl if ttl else OVER
            if not ttl:
                self._tidy(row, now)
            return True

    def _seek(self, marks: Marks, now: int) -> tuple[int, int, int]:
        # The row of a name or -1, one that is free, and how many hold a place of the key.
        home = marks[0] % self._homes * WIDTH
        found, free, count, last = scan(self._view, home, *marks, now)
        if free >= 0:
            # Who died has left nothing in order.
            self._tidy(last - WIDTH, now)
        return found, last if free < 0 else free, count

    def _tidy(self, row: int, now: int) -> None:
        # Make rows that are free, up to this one, as if never used, where a chain ends with it.
        cells = self._cells
        while row >= 0 and 0 < cells[row + END] <= now and cells[row + WIDTH + END] == 0:
            cells[row + END] = 0
            row -= WIDTH

    def _marks(self, title: str, key: str, name: str) -> Marks:
        # The key and the name as numbers that nobody can choose who does not know the seed.
        said = f"{title}\0{key}".encode("utf-8", "surrogatepass")
        halves: list[int] = []
        for text in (said, name.encode()):
            digest = blake2b(text, digest_size=16, key=self._charter.seed).digest()
            halves += struct.unpack("<qq", digest)
        return halves[0], halves[1], halves[2], halves[3]

    def _facts(self) -> dict[str, str]:
        return {
            "version": VERSION,
            "holds": "places",
            "capacity": str(self._capacity),
            "boot": self._charter.boot,
            "seed": self._charter.sign,
        }


def renew(places: Joint) -> None:
    """In a forked child nobody stands at the latch."""
    places._latch.renew()
