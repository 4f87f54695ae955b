"""Sliding window counter: a window in `parts`, the oldest of which fades as it slides out.

The cells are `stamp` (when the key was last charged), `last` (when the latest unit enters: later
than `stamp` if it was booked), `total` (units in all parts) and a ring of `parts + 1` counts, one
for each part of the window and one for the part that is sliding out. The running total makes a
decision cost the same however many parts there are.

With `weigh` the part that slides out counts for what is left of it; without, it counts whole
until it is out. Weights are worked out in whole grains of time, so that products stay exact.
"""

from __future__ import annotations

from headgate.algorithms.limit import ROOM, Answer, Cells, Limit, choice, counter, describe, whole
from headgate.errors import LimitError
from headgate.rate import Rate

SLACK = 1_000_000


def step(
    now: int, enter: int, cost: int, patience: int,
    limit: int, part: int, grain: int, parts: int, weigh: int,
    cells: Cells, row: int,
) -> tuple[int, int, int, int, int, int]:  # fmt: skip
    """What is true if `cost` units enter at `enter`, each part of the window being `part` long."""
    here, last = rebase(now, part, parts, cells[row], cells[row + 1])
    time = max(enter, here, last)
    total, oldest = slide(last // part, time // part, parts, cells[row + 2], cells, row)
    entry, rest, fading = find(
        time, cost, limit, part, grain, parts, weigh, total, oldest, cells, row
    )
    wait = enter - now
    if entry > max(enter, here):
        wait = entry - now
    if wait <= patience and cost > 0:
        last = entry
        time = entry
        total = rest + cost
        oldest = fading
    grains = part // grain
    room = (limit - total) * grains + oldest * (time % part // grain) * weigh
    remaining = 0
    if room >= 0:
        remaining = room // grains
    else:
        remaining = -((grains - 1 - room) // grains)
    if last > max(enter, here) and remaining > 0:
        # Nobody enters before the latest booking, though it may have been cancelled since.
        remaining = 0
    reset = max(0, last - now)
    if total > 0:
        reset = (last // part + parts + 1) * part - now
    return wait, remaining, reset, here, last, total


def find(
    time: int, cost: int, limit: int, part: int, grain: int, parts: int, weigh: int,
    total: int, oldest: int, cells: Cells, row: int,
) -> tuple[int, int, int]:  # fmt: skip
    """The first moment from `time` on at which `cost` fits, the total then, and what is fading."""
    index = time // part
    grains = part // grain
    need = total + cost - limit
    # After so many parts all have slid out, whatever the total says.
    gone = index + parts + 1
    while need > 0 and total > 0 and index < gone:
        if weigh > 0 and oldest >= need:
            faded = (need * grains + oldest - 1) // oldest
            if faded < grains:
                return max(time, index * part + faded * grain), total, oldest
        index = index + 1
        time = index * part
        total = total - oldest
        need = need - oldest
        oldest = cells[row + 3 + (index + 1) % (parts + 1)]
    if total == 0:
        oldest = 0
    return time, total, oldest


def slide(head: int, index: int, parts: int, total: int, cells: Cells, row: int) -> tuple[int, int]:
    """The total once part `index` is the newest, and the count of the part then sliding out."""
    if index - head > parts:
        return 0, 0
    while head < index:
        head = head + 1
        total = total - cells[row + 3 + head % (parts + 1)]
    return total, cells[row + 3 + (index + 1) % (parts + 1)]


def rebase(now: int, part: int, parts: int, stamp: int, last: int) -> tuple[int, int]:
    """Now as the cells see it, and the latest entry, moved back with a clock that went back.

    They move by whole turns of the ring, so that every count stays in its place.
    """
    if now < stamp - SLACK:
        turns = (stamp - now) // ((parts + 1) * part) * ((parts + 1) * part)
        stamp = stamp - turns
        last = last - turns
    return max(now, stamp), last


def settle(
    now: int, cost: int, part: int, parts: int, here: int, entry: int, cells: Cells, row: int
) -> None:
    """Write what `step` answered: turn the ring to `entry` and count `cost` there."""
    _, last = rebase(now, part, parts, cells[row], cells[row + 1])
    head = last // part
    index = entry // part
    total = cells[row + 2]
    if index - head > parts:
        head = index - parts - 1
    while head < index:
        head = head + 1
        total = total - cells[row + 3 + head % (parts + 1)]
        cells[row + 3 + head % (parts + 1)] = 0
    cells[row] = here
    cells[row + 1] = entry
    cells[row + 2] = total + cost
    cells[row + 3 + index % (parts + 1)] += cost


def charge(
    now: int, cost: int, due: int, part: int, parts: int, deepest: int, cells: Cells, row: int
) -> None:
    """Count `cost` units whatever the total; if negative, take them off the parts up to `due`."""
    here, last = rebase(now, part, parts, cells[row], cells[row + 1])
    time = max(here, last)
    settle(now, 0, part, parts, here, time, cells, row)
    if cost >= 0:
        settle(
            now, min(cost, max(0, deepest - cells[row + 2])), part, parts, here, time, cells, row
        )
        return
    head = time // part
    index = min(head, due // part)
    while cost < 0 and index >= head - parts and index >= 0:
        back = min(-cost, cells[row + 3 + index % (parts + 1)])
        cells[row + 3 + index % (parts + 1)] -= back
        cells[row + 2] -= back
        cost = cost + back
        index = index - 1


class SlidingWindow(Limit):
    """`rate.count` units per sliding window, counted in `parts`; small, and smooth.

    Weighted, the worst case is twice the limit in a span as long as the window, whatever the
    number of parts: who spends all of it at the very end of a part gets most of it again when
    that part has nearly slid out. In any span shorter by one part it is never above the limit.
    `oldest="whole"` counts the part that slides out until it is gone: never above the limit in
    any window, at the price of refusing what a wait of up to one part would admit. A refused
    request costs `penalty` units.
    """

    __slots__ = ("deepest", "grain", "oldest", "part", "parts", "weigh")

    parts: int
    oldest: str
    part: int
    grain: int
    weigh: int
    deepest: int

    def __init__(
        self,
        rate: Rate | str,
        parts: int = 10,
        oldest: str = "weighted",
        penalty: int = 0,
        name: str = "",
    ) -> None:
        counter(self, "SlidingWindow", rate, penalty, name)
        self.parts = whole("SlidingWindow", "parts", parts, 1, 10_000)
        self.oldest = choice("SlidingWindow", "oldest", oldest, ("weighted", "whole"))
        self.weigh = 1 if oldest == "weighted" else 0
        self.part, self.grain = divide(self.rate, self.parts)
        self.deepest = (1 << 52) // (self.part // self.grain)
        self.width = self.parts + 4
        self.ring = 1
        describe(
            self,
            {"parts": parts, "oldest": oldest, "penalty": penalty, "name": name},
            {"parts": 10, "oldest": "weighted", "penalty": 0, "name": ""},
        )

    def look(
        self, cells: Cells, row: int, now: int, enter: int, cost: int, patience: int
    ) -> Answer:
        return step(
            now, enter, cost, patience,
            self.limit, self.part, self.grain, self.parts, self.weigh,
            cells, row,
        )  # fmt: skip

    def keep(self, cells: Cells, row: int, now: int, cost: int, a: int, b: int, c: int) -> None:
        settle(now, cost, self.part, self.parts, a, b, cells, row)

    def charge(self, cells: Cells, row: int, now: int, cost: int, due: int) -> None:
        charge(now, cost, due, self.part, self.parts, self.deepest, cells, row)


def divide(rate: Rate, parts: int) -> tuple[int, int]:
    """How long a part is, and the grain its weights are worked out in."""
    if rate.period % parts:
        raise LimitError(
            f'SlidingWindow("{rate}", parts={parts}): {rate.period} microseconds do not divide '
            f"into {parts} parts; choose a number of parts that does"
        )
    part = rate.period // parts
    grain = 1
    for factor in (2, 2, 2, 2, 2, 2, 3, 5, 5, 5, 5, 5, 5):
        if rate.count * (part // grain) <= ROOM:
            return part, grain
        if part // grain % factor == 0:
            grain *= factor
    raise LimitError(
        f'SlidingWindow("{rate}"): {rate.count} units times {part} microseconds do not fit into '
        "exact arithmetic; choose more parts or a rounder rate"
    )
