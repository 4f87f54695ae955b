"""Assay: for a sample of keys, what a rule refuses is weighed again, exactly.

A refusal was wrong if what was let in before it, and it as well, would have kept to what the rule
says. For windows that is a log of the same count: in no span as long as the window goes in more
than that. For buckets it is the bucket itself, of the same rate and burst. What is held against
the refusal is what this rule has let in and no other history, so a limit that lets too much in is
not blamed for what it refuses therefore.

The sample are the keys whose marks end in enough noughts, by a secret of this process; there are
few, and whoever is one of them was one from the beginning. What is remembered of each is bounded:
in a window of more than a thousand units, those that come within a thousandth of it go as one, at
the later moment. So what may be wrong is rather found to be right.
"""

from __future__ import annotations

import secrets
from array import array
from typing import TYPE_CHECKING, Any

from headgate.algorithms.fixed_window import FixedWindow
from headgate.algorithms.gcra import GCRA
from headgate.algorithms.leaky_bucket import LeakyBucket
from headgate.algorithms.sliding_log import SlidingLog
from headgate.algorithms.sliding_window import SlidingWindow
from headgate.algorithms.token_bucket import TokenBucket
from headgate.latch import Latch

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

if cython.compiled:
    from cython.cimports.headgate.block import begin

# So many keys are looked at, at most, and so many parts of a window told apart.
KEYS = 32
GRAIN = 1024
# Places for keys: twice as many, so that a free one is soon found.
PLACES = 64
# In the place of a moment: when somebody is looked at.
LATER = 1 << 61
# As a C number when compiled.
FROM_NOW = LATER
WINDOWS = (FixedWindow, SlidingWindow, SlidingLog)
BUCKETS = (TokenBucket, GCRA, LeakyBucket)
# The bits of a mark; as a name, because so long a literal would be a Python number when compiled.
LOW = 0x7FFFFFFFFFFF
# Below this, numbers add up without care.
LARGEST = 1 << 60
# Interpreted, all are weighed one at a time.
LATCH = Latch()


class Scale:
    """What one key was let in with, as one limit measures it exactly.

    `most` units in `span` microseconds; with `burst`, a bucket of so many that fills at that rate,
    and is `full` again after so long.
    """

    __slots__ = (
        "burst", "cells", "first", "full", "grain", "last", "latest", "level", "most", "room",
        "size", "span", "sum", "view",
    )  # fmt: skip

    cells: Any
    view: Any

    def __init__(self, most: int, span: int, burst: int, full: int) -> None:
        self.most = most
        self.span = span
        self.burst = burst
        self.full = full
        self.grain = span // GRAIN if most > GRAIN else 0
        self.first = self.size = self.sum = self.last = 0
        # What a bucket lacks, in parts of a unit of which there are as many as microseconds.
        self.level = self.latest = 0
        self.room = 0
        self.view = None
        if not burst:
            self.grow(8)

    def see(self, now: int, units: int) -> None:
        """So many units went in."""
        now = max(now, self.latest)
        if self.burst > 0:
            self.level = self.lacks(now) + units * self.span
            self.latest = now
            return
        self.latest = now
        self.prune(now)
        self.sum += units
        if self.size > 0 and now - self.last <= self.grain:
            # With those before it, at the later moment.
            self.cells[self.newest() + 1] += units
            self.cells[self.newest()] = now
            return
        while self.size >= self.room:
            self.grow(self.room * 2)
        self.size += 1
        self.last = now
        at = self.newest()
        self.cells[at] = now
        self.cells[at + 1] = units

    def fits(self, now: int, units: int) -> bool:
        """Whether so many units would have gone in."""
        now = max(now, self.latest)
        if self.burst > 0:
            return self.lacks(now) + units * self.span <= self.burst * self.span
        self.prune(now)
        return self.sum + units <= self.most

    def lacks(self, now: int) -> int:
        # What of a bucket is empty.
        gone = now - self.latest
        if gone >= self.full and self.level <= self.burst * self.span:
            return 0
        return max(0, self.level - min(gone, self.full) * self.most)

    def newest(self) -> int:
        # Where the latest one stands.
        return (self.first + self.size - 1) % self.room * 2

    def prune(self, now: int) -> None:
        # Forget what has left the window.
        cells = self.cells
        while self.size > 0 and cells[self.first * 2] <= now - self.span:
            self.sum -= cells[self.first * 2 + 1]
            self.first = (self.first + 1) % self.room
            self.size -= 1

    def grow(self, room: int) -> None:
        # Have room for more, unless others came in and have seen to it while it was made.
        known = self.view
        view = array("q", bytes(16 * room))
        if self.view is not known:
            return
        fresh = begin(view) if cython.compiled else view
        place = 0
        while place < self.size:
            at = (self.first + place) % self.room * 2
            fresh[place * 2] = self.cells[at]
            fresh[place * 2 + 1] = self.cells[at + 1]
            place += 1
        self.first = 0
        self.room = room
        self.cells = fresh
        self.view = view


