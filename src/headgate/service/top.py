"""Top: who asks most, in memory that does not grow with how many ask.

Space-Saving (Metwally, Agrawal and El Abbadi, 2005): so many keys are counted. Who comes when there
is no room takes the place of whoever was counted least, and that count with it, which is then how
much it may have been counted too often. A key that makes up more than one part in `size` of all is
always there, and none was counted too seldom since it entered.

Who asked most a day ago is of no interest: what is counted is that of the span of time before the
present one, and of what has passed of this one.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappush, heapreplace
from typing import Any, NamedTuple

from headgate.measures import MILLION
from headgate.rules.matching.facts import LONGEST_KEY, tidy

# Keys that are counted by a rule, and rules by which any are.
SIZE = 256
RULES = 1000
# How many a reading tells of.
FEW = 20
# Microseconds.
SPAN = 300_000_000


class Heavy(NamedTuple):
    """A key, how often it asked, how much less that may have been, and how often it was refused."""

    key: str
    asked: int
    error: int
    refused: int


class Top:
    """The keys that ask most by one rule; `total` is how often anybody has asked."""

    __slots__ = ("_cells", "_heap", "_size", "total")

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        # A count, what of it may be others', and the refusals.
        self._cells: dict[str, list[int]] = {}
        # Whoever is counted least stands first, as far as is known: counts only grow, so one that
        # has grown is put in its place when it comes up.
        self._heap: list[tuple[int, str]] = []
        self.total = 0

    def note(self, key: str, refused: int) -> None:
        """A key has asked, and was refused if that is 1."""
        cell = self._cells.get(key)
        if cell is None:
            cell = self._enter(key)
        cell[0] += 1
        cell[2] += refused
        self.total += 1

    def heavy(self) -> list[Heavy]:
        """Those who are counted."""
        return [Heavy(key, *cell) for key, cell in self._cells.items()]

    @property
    def least(self) -> int:
        """How often somebody may have asked who is not counted."""
        if len(self._cells) < self._size:
            return 0
        return min(cell[0] for cell in self._cells.values())

    def _enter(self, key: str) -> list[int]:
        cells, heap = self._cells, self._heap
        if len(cells) < self._size:
            cell = cells[key] = [0, 0, 0]
            heappush(heap, (0, key))
            return cell
        least, last = heap[0]
        while cells[last][0] != least:
            heapreplace(heap, (cells[last][0], last))
            least, last = heap[0]
        del cells[last]
        heapreplace(heap, (least, key))
        cell = cells[key] = [least, least, 0]
        return cell


class Pair:
    """What was counted by a rule in the present span of time and in the one before."""

    __slots__ = ("before", "now")

    def __init__(self) -> None:
        self.now = Top()
        self.before = Top()


class Tops:
    """The keys that ask most, by the names of rules."""

    def __init__(self) -> None:
        self._pairs: dict[str, Pair] = {}
        self._since = self._until = 0

    def note(self, rule: str, key: str, refused: int, now: int) -> None:
        """A key has asked by a rule; what is long is noted by its digest."""
        if now >= self._until:
            self._turn(now)
        pair = self._pairs.get(rule)
        if pair is None:
            if len(self._pairs) >= RULES:
                return
            pair = self._pairs[rule] = Pair()
        pair.now.note(key if len(key) <= LONGEST_KEY else tidy(key), refused)

    def hear(self, entry: Any, now: int) -> None:
        """A request was taken through rules: by each that was asked, its key there has asked."""
        for one in entry.passes:
            self.note(one.ruling.name, one.key, 0 if one.decision else 1, now)

    def most(self, rule: str, few: int, now: int) -> tuple[list[Heavy], int, int]:
        """The few who asked most; how often anybody did, and since how many microseconds."""
        if now >= self._until:
            self._turn(now)
        pair = self._pairs.get(rule) or Pair()
        heavy = sorted(joined(pair.before, pair.now), key=lambda one: (-one.asked, one.key))
        return heavy[:few], pair.before.total + pair.now.total, now - self._since

    def reading(self, rules: Iterable[str], now: int) -> dict[str, Any]:
        """The heaviest by each of these rules, those who asked and those who were refused."""
        found = {}
        for rule in rules:
            heavy, total, span = self.most(rule, SIZE, now)
            refused = sorted(heavy, key=lambda one: (-one.refused, one.key))
            found[rule] = {
                "span": span / MILLION,
                "total": total,
                "asked": [one._asdict() for one in heavy[:FEW]],
                "refused": [one._asdict() for one in refused[:FEW] if one.refused],
            }
        return found

    def _turn(self, now: int) -> None:
        # The present becomes the past, unless nobody has asked for longer than that.
        lately = now < self._until + SPAN
        for rule, pair in [*self._pairs.items()]:
            pair.before = pair.now if lately else Top()
            pair.now = Top()
            if not pair.before.total:
                del self._pairs[rule]
        self._since = self._until - SPAN if lately and self._until else now
        self._until = now + SPAN


def joined(before: Top, now: Top) -> list[Heavy]:
    """Those who were counted in either; of who was not, the most that it may have been is taken."""
    first = {one.key: one for one in before.heavy()}
    second = {one.key: one for one in now.heavy()}
    found = []
    for key in {**first, **second}:
        one = first.get(key) or Heavy(key, before.least, before.least, 0)
        two = second.get(key) or Heavy(key, now.least, now.least, 0)
        asked, error = one.asked + two.asked, one.error + two.error
        found.append(Heavy(key, asked, error, one.refused + two.refused))
    return found
