"""Demand: what each key of a log would have needed, so that a limit never had refused it.

For a rate, the burst that a key needs is the highest its bucket would have been filled if nothing
had ever been refused: a bucket of that size refuses none of its requests, and a smaller one at
least one. So how many keys a limit touches is known exactly, for every burst, from one number for
each key and rate.

Of more keys than are kept, a part is followed that is chosen by their names alone, each of them
from its first request on: shares are then estimates, from so many keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import crc32

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

# Windows in which the requests of a key are counted: a second, a minute, an hour, a day.
WINDOWS = 4
WIDTHS = (1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000)
# Rates that are tried, at most.
MOST_RATES = 24
# What a request found in its bucket is counted up to this; what is more counts as this.
DEEPEST = 1 << 14
# After so many microseconds every bucket is empty.
LONGEST = 10_000_000_000_000
MOST_KEYS = 200_000


class Demand:
    """What one key needed, by rate, and the most it asked in each window."""

    __slots__ = ("asked", "counts", "last", "levels", "most", "peaks", "windows")

    windows: Any
    counts: Any
    most: Any
    levels: Any
    peaks: Any

    def __init__(self) -> None:
        self.asked = 0
        self.last = 0
        if not cython.compiled:
            self.windows, self.counts, self.most = [-1] * WINDOWS, [0] * WINDOWS, [0] * WINDOWS
            self.levels, self.peaks = [0] * MOST_RATES, [0] * MOST_RATES
        else:
            self.begin()

    def begin(self) -> None:
        number = 0
        while number < WINDOWS:
            self.windows[number] = -1
            self.counts[number] = self.most[number] = 0
            number += 1
        number = 0
        while number < MOST_RATES:
            self.levels[number] = self.peaks[number] = 0
            number += 1

    def busiest(self, window: int) -> int:
        """The most it asked in any second, minute, hour or day of the clock."""
        return int(self.most[window])

    def needed(self, rate: int) -> int:
        """How full its bucket was at most under one of the rates, in units times its period."""
        return int(self.peaks[rate])


class Demands:
    """All keys: `add` each request in the order of time.

    `rates` are whole units in a `period` of microseconds. What is in a bucket is counted in whole
    numbers, a unit being as many as the period has microseconds: nothing is rounded.
    """

    __slots__ = ("asked", "count", "depths", "kept", "keys", "mask", "period", "rates", "skipped")

    rates: Any
    keys: dict[str, Demand]
    depths: list[list[int]]

    def __init__(self, rates: list[int], period: int, kept: int = MOST_KEYS) -> None:
        self.count = len(rates)
        self.period = period
        self.kept = kept
        # Of keys whose number has one of these bits, nothing is kept.
        self.mask = 0
        self.asked = self.skipped = 0
        self.keys = {}
        # How many requests found a bucket so full, by rate.
        self.depths = [[0] * (DEEPEST + 1) for _ in rates]
        if not cython.compiled:
            self.rates = [0] * MOST_RATES
        for number, rate in enumerate(rates):
            self.rates[number] = rate

    def add(self, key: str, at: int) -> None:
        """One request."""
        demand = self.keys.get(key)
        if demand is None:
            if self.mask > 0 and crc32(key.encode("utf-8", "surrogatepass")) & self.mask > 0:
                self.skipped += 1
                return
            demand = self.keys[key] = Demand()
            demand.last = at
            if len(self.keys) > self.kept:
                self.thin()
        self.asked += 1
        demand.asked += 1
        self.fill(demand, at)
        self.tell(demand, at)

    def fill(self, demand: Demand, at: int) -> None:
        # Into a bucket for each rate.
        gone = min(at - demand.last, LONGEST)
        demand.last = at
        number = 0
        while number < self.count:
            level = demand.levels[number] - gone * self.rates[number]
            if level < 0:
                level = 0
            level += self.period
            demand.levels[number] = level
            if level > demand.peaks[number]:
                demand.peaks[number] = level
            self.sink(number, level)
            number += 1

    def sink(self, number: int, level: int) -> None:
        # What is not quite full needs the whole of it.
        depth = (level + self.period - 1) // self.period
        depths = self.depths[number]
        depths[min(depth, DEEPEST)] += 1

    def tell(self, demand: Demand, at: int) -> None:
        # In the windows of the clock.
        number = 0
        while number < WINDOWS:
            width = WIDTHS[number]
            window = at // width
            if window != demand.windows[number]:
                demand.windows[number] = window
                demand.counts[number] = 0
            demand.counts[number] += 1
            if demand.counts[number] > demand.most[number]:
                demand.most[number] = demand.counts[number]
            number += 1

    def thin(self) -> None:
        """Follow half as many keys from now on."""
        self.mask = self.mask * 2 + 1
        mask = self.mask
        self.keys = {
            key: demand
            for key, demand in self.keys.items()
            if not crc32(key.encode("utf-8", "surrogatepass")) & mask
        }