class Assay:
    """Weighs refusals under `limits` again; `awake` is whether there is an exact measure of them.

    Of a key in the sample all is known: it was there from the moment it was first seen, or from
    `began` on, and then refusals count once nothing of what was before can matter any more.
    """

    __slots__ = (
        "awake", "began", "count", "keep", "limits", "marks", "salt", "scales", "span",
        "view",
    )  # fmt: skip

    marks: Any
    view: Any
    scales: list[Any]

    def __init__(self, limits: tuple[Any, ...], new: bool = True) -> None:
        found = [measured(limit) for limit in limits]
        self.limits = tuple(limits)
        self.awake = bool(found) and None not in found
        self.span = max([one[3] for one in found if one is not None], default=0)
        self.salt = secrets.randbits(62) | 1
        # Nobody had any state before, or it is not known which.
        self.began = -self.span if new else LATER
        self.keep = 0
        view, scales = blank()
        self.seat(view, scales, [])

    def weigh(self, key: str, units: int, now: int, allowed: bool) -> int:
        """A key was let in or not: 0 if nobody looks, 1 if a refusal was right, 2 if it was not."""
        mark = self.mark(hash(key))
        if mark & self.keep:
            return 0
        if cython.compiled:
            with cython.critical_section(self):
                return self.judge(mark + 1, units, now, allowed)
        else:
            with LATCH:
                return self.judge(mark + 1, units, now, allowed)

    def mark(self, digest: int) -> int:
        # As good as chance, and always the same for a key.
        mixed = digest * self.salt
        return mixed >> 16 & LOW

    def judge(self, mark: int, units: int, now: int, allowed: bool) -> int:
        place = self.seek(mark)
        if self.marks[place] == 0:
            place = self.enter(mark, now)
            if place < 0:
                return 0
        scales = self.scales[place]
        if allowed:
            for scale in scales:
                scale.see(now, units)
            return 0
        if now < self.began + self.span:
            if self.began == FROM_NOW:
                self.began = now
            return 0
        for scale in scales:
            if not scale.fits(now, units):
                return 1
        return 2

    def seek(self, mark: int) -> int:
        # Where a key stands, or would.
        marks = self.marks
        place = mark >> 24 & (PLACES - 1)
        while marks[place] != 0 and marks[place] != mark:
            place = (place + 1) & (PLACES - 1)
        return place

    def enter(self, mark: int, now: int) -> int:
        # Look at one more key; -1 if it is none of the sample after all. To make something may let
        # others in, so that comes first, and they may have done the same.
        scales = [Scale(*one) for one in map(measured, self.limits) if one is not None]
        while self.count >= KEYS:
            self.thin(now)
        if mark - 1 & self.keep:
            return -1
        place = self.seek(mark)
        if self.marks[place] == 0:
            self.marks[place] = mark
            self.scales[place] = scales
            self.count += 1
        return place

    def thin(self, now: int) -> None:
        # Forget who has been away for so long that it is as new; then, if it must be, every other.
        known, count, keep, began = self.view, self.count, self.keep, self.began
        kept = [
            (mark, scales)
            for mark, scales in zip(known, self.scales, strict=True)
            if mark and any(now - scale.latest < self.span for scale in scales)
        ]
        if len(kept) < KEYS // 4 and keep:
            # Others may come in now, of whom is not known what they did before.
            keep, began = keep >> 1, now
        while len(kept) >= KEYS:
            keep = keep * 2 + 1
            kept = [one for one in kept if not one[0] - 1 & keep]
        view, places = blank()
        # Who came in meanwhile is to stay: it is done again then, if it still must be.
        if self.view is known and self.count == count:
            self.keep, self.began = keep, began
            self.seat(view, places, kept)

    def seat(self, view: Any, scales: list[Any], kept: list[Any]) -> None:
        # Look at those from now on, where nobody is looked at yet.
        self.marks = begin(view) if cython.compiled else view
        self.view = view
        self.scales = scales
        self.count = len(kept)
        for mark, found in kept:
            place = self.seek(mark)
            self.marks[place] = mark
            self.scales[place] = found


def blank() -> tuple[Any, list[Any]]:
    """Places for marks and for scales, with nobody there."""
    return array("q", bytes(8 * PLACES)), [None] * PLACES


def measured(limit: Any) -> tuple[int, int, int, int] | None:
    """The exact measure of a limit: units, span, burst, and how long anything matters.

    None if it has none: refusals cost something, or it moves, or is meant to let in all at once.
    """
    options, rate = limit.options, limit.rate
    if options.get("penalty") or limit.most < 1 or rate.count < 1:
        return None
    if isinstance(limit, WINDOWS):
        return rate.count, rate.period, 0, rate.period
    odd = options.get("refill", "greedy") != "greedy" or options.get("borrow")
    if not isinstance(limit, BUCKETS) or odd or options.get("initial", limit.burst) != limit.burst:
        return None
    if (limit.burst + 1) * rate.period >= LARGEST:
        return None
    return rate.count, rate.period, limit.burst, limit.burst * rate.period // rate.count + 1
