"""Memo: a key's cells before and after a booking, by which it can be undone to the letter.

Nothing here takes a lock: whoever calls has it. Nothing is made under it either, since that may set
off a collection of garbage while others wait: a memo is made blank, beforehand.
"""

from __future__ import annotations

from headgate.stores.flat.rows import Rows

# Longer rows are not kept twice.
LONGEST = 1024


class Memo:
    """A blank memo for a row of `rows`."""

    __slots__ = ("after", "before", "length")

    before: list[int]
    after: list[int]
    length: int

    def __init__(self, rows: Rows) -> None:
        self.length = rows.stride if rows.stride <= LONGEST else 0
        self.before = [0] * self.length
        self.after = [0] * self.length

    def jot(self, rows: Rows, mark: int, paper: list[int]) -> None:
        # Write the row of a fingerprint on one of the two; 0 for every cell if it has none.
        row = rows.search(mark)
        cell = 0
        while cell < self.length and self.length == rows.stride:
            paper[cell] = rows.cells[row + cell] if row >= 0 else 0
            cell += 1

    def undo(self, rows: Rows, mark: int) -> bool:
        # Put back what was there before, if what is there now is what came of it.
        row = rows.search(mark)
        if row < 0 or self.length != rows.stride:
            return False
        cell = 0
        while cell < self.length:
            kept = self.after[cell]
            if rows.cells[row + cell] != kept:
                return False
            cell += 1
        rows.note(row)
        cell = 0
        while cell < self.length:
            rows.cells[row + cell] = self.before[cell]
            cell += 1
        return True
