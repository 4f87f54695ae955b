"""Warm-up: a cold limiter is slow and gets faster with use, as Guava's does.

Idle time stores permits, up to `cold` parts (`scale` of them to a permit). Above `warm` parts a
permit takes longer to pay for, three times as long at the coldest; the price falls in a straight
line as the store empties, so taking permits costs the area of a trapezoid. That area is kept as
the difference of one square from another, which telescopes: two requests pay what one of their
sum would. Below `warm` a permit costs its plain interval.

The cells are `stored`, `owed` (parts still to be paid, `gain` each microsecond) and `stamp`. A
request enters as soon as nothing is owed; the next one waits for it.
"""

from __future__ import annotations

from typing import Any

from headgate.algorithms.limit import ROOM, Answer, Cells, Limit, counter, describe, meter
from headgate.errors import LimitError
from headgate.rate import Rate

SLACK = 1_000_000
DEEPEST = 1 << 51
FAR = 1 << 52


def step(
    now: int, enter: int, cost: int, patience: int,
    gain: int, scale: int, cold: int, warm: int, grain: int, span: int,
    stored: int, owed: int, stamp: int,
) -> tuple[int, int, int, int, int, int]:  # fmt: skip
    """What is true if `cost` permits are taken at `enter` and paid for after it."""
    here, begin, stored, owed = pay(now, enter, gain, cold, span, stored, owed, stamp)
    wait = enter - now
    if owed > 0:
        wait = begin - now + (owed + gain - 1) // gain
    if wait <= patience:
        asked = cost * scale
        rest = max(0, stored - asked)
        owed = owed + asked + price(stored, rest, warm, cold, grain)
        stored = rest
    remaining = -((owed + scale - 1) // scale)
    if owed == 0:
        remaining = stored // scale
    reset = begin - now + (owed + cold - stored + gain - 1) // gain
    return wait, remaining, reset, stored, owed + (begin - here) * gain, here


def charge(
    now: int, cost: int, due: int,
    gain: int, scale: int, cold: int, span: int,
    stored: int, owed: int, stamp: int,
) -> tuple[int, int, int]:  # fmt: skip
    """What is true once `cost` permits are owed at the plain price, or given back if negative."""
    here, _, stored, owed = pay(now, now, gain, cold, span, stored, owed, stamp)
    if cost >= 0:
        return stored, min(owed + cost * scale, DEEPEST), here
    # What bookings made after this one count on stays owed, and its time may be over.
    late = min(max(0, now - due), span) * gain
    back = max(0, -cost * scale - late)
    relied = owed - back - min(max(0, due - here), span) * gain
    if relied > 0:
        back = max(0, back - relied - gain)
    if back > owed:
        return min(cold, stored + back - owed), 0, here
    return stored, owed - back, here


def price(stored: int, rest: int, warm: int, cold: int, grain: int) -> int:
    """The parts it costs, above the plain interval, to take the store from `stored` to `rest`."""
    high = max(0, stored - warm) // grain
    low = max(0, rest - warm) // grain
    per = cold // grain
    return (2 * high * high // per - 2 * low * low // per) * grain


def pay(
    now: int, enter: int, gain: int, cold: int, span: int, stored: int, owed: int, stamp: int
) -> tuple[int, int, int, int]:
    """Now as the cells see it, when the request enters, and what is stored and owed then."""
    if now < stamp - SLACK:
        stamp = now
    here = max(now, stamp)
    begin = max(enter, here)
    paid = min(begin - stamp, span) * gain
    if paid < owed:
        return here, begin, stored, owed - paid
    return here, begin, min(cold, stored + paid - owed), 0


def fresh(now: int, cold: int) -> tuple[int, int, int]:
    """The cells of a key that starts cold."""
    return cold, 0, now


class WarmUp(Limit):
    """`rate` once warm, a third of it when cold, getting there over `period` seconds of use.

    A key starts cold and grows cold again when idle, so a service behind it can fill its caches
    and pools first. At most `1 + rate * t` requests of one unit in any span `t`; a request may
    ask for more than that at once, and the next one waits for it.
    """

    __slots__ = ("cold", "gain", "grain", "period", "scale", "span", "warm")

    period: float
    gain: int
    scale: int
    cold: int
    warm: int
    grain: int
    span: int

    def __init__(
        self, rate: Rate | str, period: float = 10.0, penalty: int = 0, name: str = ""
    ) -> None:
        counter(self, "WarmUp", rate, penalty, name)
        _, self.gain, self.scale, _, self.span = meter(self, "WarmUp", rate, 1, penalty, name)
        self.period = seconds(period)
        self.width = 3
        self.limit = self.rate.count
        self._warm()
        self.most = self.heaviest if self.limit else -1
        self.worst = 2 * self.cold // self.scale
        self.name = name or f"{self.rate} warm-up {self.period:g}s"
        describe(
            self,
            {"period": self.period, "penalty": penalty, "name": name},
            {"period": 10.0, "penalty": 0, "name": ""},
        )

    def _warm(self) -> None:
        self.cold = round(self.period * 1_000_000) * self.gain
        if self.cold > ROOM:
            raise LimitError(f'WarmUp("{self.rate}"): choose a rounder rate or a shorter period')
        self.warm = self.cold // 2
        # Squares of up to half the store, doubled, stay below 2^53 in grains of this size.
        self.grain = self.cold // (1 << 26) + 1

    def look(
        self, cells: Cells, row: int, now: int, enter: int, cost: int, patience: int
    ) -> Answer:
        return step(
            now, enter, cost, patience,
            self.gain, self.scale, self.cold, self.warm, self.grain, self.span,
            cells[row], cells[row + 1], cells[row + 2],
        )  # fmt: skip

    def charge(self, cells: Cells, row: int, now: int, cost: int, due: int) -> None:
        stored, owed, stamp = charge(
            now, cost, due,
            self.gain, self.scale, self.cold, self.span,
            cells[row], cells[row + 1], cells[row + 2],
        )  # fmt: skip
        cells[row] = stored
        cells[row + 1] = owed
        cells[row + 2] = stamp

    def open(self, cells: Cells, row: int, now: int) -> None:
        stored, owed, stamp = fresh(now, self.cold)
        cells[row] = stored
        cells[row + 1] = owed
        cells[row + 2] = stamp

    def left(self, cells: Cells, row: int, now: int) -> float:
        _, _, _, stored, owed, stamp = self.look(cells, row, now, now, 0, FAR)
        return -owed / (self.scale * 1.0)

    def fill(self, cells: Cells, row: int, now: int, units: float) -> None:
        # Changed, it starts cold; only what is owed comes along.
        if units < 0.0:
            cells[row + 1] = int(-units * self.scale)


def seconds(period: Any) -> float:
    """How long the warm-up takes, if it can take as long."""
    if isinstance(period, bool) or not isinstance(period, (int, float)):
        raise TypeError(f"WarmUp: period is a number of seconds, not {period!r}")
    if not 0.001 <= period <= 86_400.0:
        raise LimitError(f"WarmUp: period is from 0.001 to 86400 seconds, not {period!r}")
    return float(period)
