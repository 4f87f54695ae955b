"""Rows: one block of memory in which every key's state stands, a row of int64 cells each.

A row is a fingerprint of the key, the moment it may be thrown away, and the cells of each limit.
Rows stand in groups of eight; a key may stand anywhere in two groups that its fingerprint names,
so finding it looks at sixteen rows at most, and no key moves once it stands. The block is as
large as it will ever be from the start, untouched pages cost nothing, and there is no garbage,
no timer and no thread.

A row whose moment has passed equals a new one and is used again. When both groups are full of
live rows, the one nearest its end is given up and counted, but never one that is in debt: a key
that would be refused now stays refused, however many fresh keys come along. If all sixteen are
in debt, the newcomer shares one row at the end of the block with others like it, and is counted.

Given a block that other processes have too, rows have a desk behind them, and nothing is changed
before it is noted there.

Nothing here takes a lock: whoever calls has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headgate.algorithms.limit import Limit
from headgate.stores.flat.desk import Desk
from headgate.stores.flat.ground import private, shape

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

if cython.compiled:
    from cython.cimports.headgate.block import begin

GROUP = 8
MOST = 8
FOREVER = 1 << 62
LISTED = 1 << 21


class Rows:
    """A fixed block of rows for up to `capacity` keys under `limits`."""

    __slots__ = (
        "capacity", "cells", "count", "crowded", "desk", "evicted", "groups", "limits", "most",
        "offsets", "only", "size", "stride", "view",
    )  # fmt: skip

    limits: tuple[Limit, ...]
    only: Limit | None
    count: int
    most: int
    capacity: int
    groups: int
    size: int
    stride: int
    evicted: int
    crowded: int
    desk: Desk | None
    offsets: Any
    cells: Any
    view: Any

    def __init__(self, limits: tuple[Limit, ...], capacity: int, block: Any = None) -> None:
        self.limits = limits
        self.only = limits[0] if len(limits) == 1 else None
        self.count = len(limits)
        self.most = min(limit.most for limit in limits)
        self.capacity = capacity
        self.evicted = self.crowded = 0
        self.groups, self.stride, room = shape(limits, capacity)
        self.size = self.groups * GROUP
        if not cython.compiled:
            self.offsets = [0] * MOST
        offset = 2
        for number, limit in enumerate(limits):
            self.offsets[number] = offset
            offset += limit.width
        self.desk = None if block is None else Desk(block, room, self.stride)
        self.view = private(room) if block is None else block
        if cython.compiled:
            self.cells = begin(self.view)
        else:
            # Interpreted, a list is twice as quick; it is only too large for large rows.
            listed = block is None and room <= LISTED
            self.cells = [0] * room if listed else self.view

    def search(self, mark: int) -> int:
        # The row of a fingerprint, or -1.
        cells = self.cells
        stride = self.stride
        base = ((mark >> 32 & 0x7FFFFFFF) * self.groups >> 31) * GROUP
        turn = mark & 7
        row = (base + turn) * stride
        if cells[row] == mark:
            return row
        tries = 1
        while tries < GROUP:
            row = (base + ((turn + tries) & 7)) * stride
            if cells[row] == mark:
                return row
            tries += 1
        base = self.group(mark, 1)
        tries = 0
        while tries < GROUP:
            row = (base + ((turn + tries) & 7)) * stride
            if cells[row] == mark:
                return row
            tries += 1
        return -1

    def place(self, mark: int, now: int) -> int:
        # A row for a fingerprint that has none, opened.
        cells = self.cells
        row = self.vacant(mark, now)
        if row < 0:
            row = self.nearest(mark, now)
            if row < 0:
                self.crowded += 1
                if self.desk is not None:
                    self.desk.crowd()
                return self.shared(now)
            self.evicted += 1
            if self.desk is not None:
                self.desk.evict()
        self.note(row)
        cells[row] = mark
        self.open(row, now)
        return row

    def vacant(self, mark: int, now: int) -> int:
        # A row nobody needs, or -1: in the first group while it has four, else in the emptier one,
        # so that most keys are found where one looks first, and none of a full table finds no room.
        first = self.group(mark, 0)
        second = self.group(mark, 1)
        room = self.room(first, now)
        if room < 4 and room < self.room(second, now):
            first = second
        elif room == 0:
            return -1
        turn = mark & 7
        row = (first + turn) * self.stride
        while self.cells[row + 1] > now:
            turn = (turn + 1) & 7
            row = (first + turn) * self.stride
        return row

    def room(self, base: int, now: int) -> int:
        # How many rows of a group nobody needs.
        free = tries = 0
        while tries < GROUP:
            if self.cells[(base + tries) * self.stride + 1] <= now:
                free += 1
            tries += 1
        return free

    def nearest(self, mark: int, now: int) -> int:
        # The row nearest its end among those that owe nothing, or -1.
        cells = self.cells
        best = -1
        end = FOREVER
        tries = 0
        while tries < 2 * GROUP:
            row = (self.group(mark, tries // GROUP) + tries % GROUP) * self.stride
            if cells[row + 1] < end and not self.owes(row, now):
                end = cells[row + 1]
                best = row
            tries += 1
        return best

    def group(self, mark: int, side: int) -> int:
        # The number of the first row of one of the two groups a fingerprint names, never the same.
        first = (mark >> 32 & 0x7FFFFFFF) * self.groups >> 31
        second = (mark & 0x7FFFFFFF) * self.groups >> 31
        if side == 0 or second != first:
            return (second if side else first) * GROUP
        return (first + 1) % self.groups * GROUP

    def owes(self, row: int, now: int) -> bool:
        # Whether a request of one unit would be refused now.
        number = 0
        while number < self.count:
            limit = self.limits[number]
            if limit.most > 0:
                wait, _, _, _, _, _ = limit.look(
                    self.cells, row + self.offsets[number], now, now, 1, 0
                )
                if wait > 0:
                    return True
            number += 1
        return False

    def open(self, row: int, now: int) -> None:
        # The cells of a key never seen.
        lasting = 0
        number = 0
        while number < self.count:
            limit = self.limits[number]
            limit.open(self.cells, row + self.offsets[number], now)
            lasting = max(lasting, limit.lasting)
            number += 1
        self.cells[row + 1] = now + lasting

    def punish(self, limit: Limit, row: int, start: int, now: int, remaining: int) -> None:
        # A refused request is charged, unless the key owes so much that it would never return.
        if remaining <= -limit.worst:
            return
        self.note(row)
        limit.charge(self.cells, start, now, limit.penalty, now)
        self.extend(limit, row, start, now)

    def extend(self, limit: Limit, row: int, start: int, now: int) -> None:
        # Keep the row for as long as what was charged matters.
        _, _, reset, a, b, c = limit.look(self.cells, start, now, now, 0, FOREVER)
        until = now + limit.date(now, reset, FOREVER) + limit.lasting
        self.cells[row + 1] = max(self.cells[row + 1], until)

    def book(self, limit: Limit, start: int, now: int, ahead: int, units: float) -> None:
        # Count what is not left at the moment of the latest booking, `ahead` of now.
        spent = limit.limit - int(units // 1)
        if spent > limit.most:
            spent = limit.most
        _, _, _, a, b, c = limit.look(self.cells, start, now, now + ahead, spent, FOREVER)
        limit.keep(self.cells, start, now, spent, a, b, c)

    def restate(self, row: int, now: int) -> None:
        # Say what is true as of now. A refusal writes nothing, so after a clock went back, a key
        # that is only ever refused would go on being seen from the time before.
        self.note(row)
        number = 0
        while number < self.count:
            limit = self.limits[number]
            start = row + self.offsets[number]
            if limit.most >= 0:
                _, _, _, a, b, c = limit.look(self.cells, start, now, now, 0, FOREVER)
                limit.keep(self.cells, start, now, 0, a, b, c)
            number += 1

    def glance(self, mark: int, now: int) -> int:
        # A row to look at, for keys that have none: as new, unless they would have to share.
        if self.vacant(mark, now) < 0 and self.nearest(mark, now) < 0:
            return self.shared(now)
        row = (self.size + 1) * self.stride
        self.open(row, now)
        return row

    def shared(self, now: int) -> int:
        # The row of those for whom there is no other.
        row = self.size * self.stride
        if self.cells[row] == 0:
            self.note(row)
            self.cells[row] = 1
            self.open(row, now)
        return row

    def clear(self, mark: int) -> None:
        # Forget a fingerprint.
        row = self.search(mark)
        if row >= 0:
            self.note(row)
            self.cells[row] = 0
            self.cells[row + 1] = 0

    def note(self, row: int) -> None:
        # Before a row is changed; only what others could find half done is written down.
        if self.desk is not None:
            self.desk.note(row)

    def live(self, now: int) -> int:
        # How many rows still matter.
        total = 0
        number = 0
        while number < self.size:
            if self.cells[number * self.stride + 1] > now:
                total += 1
            number += 1
        return total
