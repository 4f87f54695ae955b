"""Leaky bucket as a meter: water leaks out at a rate; a request pours some in if it does not spill.

The cells are `water` (parts of a unit, `scale` of them to one; above the capacity in debt) and
`stamp` (when the level was last true). No queue and no thread: the leak is worked out from the
time that has passed. Use it where the picture of a level that must not overflow is the right one,
and where the leak is what you change as the service behind it grows.
"""

from __future__ import annotations

from headgate.algorithms.limit import Answer, Cells, Limit, describe, meter
from headgate.rate import Rate

SLACK = 1_000_000
DEEPEST = 1 << 51
FAR = 1 << 52


def step(
    now: int, enter: int, cost: int, patience: int,
    gain: int, scale: int, capacity: int, span: int,
    water: int, stamp: int,
) -> tuple[int, int, int, int, int]:  # fmt: skip
    """What is true if `cost` units pour in at `enter`, `gain` parts leaking each microsecond."""
    if now < stamp - SLACK:
        stamp = now
    here = now
    if here < stamp:
        here = stamp
    begin = enter
    if begin < here:
        begin = here
    passed = begin - stamp
    if passed > span:
        passed = span
    level = water - passed * gain
    if level < 0:
        level = 0
    filled = level + cost * scale
    over = filled - capacity
    wait = enter - now
    if over > 0:
        wait = begin - now + (over + gain - 1) // gain
    if wait > patience:
        filled = level
    reset = begin - now + (filled + gain - 1) // gain
    if filled <= capacity:
        remaining = (capacity - filled) // scale
    else:
        remaining = -((filled - capacity + scale - 1) // scale)
    return wait, remaining, reset, filled + (begin - here) * gain, here


def charge(
    now: int, cost: int, due: int,
    gain: int, scale: int, capacity: int, span: int,
    water: int, stamp: int,
) -> tuple[int, int]:  # fmt: skip
    """What is true once `cost` units poured in, over the brim if need be, or out if negative."""
    _, _, _, level, here = step(now, now, 0, FAR, gain, scale, capacity, span, water, stamp)
    if cost >= 0:
        return min(level + cost * scale, DEEPEST), here
    # Room that bookings made after this one count on stays taken, and what has come free since it
    # was due has been there for others.
    back = max(0, -cost * scale - min(max(0, now - due), span) * gain)
    relied = level - capacity - min(max(0, due - here), span) * gain
    if relied > 0:
        back = max(0, back - relied - gain)
    return max(0, level - back), here


class LeakyBucket(Limit):
    """A meter that must not overflow: at most `burst + rate * t` units in any span `t`.

    `burst` is the size of the bucket, `rate` the leak. A refused request costs `penalty` units,
    until the key owes a full bucket.
    """

    __slots__ = ("burst", "capacity", "gain", "scale", "span")

    burst: int
    gain: int
    scale: int
    capacity: int
    span: int

    def __init__(
        self, rate: Rate | str, burst: int | None = None, penalty: int = 0, name: str = ""
    ) -> None:
        self.burst, self.gain, self.scale, self.capacity, self.span = meter(
            self, "LeakyBucket", rate, burst, penalty, name
        )
        self.width = 2
        describe(
            self,
            {"burst": self.burst, "penalty": penalty, "name": name},
            {"burst": self.rate.burst, "penalty": 0, "name": ""},
        )

    def look(
        self, cells: Cells, row: int, now: int, enter: int, cost: int, patience: int
    ) -> Answer:
        wait, remaining, reset, water, stamp = step(
            now, enter, cost, patience,
            self.gain, self.scale, self.capacity, self.span,
            cells[row], cells[row + 1],
        )  # fmt: skip
        return wait, remaining, reset, water, stamp, 0

    def charge(self, cells: Cells, row: int, now: int, cost: int, due: int) -> None:
        water, stamp = charge(
            now, cost, due,
            self.gain, self.scale, self.capacity, self.span,
            cells[row], cells[row + 1],
        )  # fmt: skip
        cells[row] = water
        cells[row + 1] = stamp

    def left(self, cells: Cells, row: int, now: int) -> float:
        _, _, _, water, stamp, c = self.look(cells, row, now, now, 0, FAR)
        return (self.capacity - water) / (self.scale * 1.0)

    def fill(self, cells: Cells, row: int, now: int, units: float) -> None:
        cells[row] = self.capacity - int(units * self.scale // 1)
        cells[row + 1] = now
