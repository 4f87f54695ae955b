"""Token bucket: tokens drip in at a rate, up to a capacity; a request takes some out.

The cells are `level` (parts of a token, `scale` of them to one; negative in debt) and `stamp`
(when the level was last true). Nothing fills the bucket in the background: the level is worked
out from the time that has passed, in whole parts, so no remainder is ever thrown away and `3/s`
admits three a second for years.

A level below zero is a debt: a booking that has not come due yet, or an overdraft.
"""

from __future__ import annotations

from headgate.algorithms.limit import (
    ROOM,
    YEAR,
    Answer,
    Cells,
    Limit,
    choice,
    describe,
    parse,
    plainly,
    switch,
    titled,
    whole,
)
from headgate.errors import LimitError
from headgate.rate import Rate

SLACK = 1_000_000
FAR = 1 << 52


def step(
    now: int, enter: int, cost: int, patience: int,
    tick: int, gain: int, scale: int, capacity: int, span: int, borrow: int,
    level: int, stamp: int,
) -> tuple[int, int, int, int, int]:  # fmt: skip
    """What is true if `cost` tokens are taken at `enter`, every `tick` bringing `gain` parts."""
    here = now
    mark = enter
    if stamp > now:
        if stamp > now + SLACK:
            stamp = now
        here = stamp
        mark = max(enter, here)
    ticks = mark - stamp
    if tick > 1:
        ticks = ticks // tick
    if ticks > span:
        ticks = span
    full = level + ticks * gain
    if full >= capacity:
        full = capacity
    elif tick > 1:
        mark = stamp + ticks * tick
    left = full - cost * scale
    lag = mark - now
    wait = enter - now
    if left < 0:
        room = left
        if borrow > 0:
            room = full
        if room < 0:
            ticks = (gain - 1 - room) // gain
            wait = ticks * tick + lag
            if tick > 1 and cost > 0:
                # What will not fit into the bucket when it enters is lost, as if it had waited.
                left = left - max(0, full + ticks * gain - capacity)
    if wait > patience:
        left = full
    reset = (capacity - left + gain - 1) // gain * tick + lag
    if left >= 0:
        remaining = left // scale
    else:
        remaining = -((scale - 1 - left) // scale)
    if lag > 0 and mark > here:
        # Entering later than now: put the level back to what it is today, so that it comes right.
        ticks = (mark - here + tick - 1) // tick
        left = left - ticks * gain
        mark = mark - ticks * tick
    return wait, remaining, reset, left, mark


def charge(
    now: int, cost: int, due: int,
    tick: int, gain: int, scale: int, capacity: int, span: int, borrow: int,
    level: int, stamp: int,
) -> tuple[int, int]:  # fmt: skip
    """What is true once `cost` tokens are spent whatever the level, or given back if negative."""
    _, _, _, full, mark = step(
        now, now, 0, FAR, tick, gain, scale, capacity, span, borrow, level, stamp
    )
    if cost >= 0:
        return max(full - cost * scale, capacity - span * gain), mark
    # Tokens that bookings made after this one count on stay where they are, and what has come in
    # since it was due has been there for others.
    late = min((max(0, now - due) + tick - 1) // tick, span)
    back = max(0, -cost * scale - late * gain)
    relied = -full - min(max(0, due - mark) // tick, span) * gain
    if borrow > 0:
        relied = relied - back
    if relied > 0:
        back = max(0, back - relied - gain)
    return min(capacity, full + back), mark


def fresh(now: int, initial: int, scale: int) -> tuple[int, int]:
    """The cells of a bucket never used."""
    return initial * scale, now


class TokenBucket(Limit):
    """Bursts up to `burst`, then `rate`: at most `burst + rate * t` units in any span `t`.

    `refill="interval"` puts the whole count in at once, every period, counted from the first
    token taken out of a full bucket. `initial` is what a key starts with; it starts full unless
    told otherwise. With `borrow` a request enters as soon as nothing is owed, whatever it costs,
    and the next one waits for it; `TokenBucket("5/s", borrow=True, initial=0)` is Guava's
    smooth bursty limiter. A refused request costs `penalty` units, until the key owes a full
    bucket.
    """

    __slots__ = (
        "borrow",
        "burst",
        "capacity",
        "gain",
        "initial",
        "refill",
        "scale",
        "span",
        "tick",
    )

    burst: int
    initial: int
    refill: str
    tick: int
    gain: int
    scale: int
    capacity: int
    span: int
    borrow: int

    def __init__(
        self,
        rate: Rate | str,
        burst: int | None = None,
        initial: int | None = None,
        refill: str = "greedy",
        borrow: bool = False,
        penalty: int = 0,
        name: str = "",
    ) -> None:
        self.rate = parse(rate)
        self.burst = self.rate.burst if burst is None else whole("TokenBucket", "burst", burst, 0)
        self.initial = (
            self.burst
            if initial is None
            else whole("TokenBucket", "initial", initial, 0, self.burst)
        )
        self.refill = choice("TokenBucket", "refill", refill, ("greedy", "interval"))
        self.borrow = switch("TokenBucket", "borrow", borrow)
        self.penalty = whole("TokenBucket", "penalty", penalty, 0, max(1, self.burst))
        if self.refill == "interval":
            self.tick, self.gain, self.scale = self.rate.period, self.rate.count, 1
        else:
            self.tick, self.gain, self.scale = coarsen(self.rate, self.burst)
        self.limit = self.burst
        self.name = titled("TokenBucket", name) or plainly(self.rate, self.burst)
        self._bound()
        describe(
            self,
            {
                "burst": self.burst,
                "initial": self.initial,
                "refill": self.refill,
                "borrow": borrow,
                "penalty": penalty,
                "name": name,
            },
            {
                "burst": self.rate.burst,
                "initial": self.burst,
                "refill": "greedy",
                "borrow": False,
                "penalty": 0,
                "name": "",
            },
        )

    def _bound(self) -> None:
        self.width = 2
        self.ring = 0
        self.capacity = self.burst * self.scale
        self.gain = max(self.gain, 1)
        # The most ticks that count: sums of parts stay below 2^53, and so do times.
        self.span = min((1 << 52) // self.gain, 200 * YEAR // self.tick)
        if self.capacity > self.span * self.gain // 4:
            raise LimitError(
                f'TokenBucket("{self.rate}"): a burst of {self.burst:,} takes too long to fill; '
                "choose a smaller one"
            )
        self.heaviest = min(ROOM, self.span * self.gain // 4) // self.scale
        self.most = self.heaviest if self.borrow else self.burst
        if self.rate.count == 0 or self.burst == 0:
            self.most = -1
        self.horizon = min(ROOM // self.gain, 50 * YEAR // self.tick) * self.tick
        self.worst = self.burst
        self.lasting = 0 if self.initial == self.burst else YEAR

    def look(
        self, cells: Cells, row: int, now: int, enter: int, cost: int, patience: int
    ) -> Answer:
        wait, remaining, reset, level, stamp = step(
            now,
            enter,
            cost,
            patience,
            self.tick,
            self.gain,
            self.scale,
            self.capacity,
            self.span,
            self.borrow,
            cells[row],
            cells[row + 1],
        )
        return wait, remaining, reset, level, stamp, 0

    def charge(self, cells: Cells, row: int, now: int, cost: int, due: int) -> None:
        level, stamp = charge(
            now,
            cost,
            due,
            self.tick,
            self.gain,
            self.scale,
            self.capacity,
            self.span,
            self.borrow,
            cells[row],
            cells[row + 1],
        )
        cells[row] = level
        cells[row + 1] = stamp

    def open(self, cells: Cells, row: int, now: int) -> None:
        level, stamp = fresh(now, self.initial, self.scale)
        cells[row] = level
        cells[row + 1] = stamp

    def left(self, cells: Cells, row: int, now: int) -> float:
        _, _, _, level, stamp, c = self.look(cells, row, now, now, 0, FAR)
        return level / (self.scale * 1.0)

    def fill(self, cells: Cells, row: int, now: int, units: float) -> None:
        cells[row] = int(units * self.scale // 1)
        cells[row + 1] = now


def coarsen(rate: Rate, burst: int) -> tuple[int, int, int]:
    """The rate as (tick, gain, scale): every `tick` microseconds bring `gain` of `scale` parts.

    A tick of one microsecond where exact arithmetic has room for it, else the finest that fits.
    """
    tick = 1
    while tick <= rate.period:
        if rate.period % tick == 0:
            gain, scale = Rate.of(rate.count, rate.period // tick).reduced
            if burst * scale <= ROOM and gain <= ROOM >> 10:
                return tick, gain, scale
        tick *= 10
    raise LimitError(
        f'TokenBucket("{rate}"): a burst of {burst} does not fit into exact arithmetic; '
        "choose a smaller burst or a rounder rate"
    )
