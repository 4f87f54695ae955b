"""Sets: limits that callers bring along, kept as long as somebody asks for them.

Strangers choose the limits and the keys, so all of it is bounded. At most `most` sets are kept;
who was not asked for longest goes first, and `gone` says how many have.

- In memory each set has a table of its own, which begins small and grows with the keys in it, so
  that a thousand sets cost little and a single one has room. Together they have at most `cells`
  numbers; whoever needs more sends others away. What goes takes along what was counted.
- In shared memory a set is a file, of a size that follows from the limits alone, so all processes
  have the same. Who lets go of one removes it unless another process has it open; those that are
  left over by who had no time to are removed when there are many.
- On a server a set is but a name and its scripts; what was counted stays there.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import Any

from headgate.algorithms.limit import SCALE, Limit
from headgate.async_limiter import AsyncLimiter
from headgate.clock import Clock
from headgate.errors import LimitError
from headgate.intake import named
from headgate.limiter import Limiter
from headgate.stores.flat.ground import shape
from headgate.stores.flat.table import Table
from headgate.stores.memory import MemoryStore
from headgate.stores.shared.deed import discard
from headgate.stores.shared.store import SharedStore, home, spelled

# Numbers of eight bytes that all tables in memory have together: 64 MB.
CELLS = 1 << 23
# For so many keys a table in memory begins; it grows by this.
FIRST, GROWTH = 64, 4
# Files in shared memory: so many, of at most so many keys and so many numbers each.
FILES, KEYS, LARGEST = 100, 20_000, 1 << 19
MARK = "_set."
# After so many questions, counted in portions, all that is remembered of keys for a server is
# forgotten; no number of them makes a file larger.
REMEMBERED, PORTION, FOREVER = 100_000, 256, 1 << 62


class Place:
    """One set: its limiter, how many cells it has, and how many may ask until one looks again."""

    __slots__ = ("cells", "left", "limiter", "title")

    def __init__(self, limiter: Any, title: str, cells: int, left: int) -> None:
        self.limiter = limiter
        self.title = title
        self.cells = cells
        self.left = left


class Sets:
    """The limiters of limits that are brought along, on `store`, which is a URL or far away."""

    def __init__(
        self,
        store: Any,
        clock: Clock | None = None,
        awaited: bool = True,
        most: int = 1000,
        cells: int = CELLS,
    ) -> None:
        # Leases of a set that goes would go with it.
        url = store.removeprefix("leased+") if isinstance(store, str) else ""
        self.most = most
        self.cells = cells
        self.gone = 0
        self._own = clock
        self._awaited = awaited
        self._near = url.startswith("memory:")
        self._joint = url.partition("://")[2] if url.startswith("shared:") else ""
        far = None if self._near or self._joint else store
        self._store: Any = named(url, awaited) if url and far is not None else far
        self._places: OrderedDict[Hashable, Place] = OrderedDict()
        self._total = self._asked = 0

    def find(self, limits: tuple[Limit, ...], name: str = "") -> Any:
        """The limiter of these limits, to be asked once; find it again for the next question.

        It is an `AsyncLimiter` where the store is on a server. `name` tells apart what else is the
        same. Raises `LimitError` if they are too large for what there is.
        """
        return self.seek((name, limits), lambda: limits, name)

    def seek(self, word: Hashable, make: Callable[[], tuple[Limit, ...]], name: str = "") -> Any:
        """`find` by a word that always means the same limits, which are only made if need be."""
        place = self._places.get(word)
        if place is None:
            place = self._open(word, make(), name)
        else:
            self._places.move_to_end(word)
        place.left -= 1
        if place.left < 0:
            self._look(word, place)
        return place.limiter

    def ledger(self, limits: tuple[Limit, ...], name: str = "") -> Any:
        """What keeps these limits, to be told the time; its verbs are awaited if it is far."""
        return ledger(self.find(limits, name))

    def close(self) -> Any:
        """Let go of all; awaited if the store is."""
        while self._places:
            self._drop(next(iter(self._places)))
        store, self._store = self._store, None
        return store.close() if store is not None else None

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"<Sets: {len(self)} of at most {self.most}, {self.gone} gone>"

    def _open(self, word: Hashable, limits: tuple[Limit, ...], name: str) -> Place:
        if self._near:
            place = self._table(word, limits)
        elif self._joint:
            place = self._file(limits, name)
        else:
            kind = AsyncLimiter if self._awaited else Limiter
            limiter = kind(*limits, store=self._store, name=f"@{name}", clock=self._own)
            place = Place(limiter, "", 0, PORTION - 1)
        self._places[word] = place
        self._total += place.cells
        most = min(self.most, FILES) if self._joint else self.most
        while len(self._places) > most:
            self._drop(next(iter(self._places)))
        return place

    def _table(self, word: Hashable, limits: tuple[Limit, ...]) -> Place:
        cells = shape(limits, FIRST)[2]
        if not self._room(word, cells):
            raise LimitError(f"limits such as {list(limits)!r} are too large to be brought along")
        limiter = Limiter(*limits, store=MemoryStore(FIRST), clock=self._own)
        return Place(limiter, "", cells, FIRST)

    def _file(self, limits: tuple[Limit, ...], name: str) -> Place:
        width = 2 + sum(limit.width for limit in limits)
        # Three quarters more rows than keys.
        keys = min(KEYS, LARGEST * 4 // (7 * width))
        if keys < FIRST:
            raise LimitError(f"limits such as {list(limits)!r} are too large to be brought along")
        clear(home(self._joint, None))
        title = titled(limits, name)
        store = SharedStore(self._joint, keys)
        limiter = Limiter(*limits, store=store, name=title, clock=self._own)
        return Place(limiter, title, 0, FOREVER)

    def _look(self, word: Hashable, place: Place) -> None:
        # So many have asked that there may be as many keys.
        if self._near:
            self._grow(word, place)
            return
        place.left = PORTION - 1
        self._asked += PORTION
        if self._asked >= REMEMBERED:
            self._asked = 0
            for one in self._places.values():
                ledger(one.limiter).ledger.tongue.known.clear()

    def _grow(self, word: Hashable, place: Place) -> None:
        table: Table = place.limiter.table
        keys, capacity = len(table), table.rows.capacity
        if 2 * keys < capacity:
            place.left = capacity - keys
            return
        wider = shape(table.limits, capacity * GROWTH)[2]
        if self._room(word, wider - place.cells):
            # By whatever clock it is asked.
            now = table.moment()
            table.adopt(Table(table.limits, capacity * GROWTH), now, SCALE)
            place.limiter._shorten()
            self._total += wider - place.cells
            place.cells = wider
        place.left = max(capacity // 2, table.rows.capacity - keys)

    def _room(self, word: Hashable, cells: int) -> bool:
        # Whether there is room for so many cells more, once others have gone. Nobody gets more than
        # half of all there is.
        place = self._places.get(word)
        if (0 if place is None else place.cells) + cells > self.cells // 2:
            return False
        while self._total + cells > self.cells:
            oldest = next(iter(self._places))
            if oldest == word:
                return False
            self._drop(oldest)
        return True

    def _drop(self, word: Hashable) -> None:
        place = self._places.pop(word)
        self._total -= place.cells
        self.gone += 1
        if place.title:
            store, place.limiter = place.limiter.store, None
            store.release(place.title)


def titled(limits: tuple[Limit, ...], name: str) -> str:
    """What a set is called in shared memory, where files are told by what they begin with."""
    said = f"{spelled(limits)} {name}".encode("utf-8", "surrogatepass")
    return MARK + blake2b(said, digest_size=16).hexdigest()


def clear(folder: str) -> None:
    """Remove sets that nobody has open, once there are too many of them."""
    found = [file for file in os.listdir(folder) if file.startswith(MARK)]
    for file in found if len(found) >= 2 * FILES else ():
        discard(os.path.join(folder, file))


def ledger(limiter: Any) -> Any:
    """What keeps the limits of a limiter of either colour."""
    return getattr(limiter, "_limiter", limiter).ledger
