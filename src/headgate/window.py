"""Window: what came of the calls of the last seconds, at a constant cost.

Time is cut into buckets, 10 s by 1 s for example, and each counts every outcome by itself. Nothing
runs in the background: whoever counts or looks first clears what is over. The same window serves a
number of calls instead of a span of time: then it is told how many there were, and not the time.

It knows no clock and takes no lock: whoever shares one sees to it that one at a time comes in.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

if cython.compiled:
    from cython.cimports.headgate.block import begin

# What can come of a call. One that was rejected was never made.
SUCCESS = 0
FAILURE = 1
TIMEOUT = 2
REJECTED = 3
# Beside these a bucket counts the slow calls, and the microseconds that the successful ones took.
SLOW = 4
SPENT = 5
CELLS = 6
# As C numbers when compiled; the above stay Python's, because others import them.
GOOD, BAD, LATE = SUCCESS, FAILURE, TIMEOUT


class Totals(NamedTuple):
    """How many calls came to what; a slow one is among the others too."""

    success: int = 0
    failure: int = 0
    timeout: int = 0
    rejected: int = 0
    slow: int = 0

    @property
    def calls(self) -> int:
        """How many were made."""
        return self.success + self.failure + self.timeout

    @property
    def total(self) -> int:
        """How many were made or rejected."""
        return self.calls + self.rejected


class Window:
    """The last `span` microseconds in `buckets` of equal length, or the last `span` calls."""

    __slots__ = ("buckets", "cells", "latest", "sums", "view", "width")

    width: int
    buckets: int
    latest: int
    sums: Any
    cells: Any
    view: Any

    def __init__(self, span: int, buckets: int) -> None:
        if not 1 <= buckets <= span:
            raise ValueError(f"a window of {span} has from 1 to {span} buckets, not {buckets}")
        if span % buckets:
            raise ValueError(f"a window of {span} does not divide into {buckets} buckets")
        self.width = span // buckets
        self.buckets = buckets
        self.latest = 0
        self.view = array("q", bytes(8 * CELLS * buckets))
        if cython.compiled:
            self.cells = begin(self.view)
        else:
            self.cells = self.view
            self.sums = [0] * CELLS
        self.clear()

    def add(self, outcome: int, now: int, took: int, slow: int) -> None:
        """Count what came of a call at `now`, which took so many microseconds."""
        self.turn(now)
        base = self.latest % self.buckets * CELLS
        self.cells[base + outcome] += 1
        self.sums[outcome] += 1
        if slow > 0:
            self.cells[base + SLOW] += 1
            self.sums[SLOW] += 1
        if outcome == GOOD:
            self.cells[base + SPENT] += took
            self.sums[SPENT] += took

    def gain(self, outcome: int, now: int, calls: int) -> None:
        """Count so many calls that came to the same; how long they took is not asked."""
        self.turn(now)
        self.cells[self.latest % self.buckets * CELLS + outcome] += calls
        self.sums[outcome] += calls

    def turn(self, now: int) -> None:
        """Clear what is over. A clock that went back counts in the latest bucket."""
        latest = now // self.width
        if latest <= self.latest:
            return
        fresh = max(self.latest + 1, latest - self.buckets + 1)
        while fresh <= latest:
            base = fresh % self.buckets * CELLS
            cell = 0
            while cell < CELLS:
                self.sums[cell] -= self.cells[base + cell]
                self.cells[base + cell] = 0
                cell += 1
            fresh += 1
        self.latest = latest

    def clear(self) -> None:
        """Forget what was counted."""
        cell = 0
        while cell < CELLS * self.buckets:
            self.cells[cell] = 0
            cell += 1
        cell = 0
        while cell < CELLS:
            self.sums[cell] = 0
            cell += 1

    def calls(self) -> int:
        """How many were made, as of the latest turn."""
        return self.sums[GOOD] + self.failed()  # type: ignore[no-any-return]

    def failed(self) -> int:
        """How many of them failed, in time or not."""
        return self.sums[BAD] + self.sums[LATE]  # type: ignore[no-any-return]

    def slow(self) -> int:
        """How many of them were slow."""
        return self.sums[SLOW]  # type: ignore[no-any-return]

    def mean(self) -> int:
        """The microseconds that a successful call took, on average; 0 if there was none."""
        return self.sums[SPENT] // max(1, self.sums[GOOD])  # type: ignore[no-any-return]

    def peak(self, run: int) -> int:
        """The most successful calls of so many buckets in a row, all of which are over."""
        most = count = 0
        bucket = max(0, self.latest - self.buckets + 1)
        first = bucket
        while bucket < self.latest:
            count += self.cells[bucket % self.buckets * CELLS + GOOD]
            if bucket - first >= run:
                count -= self.cells[(bucket - run) % self.buckets * CELLS + GOOD]
            most = max(most, count)
            bucket += 1
        return most

    def best(self) -> int:
        """The least microseconds that calls took on average in one bucket; 0 if there were none."""
        least = 0
        bucket = 0
        while bucket < self.buckets:
            count = self.cells[bucket * CELLS + GOOD]
            if count > 0 and bucket != self.latest % self.buckets:
                mean = max(1, self.cells[bucket * CELLS + SPENT] // count)
                least = mean if least == 0 else min(least, mean)
            bucket += 1
        return least

    def totals(self, now: int) -> Totals:
        """What came of the calls of the whole window."""
        self.turn(now)
        return self.tally()

    def tally(self) -> Totals:
        """The same, as of the latest turn."""
        return Totals(
            self.sums[SUCCESS],
            self.sums[FAILURE],
            self.sums[TIMEOUT],
            self.sums[REJECTED],
            self.sums[SLOW],
        )
