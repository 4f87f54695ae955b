"""Meter: how often something was done, what came of it, and how long it took.

Its cells may lie where other processes can read them: first how often, then how many statuses there
were of each hundred, the sum of the microseconds, and how many took at most as long as each bound.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headgate.latch import Latch
from headgate.measures import MILLION

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

if cython.compiled:
    from cython.cimports.headgate.block import begin

# The bounds, in seconds, of what servers take to answer, and of what stores take.
ANSWERS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
CHECKS = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
CLASSES = ("1xx", "2xx", "3xx", "4xx", "5xx")
# As C numbers when compiled; the above stay Python's, because others import them.
TIMES = 0
HUNDREDS = 5
SPENT = 6
COUNTS = 7
# Interpreted, all count one at a time.
LATCH = Latch()


class Meter:
    """Counts in cells of its own, until they are moved to others."""

    __slots__ = ("bounds", "cells", "edges", "limits", "placed", "size", "view")

    cells: Any
    edges: Any
    view: Any
    placed: bool

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.limits = array("q", [round(one * MILLION) for one in bounds])
        self.edges = begin(self.limits) if cython.compiled else self.limits
        self.size = len(bounds)
        self.leave()

    def note(self, status: int, took: int) -> None:
        """Something took so many microseconds, and came to a status; less than 0 says nothing."""
        if cython.compiled:
            with cython.critical_section(self):
                self.add(status, took)
        else:
            with LATCH:
                self.add(status, took)

    def add(self, status: int, took: int) -> None:
        cells = self.cells
        cells[TIMES] += 1
        hundred = status // 100
        if 1 <= hundred <= HUNDREDS:
            cells[hundred] += 1
        if took < 0:
            return
        cells[SPENT] += took
        place = 0
        while place < self.size and took > self.edges[place]:
            place += 1
        cells[COUNTS + place] += 1

    def read(self) -> list[int]:
        """What was counted, in the order of the cells."""
        return [*self.view]

    @property
    def length(self) -> int:
        """How many cells it needs."""
        return self.size + COUNTS + 1

    def move(self, view: Any) -> None:
        """Count in that block from now on; what was counted is added to what stands there."""
        if cython.compiled:
            with cython.critical_section(self):
                self.carry(view)
        else:
            with LATCH:
                self.carry(view)

    def carry(self, view: Any) -> None:
        old, fresh = self.view, begin(view) if cython.compiled else view
        for place in range(self.size + COUNTS + 1):
            fresh[place] += old[place]
        self.cells = fresh
        self.view = view
        self.placed = True

    def leave(self) -> None:
        """Begin anew, in cells of its own."""
        view = array("q", bytes(8 * (self.size + COUNTS + 1)))
        self.cells = begin(view) if cython.compiled else view
        self.view = view
        self.placed = False


def statuses(cells: Sequence[int]) -> dict[str, int]:
    """How many of each hundred there were, of those cells."""
    return dict(zip(CLASSES, cells[1:SPENT], strict=True))


def taken(bounds: Sequence[float], cells: Sequence[int]) -> Any:
    """How many took how long, as a reading has it."""
    counts = [*cells[COUNTS:]] or [0] * (len(bounds) + 1)
    return {"bounds": [*bounds], "counts": counts, "sum": cells[SPENT] / MILLION if cells else 0.0}
