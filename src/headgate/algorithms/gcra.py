"""GCRA, the generic cell rate algorithm: one moment tells everything.

The moment is `tat`, the theoretical arrival time: when the backlog of what went in will be gone.
A request moves it on by its cost; it may go in while `tat` is no farther ahead than a full burst
takes. The answers are those of a token bucket; the state is a time instead of a level, and
`part` holds what a whole microsecond cannot (`gain` parts to one), so that `3/s` stays exact.
`stamp` is when the key was last charged: it tells a clock that stepped back from a debt.
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
    stamp: int, tat: int, part: int,
) -> tuple[int, int, int, int, int, int]:  # fmt: skip
    """What is true if `cost` cells arrive at `enter`, a cell being `scale` parts of backlog."""
    if now < stamp - SLACK:
        tat = tat - (stamp - now)
        stamp = now
    here = now
    if here < stamp:
        here = stamp
    backlog = 0
    if tat >= enter:
        backlog = tat - enter
        if backlog > span:
            backlog = span
        backlog = backlog * gain + part
    filled = backlog + cost * scale
    over = filled - capacity
    wait = enter - now
    if over > 0:
        wait = wait + (over + gain - 1) // gain
    if wait > patience:
        filled = backlog
    reset = enter - now + (filled + gain - 1) // gain
    if filled <= capacity:
        remaining = (capacity - filled) // scale
    else:
        remaining = -((filled - capacity + scale - 1) // scale)
    return wait, remaining, reset, here, enter + filled // gain, filled % gain


def charge(
    now: int, cost: int, due: int,
    gain: int, scale: int, capacity: int, span: int,
    stamp: int, tat: int, part: int,
) -> tuple[int, int, int]:  # fmt: skip
    """What is true once `cost` cells are added whatever the backlog, or taken off if negative."""
    _, _, _, here, tat, part = step(now, now, 0, FAR, gain, scale, capacity, span, stamp, tat, part)
    backlog = (tat - now) * gain + part
    if cost >= 0:
        filled = min(backlog + cost * scale, DEEPEST)
        return here, now + filled // gain, filled % gain
    # Room that bookings made after this one count on stays taken, and what has come free since it
    # was due has been there for others.
    back = max(0, -cost * scale - min(max(0, now - due), span) * gain)
    relied = backlog - capacity - min(max(0, due - now), span) * gain
    if relied > 0:
        back = max(0, back - relied - gain)
    filled = max(0, backlog - back)
    return here, now + filled // gain, filled % gain


class GCRA(Limit):
    """A token bucket kept as one moment: at most `burst + rate * t` units in any span `t`.

    Chosen where the state should be a time, as in ATM networks and redis-cell. A refused request
    costs `penalty` units, until the key owes a full burst.
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
            self, "GCRA", rate, burst, penalty, name
        )
        self.width = 3
        describe(
            self,
            {"burst": self.burst, "penalty": penalty, "name": name},
            {"burst": self.rate.burst, "penalty": 0, "name": ""},
        )

    def look(
        self, cells: Cells, row: int, now: int, enter: int, cost: int, patience: int
    ) -> Answer:
        return step(
            now, enter, cost, patience,
            self.gain, self.scale, self.capacity, self.span,
            cells[row], cells[row + 1], cells[row + 2],
        )  # fmt: skip

    def charge(self, cells: Cells, row: int, now: int, cost: int, due: int) -> None:
        stamp, tat, part = charge(
            now, cost, due,
            self.gain, self.scale, self.capacity, self.span,
            cells[row], cells[row + 1], cells[row + 2],
        )  # fmt: skip
        cells[row] = stamp
        cells[row + 1] = tat
        cells[row + 2] = part

    def left(self, cells: Cells, row: int, now: int) -> float:
        _, _, _, stamp, tat, part = self.look(cells, row, now, now, 0, FAR)
        return (self.capacity - (tat - now) * self.gain - part) / (self.scale * 1.0)

    def fill(self, cells: Cells, row: int, now: int, units: float) -> None:
        filled = self.capacity - int(units * self.scale // 1)
        cells[row] = now
        cells[row + 1] = now + filled // self.gain
        cells[row + 2] = filled % self.gain
