"""Roll: who holds how many places of which key, a row for each holder of each key.

A row has four cells: the two halves of the key's mark, the owner, and how many it holds. A row that
says 0 is free, whatever else stands in it, so a change is made by writing that one number, last: a
process that is killed has made it or has not.

A key's rows stand somewhere behind its home, which its mark names, and before the next row that
never had an owner: where somebody has been, one has to look further. Rows that were given back just
before the end of such a chain are made as if never used, so chains end early again. The last row of
all never has an owner, and there are so many behind the last home that `capacity` of them fit,
whoever they belong to.

Nothing here takes a lock: whoever calls has it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

# The cells of a row, and how many there are.
FIRST, SECOND, OWNER, COUNT, WIDTH = range(5)

FULL = -1
CROWDED = -2

Mark = tuple[int, int]


class Roll:
    """The rows in `cells`, for `capacity` of them that are not free."""

    __slots__ = ("cells", "homes", "last")

    cells: Any

    def __init__(self, cells: Any, capacity: int) -> None:
        self.cells = cells
        self.homes = 2 * capacity
        self.last = extent(capacity) - WIDTH

    def seek(self, mark: Mark, owner: int, limit: int) -> tuple[int, int]:
        """The row in which `owner` may have one more, and how many it has: 0 if the row is free.

        The row is `FULL` if all places of the key are taken, `CROWDED` if there is no free row.
        """
        cells = self.cells
        first, second = mark
        row = first % self.homes * WIDTH
        total = has = 0
        own = free = -1
        holder = cells[row + OWNER]
        while holder != 0:
            count = cells[row + COUNT]
            if count <= 0:
                if free < 0:
                    free = row
            elif cells[row] == first and cells[row + SECOND] == second:
                total += count
                if holder == owner:
                    own = row
                    has = count
            row += WIDTH
            holder = cells[row + OWNER]
        if total >= limit:
            return FULL, 0
        if own >= 0:
            return own, has
        if free >= 0:
            return free, 0
        return (row, 0) if row < self.last else (CROWDED, 0)

    def tidy(self, row: int) -> None:
        """Make rows that are free, up to this one, as if never used, where a chain ends with it."""
        cells = self.cells
        while row >= 0 and cells[row + COUNT] <= 0 and cells[row + OWNER] != 0:
            if cells[row + WIDTH + OWNER] != 0:
                return
            cells[row + OWNER] = 0
            row -= WIDTH

    def holders(self, mark: Mark | None) -> dict[int, int]:
        """How many each owner holds of the key, or of all keys together."""
        found: dict[int, int] = {}
        for row in self._rows(mark):
            owner = self.cells[row + OWNER]
            found[owner] = found.get(owner, 0) + self.cells[row + COUNT]
        return found

    def bury(self, dead: Container[int], mark: Mark | None) -> None:
        """Take away what the dead hold of the key, or of all keys."""
        for row in self._rows(mark):
            if self.cells[row + OWNER] in dead:
                self.cells[row + COUNT] = 0
                self.tidy(row)

    def _rows(self, mark: Mark | None) -> Iterator[int]:
        # The rows in which somebody has places of the key, or of any.
        cells = self.cells
        row = 0 if mark is None else mark[0] % self.homes * WIDTH
        while row < self.last:
            if mark is not None and cells[row + OWNER] == 0:
                return
            if cells[row + COUNT] > 0 and mark in {None, (cells[row], cells[row + SECOND])}:
                yield row
            row += WIDTH


def extent(capacity: int) -> int:
    """How many cells a roll takes: homes that are half empty, and room behind the last."""
    return (3 * capacity + 1) * WIDTH
