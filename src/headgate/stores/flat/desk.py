"""Desk: where processes that share rows write down what they are about to change.

A process may be killed between any two instructions, in the middle of a row. So whoever changes a
row first copies it to the desk, then leaves a mark that says which row it is, then changes it, and
takes the mark away when all is done. Whoever comes in and finds a mark puts the row back: the
decision that was never finished was never made, and nobody has been told of it.

One row is changed at a time: a decision touches no other. Beside the copy stand the latest moment
that anybody decided at, and what is counted for all processes together. The first cells belong to
the gate.

Nothing here takes a lock: whoever calls has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

if cython.compiled:
    from cython.cimports.headgate.block import begin
    from cython.cimports.headgate.stores.flat.mutex import fence

# Cells from the beginning of the desk; with the mutex before it, the mark is in its cache line.
MARK = 6
MOMENT = 7
ANOMALIES = 8
EVICTED = 9
CROWDED = 10
RECOVERED = 11
COPY = 12
SLACK = 1_000_000


class Desk:
    """The desk that begins at cell `base` of `block`, whose rows are `stride` cells long."""

    __slots__ = ("base", "cells", "stride", "view")

    base: int
    stride: int
    cells: Any
    view: Any

    def __init__(self, block: Any, base: int, stride: int) -> None:
        self.base = base
        self.stride = stride
        self.view = block
        if cython.compiled:
            self.cells = begin(self.view)
        else:
            self.cells = block

    def note(self, row: int) -> None:
        # Before the first change of a row; those that follow are covered by the same copy.
        cells = self.cells
        base = self.base
        if cells[base + MARK] != 0:
            return
        cell = 0
        while cell < self.stride:
            cells[base + COPY + cell] = cells[row + cell]
            cell += 1
        if cython.compiled:
            fence()
        cells[base + MARK] = row + 1
        if cython.compiled:
            fence()

    def done(self) -> None:
        # What was changed is to stay.
        if cython.compiled:
            fence()
        self.cells[self.base + MARK] = 0

    def undo(self) -> None:
        # Put back what was noted. Who is killed in here is followed by somebody who does it again.
        cells = self.cells
        base = self.base
        row = cells[base + MARK] - 1
        if row < 0:
            return
        # A file is only believed as far as it cannot harm: rows stand before the desk.
        cell = 0 if row + self.stride <= base else self.stride
        while cell < self.stride:
            cells[row + cell] = cells[base + COPY + cell]
            cell += 1
        if cython.compiled:
            fence()
        cells[base + MARK] = 0
        cells[base + RECOVERED] += 1

    def mutex(self) -> Any:
        # Compiled only: where the gate's own cells are.
        if cython.compiled:
            return cython.address(self.cells[self.base])

    def marked(self) -> int:
        # Not 0 if a row was noted and neither done nor undone.
        return self.cells[self.base + MARK]  # type: ignore[no-any-return]

    def heed(self, now: int) -> int:
        # Take note of the time; how often it has gone back for anybody.
        cells = self.cells
        base = self.base
        if now < cells[base + MOMENT] - SLACK:
            cells[base + ANOMALIES] += 1
        cells[base + MOMENT] = now
        return cells[base + ANOMALIES]  # type: ignore[no-any-return]

    def moment(self) -> int:
        return self.cells[self.base + MOMENT]  # type: ignore[no-any-return]

    def evict(self) -> None:
        self.cells[self.base + EVICTED] += 1

    def crowd(self) -> None:
        self.cells[self.base + CROWDED] += 1

    def counts(self) -> dict[str, int]:
        """What all processes have counted, by name."""
        names = ("anomalies", "evicted", "crowded", "recovered")
        return {name: self.cells[self.base + 8 + n] for n, name in enumerate(names)}


def length(stride: int) -> int:
    """How many cells a desk takes for rows of `stride` cells, up to a whole cache line."""
    return -(-(12 + stride) // 8) * 8
