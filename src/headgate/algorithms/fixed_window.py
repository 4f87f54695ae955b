"""Fixed window: count what goes in, start again when the window ends.

The cells are `window` (which one) and `count` (units in it). Windows are numbered: number `first`
starts at `begin`, each is `unit` microseconds after the one before. Aligned to the clock, a unit
is a whole window; anchored at the first request, a unit is a microsecond, and the number of a
window is the moment it began. A calendar moves `first`, `begin` and `length` along as days and
months pass.

A count above the limit is booked into the windows that follow, each taking `limit` of it.
"""

from __future__ import annotations

from headgate.algorithms.calendar import PERIODS, frame, place
from headgate.algorithms.limit import (
    ROOM,
    YEAR,
    Answer,
    Cells,
    Limit,
    choice,
    counter,
    describe,
)
from headgate.errors import LimitError
from headgate.rate import Rate

SLACK = 1_000_000
# Windows ahead are found in the calendar up to here; farther off, they are as long as this one.
DATED = 100


def step(
    now: int, enter: int, cost: int, patience: int,
    limit: int, length: int, unit: int, first: int, begin: int,
    window: int, count: int,
) -> tuple[int, int, int, int, int]:  # fmt: skip
    """What is true if `cost` units enter at `enter`, `limit` of them fitting into one window."""
    window, start, used = roll(now, limit, length, unit, first, begin, window, count)
    taken = used
    if enter >= start + length:
        taken = max(taken, (enter - start) // length * limit)
    # The window it falls into, counted from this one, and how full that one is.
    ahead = max(0, taken - 1) // limit
    fill = taken - ahead * limit
    if fill + cost > limit:
        ahead = ahead + 1
        fill = 0
    wait = enter - now
    if ahead > 0:
        wait = max(enter, start + ahead * length) - now
    if wait <= patience:
        used = ahead * limit + fill + cost
    reset = 0
    if used > 0:
        reset = start + (used + limit - 1) // limit * length - now
    return wait, limit - used, reset, window, used


def charge(
    now: int, cost: int, due: int,
    limit: int, length: int, unit: int, first: int, begin: int, deepest: int,
    window: int, count: int,
) -> tuple[int, int]:  # fmt: skip
    """What is true once `cost` units are counted whatever the count, or given back if negative."""
    window, start, used = roll(now, limit, length, unit, first, begin, window, count)
    if cost >= 0:
        return window, min(used + cost, deepest)
    # A window that is over cannot be given back to, nor one that later bookings count on.
    if due < start or start + max(0, used - 1) // limit * length > due:
        return window, used
    return window, max(0, used + cost)


def roll(
    now: int, limit: int, length: int, unit: int, first: int, begin: int, window: int, count: int
) -> tuple[int, int, int]:
    """The window that `now` is in, when it started, and what is used of it and those after it."""
    here = first + max(0, now - begin) // unit
    if window > here:
        start = begin + (window - first) * unit
        if start - now <= SLACK:
            return window, start, count
        # The clock went back by more than we doubt it: the count comes along.
        return here, begin + (here - first) * unit, count
    passed = min((here - window) * unit // length, count // limit + 1)
    used = max(0, count - passed * limit)
    if used == 0:
        window = here
    else:
        window = window + passed * length // unit
    return window, begin + (window - first) * unit, used


class FixedWindow(Limit):
    """`rate.count` units per window: at most twice that in any span as long as a window.

    Windows are aligned to the clock: with `5/min`, 11:00:45 belongs to the minute that began at
    11:00:00. `anchor="first"` begins a window at the first request after the last one ended.
    `calendar="day"`, `"week"` or `"month"` follows the calendar of `zone`, with its short and
    long days; a week begins on Monday. A refused request costs `penalty` units, until the next
    window is used up too.
    """

    __slots__ = ("anchor", "begin", "calendar", "deepest", "end", "first", "length", "unit", "zone")

    anchor: str
    calendar: str
    zone: str
    length: int
    unit: int
    first: int
    begin: int
    end: int
    deepest: int

    def __init__(
        self,
        rate: Rate | str,
        anchor: str = "clock",
        calendar: str = "",
        zone: str = "UTC",
        penalty: int = 0,
        name: str = "",
    ) -> None:
        counter(self, "FixedWindow", rate, penalty, name)
        self.anchor = choice("FixedWindow", "anchor", anchor, ("clock", "first"))
        self.calendar = choice("FixedWindow", "calendar", calendar, ("", *PERIODS))
        self.zone = place(zone)
        self.width = 2
        self.length = self.rate.period
        self.unit = 1 if anchor == "first" else self.length
        self.first = self.begin = self.end = 0
        # A debt of at most a hundred years of windows, so that times stay below 2^53.
        self.deepest = min(ROOM, (100 * YEAR // self.length + 1) * self.limit)
        self.heaviest = self.deepest
        self.horizon = min(100 * YEAR, (1 << 51) // max(1, self.limit) * self.length)
        if calendar:
            self._check()
            self.name = name or f"{self.limit} per calendar {calendar}"
        describe(
            self,
            {
                "anchor": anchor,
                "calendar": calendar,
                "zone": zone,
                "penalty": penalty,
                "name": name,
            },
            {"anchor": "clock", "calendar": "", "zone": "UTC", "penalty": 0, "name": ""},
        )

    def _check(self) -> None:
        if self.anchor == "first":
            raise LimitError('FixedWindow: a calendar has its own anchor; leave out anchor="first"')
        if self.length != PERIODS[self.calendar]:
            raise LimitError(
                f'FixedWindow("{self.rate}", calendar="{self.calendar}"): the rate is per '
                f'{self.calendar} then; write "{Rate.of(self.rate.count, PERIODS[self.calendar])}"'
            )

    def own(self) -> Limit:
        """A copy for one store, where a calendar has to be followed."""
        if not self.calendar:
            return self
        return FixedWindow(
            self.rate,
            self.anchor,
            self.calendar,
            self.zone,
            self.penalty,
            self.options.get("name", ""),
        )

    def follow(self, now: int) -> None:
        """Move on to the day, week or month that `now` is in."""
        if not self.calendar or self.begin <= now < self.end:
            return
        self._frame(*frame(now, self.calendar, self.zone))

    def date(self, now: int, span: int, patience: int) -> int:
        # The steps count windows as long as this one; the calendar knows how long they are.
        if not self.calendar or now + span <= self.end:
            return span
        ahead, rest = divmod(now + span - self.begin, self.length)
        number, begin, end = self.first, self.begin, self.end
        while number < self.first + min(ahead, DATED):
            number, begin, end = frame(end, self.calendar, self.zone)
        real = begin + max(0, ahead - DATED) * self.length + rest - now
        # What the step refused stays refused, though by the calendar it may be just in time.
        return real if span <= patience else max(real, patience + 1)

    def undate(self, now: int, moment: int) -> int:
        # A moment in the third window of the calendar lies in the third window of the steps.
        if not self.calendar or moment < self.end:
            return moment
        ahead = 0
        begin, end = self.begin, self.end
        while moment >= end and ahead < DATED:
            ahead += 1
            _, begin, end = frame(end, self.calendar, self.zone)
        rest = moment - begin
        if ahead == DATED:
            ahead, rest = ahead + rest // self.length, rest % self.length
        # A window that is longer than this one has no end for the steps.
        return self.begin + ahead * self.length + min(rest, self.length - 1)

    def _frame(self, first: int, begin: int, end: int) -> None:
        self.first = first
        self.begin = begin
        self.end = end
        self.length = self.unit = end - begin

    def look(
        self, cells: Cells, row: int, now: int, enter: int, cost: int, patience: int
    ) -> Answer:
        wait, remaining, reset, window, count = step(
            now, enter, cost, patience,
            self.limit, self.length, self.unit, self.first, self.begin,
            cells[row], cells[row + 1],
        )  # fmt: skip
        return wait, remaining, reset, window, count, 0

    def charge(self, cells: Cells, row: int, now: int, cost: int, due: int) -> None:
        window, count = charge(
            now, cost, due,
            self.limit, self.length, self.unit, self.first, self.begin, self.deepest,
            cells[row], cells[row + 1],
        )  # fmt: skip
        cells[row] = window
        cells[row + 1] = count
