"""Council: several limits over one key, asked as one. All agree, or nothing changes.

Nothing here takes a lock: whoever calls has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headgate.stores.flat.rows import MOST, Rows

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

FOREVER = 1 << 62


class Council:
    """The limits of `rows`, and what each of them answered last."""

    __slots__ = ("answers", "rows")

    rows: Rows
    answers: Any

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        if not cython.compiled:
            self.answers = [(0, 0, 0, 0, 0, 0)] * MOST

    def settle(self, row: int, now: int, cost: int, patience: int) -> int:
        # The longest wait once all have been asked about the same moment of entry.
        enter = now
        longest = self.consult(row, now, enter, cost, patience)
        # Booked ahead, every limit has to be asked about the moment of the slowest.
        while enter - now < longest and longest <= patience:
            enter = now + longest
            longest = self.consult(row, now, enter, cost, patience)
        return longest

    def consult(self, row: int, now: int, enter: int, cost: int, patience: int) -> int:
        # Ask every limit; the longest wait, or the number of one it can never fit, as -1 - number.
        rows = self.rows
        longest = 0
        number = 0
        while number < rows.count:
            limit = rows.limits[number]
            if cost > limit.most:
                return -1 - number
            self.answers[number] = limit.look(
                rows.cells,
                row + rows.offsets[number],
                now,
                limit.undate(now, enter),
                cost,
                patience,
            )
            wait, remaining, reset, a, b, c = self.answers[number]
            wait = max(enter - now, limit.date(now, wait, patience))
            self.answers[number] = (wait, remaining, limit.date(now, reset, FOREVER), a, b, c)
            longest = max(longest, wait)
            number += 1
        return longest

    def tightest(self, patience: int, why: int) -> int:
        # Allowed: the limit with the least left. Refused: of those that refuse, the longest wait.
        chosen = 0
        least = FOREVER
        number = 0
        while number < self.rows.count:
            wait, remaining, _, a, b, c = self.answers[number]
            measure = remaining
            if why > 0:
                measure = -wait if wait > patience else FOREVER
            if measure < least:
                least = measure
                chosen = number
            number += 1
        return chosen

    def keep(self, row: int, now: int, cost: int) -> None:
        # All agreed: write what each answered.
        rows = self.rows
        if rows.desk is not None:
            rows.desk.note(row)
        until = 0
        number = 0
        while number < rows.count:
            limit = rows.limits[number]
            _, _, reset, a, b, c = self.answers[number]
            limit.keep(rows.cells, row + rows.offsets[number], now, cost, a, b, c)
            until = max(until, now + reset + limit.lasting)
            number += 1
        rows.cells[row + 1] = until

    def blame(self, row: int, now: int, patience: int) -> None:
        # The limits that refused charge their penalties; the others change nothing.
        rows = self.rows
        number = 0
        while number < rows.count:
            limit = rows.limits[number]
            wait, remaining, _, a, b, c = self.answers[number]
            if wait > patience and limit.penalty > 0:
                rows.punish(limit, row, row + rows.offsets[number], now, remaining)
            number += 1
