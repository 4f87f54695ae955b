"""Top: who asks most, in memory that does not grow with how many ask.

Whoever asks gets a cell. When there is no room for one more, those in the lower half leave, and
what the last of them had counted is how often somebody may have asked who is not there (`least`);
who comes later begins with that, and it is told as the error. It is what Misra and Gries (1982)
count, with the lower half taken out at once as Anderson and others (2017) do, so that one more
key costs no more than one that is there already. A key that makes up more than one part in `size`
of all is always there, and none was counted too seldom since it entered.

Each request is counted once: among those that were let in, or among those that were refused. Who
asks most is the sum of the two, and so is the error: a part of those let in and the same part of
those refused are together that part of all.

Who asked most a day ago is of no interest: what is counted is that of the span of time before the
present one, and of what has passed of this one. Whoever reads or sweeps looks at the clock; who
counts does not.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from headgate.latch import Latch
from headgate.measures import MILLION
from headgate.rules.live.ranking import Heavy, Places, heaviest, met
from headgate.rules.matching.facts import LONGEST_KEY, tidy

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

if cython.compiled:
    from cython.cimports.headgate.block import begin

# What is counted of one part in so many of all requests is never wrong by more than all of it.
SIZE = 256
# Microseconds.
SPAN = 300_000_000
# A cell: the mark of its key, how often that came, how much of it may be others', and whether its
# name is known.
MARK, TIMES, ERROR, NAMED, WIDTH = range(5)
# As C numbers when compiled; the above stay Python's, because others import them.
M, T, E, N, W = 0, 1, 2, 3, 4
LONGEST = LONGEST_KEY
FIRST = 8
# Interpreted, all count and look one at a time.
LATCH = Latch()


class Top:
    """The keys that come most; `total` is how often anybody has come.

    Nobody who is not there has come more than once more than `least` times, which is at most one
    part in `size` of all.
    """

    __slots__ = ("cells", "count", "keys", "least", "most", "room", "total", "view")

    cells: Any
    view: Any
    keys: list[Any]
    count: int
    least: int
    most: int
    room: int
    total: int

    def __init__(self, size: int = SIZE) -> None:
        self.total = self.least = self.count = 0
        self.most = 2 * size
        self.room = 0
        self.view = None
        self.rebuild(FIRST, 0)

    def note(self, key: str) -> None:
        """A key has come."""
        mark = hash(key)
        # A cell whose mark is nought is free.
        if mark == 0:
            mark = 1
        if cython.compiled:
            with cython.critical_section(self):
                self.add(mark, key)
        else:
            with LATCH:
                self.add(mark, key)

    def places(self) -> Places:
        """Where each key stands that is counted, the cells by which it is, and how often somebody
        may have come who is not there.
        """
        if cython.compiled:
            with cython.critical_section(self):
                cells, keys, least = self.view, self.keys, self.least
        else:
            with LATCH:
                cells, keys, least = self.view, self.keys, self.least
        found: dict[Any, int] = dict(zip(keys, range(0, len(keys) * W, W), strict=True))
        found.pop(None, None)
        return found, cells, least + 1 if least else 0

    def add(self, mark: int, key: str) -> None:
        at = self.seek(mark)
        if self.cells[at] == 0:
            at = self.enter(mark)
        if self.cells[at + N] == 0 and (self.least == 0 or self.cells[at + T] > self.least):
            at = self.name(mark, key)
        self.cells[at + T] += 1
        self.total += 1

    def seek(self, mark: int) -> int:
        # The cell of a mark, or the free one where it would be.
        cells = self.cells
        last = self.room - 1
        place = mark & last
        while cells[place * W] != 0 and cells[place * W] != mark:
            place = (place + 1) & last
        return place * W

    def name(self, mark: int, key: str) -> int:
        # Keep the key itself, or its digest if it is long. Where most ask but once, it is not kept
        # at once: to let go of so many takes longer than to count them.
        name = key if len(key) <= LONGEST else tidy(key)
        at = self.seek(mark)
        if self.cells[at] == 0:
            at = self.enter(mark)
        self.keys[at // W] = name
        self.cells[at + N] = 1
        return at

    def enter(self, mark: int) -> int:
        # A cell for a key that has none.
        while self.count >= self.most or self.count * 2 >= self.room:
            if self.count >= self.most:
                self.rebuild(self.room, self.median())
            else:
                self.rebuild(self.room * 2, self.least)
        at = self.seek(mark)
        cells = self.cells
        if cells[at] == mark:
            # It came in while room was made for it.
            return at
        cells[at] = mark
        cells[at + T] = self.least
        cells[at + E] = self.least
        cells[at + N] = 0
        self.count += 1
        return at

    def rebuild(self, room: int, floor: int) -> None:
        # Put those who came more than `floor` times where there is so much room.
        known = self.view
        view = array("q", [0]) * (W * room)
        names: list[Any] = [None] * room
        fresh = begin(view) if cython.compiled else view
        # To make something may let others in, who have done it by now. From here on, none is.
        if self.view is not known:
            return
        old = self.cells if self.room > 0 else fresh
        count = place = 0
        while place < self.room:
            at = place * W
            # Nobody came to a free cell, so one question is enough, which can be foreseen.
            if old[at + T] > floor:
                spot = old[at] & (room - 1)
                while fresh[spot * W] != 0:
                    spot = (spot + 1) & (room - 1)
                to = spot * W
                fresh[to] = old[at]
                fresh[to + T] = old[at + T]
                fresh[to + E] = old[at + E]
                fresh[to + N] = old[at + N]
                names[spot] = self.keys[place]
                count += 1
            place += 1
        self.room = room
        self.count = count
        self.least = floor
        self.cells = fresh
        self.view = view
        self.keys = names

    def median(self) -> int:
        # The least number that half of those who are there have not come more often than.
        step = 1
        while self.below(self.least + step) * 2 < self.count:
            step *= 2
        low = step // 2
        while low + 1 < step:
            middle = (low + step) // 2
            if self.below(self.least + middle) * 2 < self.count:
                low = middle
            else:
                step = middle
        return self.least + step

    def below(self, most: int) -> int:
        # How many are there who came at most so often: of all cells, without those that are free.
        cells = self.cells
        found = self.count - self.room
        at, end = T, self.room * W
        while at < end:
            found += cells[at] <= most
            at += W
        return found


class Tops:
    """Who asks most by one rule, and who is refused most, in this span of time and the last."""

    __slots__ = ("passed", "passed_before", "refused", "refused_before", "since", "until")

    passed: Top
    refused: Top
    passed_before: Top
    refused_before: Top
    since: int
    until: int

    def __init__(self) -> None:
        self.since = self.until = 0
        self.passed, self.refused = Top(), Top()
        self.passed_before, self.refused_before = Top(), Top()

    def most(self, few: int, now: int) -> tuple[list[Heavy], int, int]:
        """The few who asked most, and how often each was refused at least; how often anybody did,
        and since how many microseconds.
        """
        self.turn(now)
        refused = (self.refused_before, self.refused)
        asked = heaviest(few, self.passed_before, self.passed, *refused)
        noes = met(asked, [top.places() for top in refused])
        heavy = [
            Heavy(key, one.times, one.error, noes[key].times - noes[key].error)
            for key, one in asked.items()
        ]
        return heavy, self.total(), now - self.since

    def worst(self, few: int, now: int) -> list[Heavy]:
        """The few who were refused most, by how often that was; the error is that of `refused`."""
        self.turn(now)
        before, lately = self.refused_before, self.refused
        refused = heaviest(few, before, lately)
        passed = met(refused, [self.passed_before.places(), self.passed.places()])
        return [
            Heavy(key, one.times + passed[key].times, one.error, one.times)
            for key, one in refused.items()
        ]

    def reading(self, few: int, now: int) -> dict[str, Any]:
        """The few who asked most and were refused most, and how many of all that is."""
        heavy, total, span = self.most(few, now)
        refused = self.worst(few, now)
        return {
            "span": span / MILLION,
            "total": total,
            "asked": [one._asdict() for one in heavy],
            "refused": [one._asdict() for one in refused],
        }

    def total(self) -> int:
        """How often anybody asked."""
        passed = self.passed_before.total + self.passed.total
        return passed + self.refused_before.total + self.refused.total

    def turn(self, now: int) -> None:
        """See whether a span of time is over: the present becomes the past then."""
        if now < self.until:
            return
        # Made beforehand, because that may let others in.
        fresh = [Top() for _ in range(4)]
        if cython.compiled:
            with cython.critical_section(self):
                self.follow(now, fresh)
        else:
            with LATCH:
                self.follow(now, fresh)

    def follow(self, now: int, fresh: list[Top]) -> None:
        if now < self.until:
            return
        # Unless nobody has looked for longer than that.
        lately = now < self.until + SPAN
        first = not self.until
        if not first:
            self.passed_before = self.passed if lately else fresh[0]
            self.refused_before = self.refused if lately else fresh[1]
            self.passed, self.refused = fresh[2], fresh[3]
        self.since = self.until - SPAN if lately and not first else now
        self.until = now + SPAN
