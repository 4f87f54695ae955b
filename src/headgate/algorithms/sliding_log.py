"""Sliding log: remember when every unit went in; exact, and as large as the limit.

The cells are `stamp` (when the key was last charged), `head` (where the oldest unit is) and a
ring of `limit` moments: when each of the last `limit` units leaves the window. A request of
`cost` units may enter once the oldest `cost` of them have left; they make place for its own.
The ring is in order of time, so counting what is free takes a few halvings, not a walk.

A unit that entered at `t` has left at `t + length`: the window is half open, (now - length, now].
"""

from __future__ import annotations

from headgate.algorithms.limit import Answer, Cells, Limit, counter, describe
from headgate.errors import LimitError
from headgate.rate import Rate

SLACK = 1_000_000
LONGEST = 1_000_000
FAR = 1 << 51


def step(
    now: int, enter: int, cost: int, patience: int, limit: int, length: int, cells: Cells, row: int
) -> tuple[int, int, int, int, int, int]:
    """What is true if `cost` units enter at `enter`; each leaves `length` later."""
    stamp = cells[row]
    head = cells[row + 1]
    shift = 0
    if now < stamp - SLACK:
        shift = stamp - now
    here = max(now, stamp - shift)
    newest = cells[row + 2 + (head + limit - 1) % limit] - shift
    time = max(enter, here, newest - length)
    entry = time
    if cost > 0:
        entry = max(time, cells[row + 2 + (head + cost - 1) % limit] - shift)
    wait = enter - now
    if entry > max(enter, here):
        wait = entry - now
    if wait > patience:
        free = 0
        if newest - length <= max(enter, here):
            free = count(time + shift, head, limit, cells, row)
        return wait, free, max(0, newest - now), here, head, 0
    free = 0
    if entry <= max(enter, here):
        free = count(entry + shift, head, limit, cells, row) - cost
    leaves = newest
    if cost > 0:
        leaves = entry + length
    return wait, free, max(0, leaves - now), here, (head + cost) % limit, leaves


def count(time: int, head: int, limit: int, cells: Cells, row: int) -> int:
    """How many of the ring's moments are not after `time`."""
    low = 0
    high = limit
    while low < high:
        middle = (low + high) // 2
        if cells[row + 2 + (head + middle) % limit] <= time:
            low = middle + 1
        else:
            high = middle
    return low


def settle(now: int, cost: int, limit: int, here: int, leaves: int, cells: Cells, row: int) -> None:
    """Write what `step` answered: the oldest `cost` units make place for those that leave then."""
    rebase(now, limit, cells, row)
    head = cells[row + 1]
    while cost > 0:
        cells[row + 2 + head] = leaves
        head = (head + 1) % limit
        cost = cost - 1
    cells[row] = here
    cells[row + 1] = head


def rebase(now: int, limit: int, cells: Cells, row: int) -> None:
    """Move every moment back with a clock that went back by more than we doubt it."""
    shift = cells[row] - now
    if shift <= SLACK:
        return
    slot = 0
    while slot < limit:
        cells[row + 2 + slot] = max(0, cells[row + 2 + slot] - shift)
        slot = slot + 1
    cells[row] = now


def charge(now: int, cost: int, due: int, limit: int, length: int, cells: Cells, row: int) -> None:
    """Log `cost` units whatever the count; if negative, strike out the newest up to `due`."""
    rebase(now, limit, cells, row)
    here = max(now, cells[row])
    head = cells[row + 1]
    newest = cells[row + 2 + (head + limit - 1) % limit]
    # A debit enters as the oldest leave, one after the other, but no later than `due`.
    while cost > 0 and newest < here + FAR:
        newest = max(here, newest - length, min(cells[row + 2 + head], due)) + length
        cells[row + 2 + head] = newest
        head = (head + 1) % limit
        cost = cost - 1
    while cost < 0 and newest > here and newest - length <= due:
        # What it replaced is not known any more; it was gone when this one was to enter.
        gone = min(newest - length, cells[row + 2 + head])
        head = (head + limit - 1) % limit
        cells[row + 2 + head] = gone
        cost = cost + 1
        newest = cells[row + 2 + (head + limit - 1) % limit]
    cells[row] = here
    cells[row + 1] = head


class SlidingLog(Limit):
    """`rate.count` units in any window, exactly; 8 bytes a unit for each key.

    For limits that must hold to the letter and are small: five logins a minute, ten exports an
    hour. A refused request costs `penalty` units, so that who keeps knocking stays out.
    """

    __slots__ = ("length",)

    length: int

    def __init__(self, rate: Rate | str, penalty: int = 0, name: str = "") -> None:
        counter(self, "SlidingLog", rate, penalty, name)
        if self.limit > LONGEST:
            raise LimitError(
                f'SlidingLog("{self.rate}"): a log of {self.limit:,} moments a key is too long '
                f"(at most {LONGEST:,}); use SlidingWindow"
            )
        self.length = self.rate.period
        self.width = self.limit + 2
        self.heaviest = 64 * max(1, self.limit)
        self.ring = 1
        describe(
            self,
            {"penalty": penalty, "name": name},
            {"penalty": 0, "name": ""},
        )

    def look(
        self, cells: Cells, row: int, now: int, enter: int, cost: int, patience: int
    ) -> Answer:
        return step(now, enter, cost, patience, self.limit, self.length, cells, row)

    def keep(self, cells: Cells, row: int, now: int, cost: int, a: int, b: int, c: int) -> None:
        settle(now, cost, self.limit, a, c, cells, row)

    def charge(self, cells: Cells, row: int, now: int, cost: int, due: int) -> None:
        charge(now, cost, due, self.limit, self.length, cells, row)
