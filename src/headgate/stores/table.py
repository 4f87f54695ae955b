"""The flat table: applies limits to rows, all or nothing, one decision at a time.

Fingerprints come from Python's own string hash, which is keyed anew in every process: nobody can
choose keys that collide. Two of a million keys share one with a chance of about 3 in 100 million.

Compiled, a decision touches no Python object that could give up control, so the interpreter's
lock makes it atomic; on builds without that lock a critical section does. Interpreted, a lock
does, one that a signal handler may enter again, and a forked child gets a new one.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headgate.algorithms.limit import RESET, SCALE, Limit
from headgate.decision import Decision
from headgate.stores.rows import MOST, Rows

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

SLACK = 1_000_000
FOREVER = 1 << 62


class Table:
    """A ledger in this process's memory: fixed in size, exact, and safe with many threads."""

    __slots__ = ("__weakref__", "anomalies", "answers", "calendar", "latest", "lock", "rows")

    rows: Rows
    lock: Any
    answers: Any
    calendar: int
    latest: int
    anomalies: int

    def __init__(self, limits: tuple[Limit, ...], capacity: int) -> None:
        if not 1 <= len(limits) <= MOST:
            raise ValueError(f"a limiter has from 1 to {MOST} limits, not {len(limits)}")
        self.latest = self.anomalies = 0
        if not cython.compiled:
            self.answers = [(0, 0, 0, 0, 0, 0)] * MOST
            self.lock = threading.RLock()
            TABLES.add(self)
        self._lay(limits, capacity)

    def _lay(self, limits: tuple[Limit, ...], capacity: int) -> None:
        # A limit that follows a calendar moves: the table keeps one of its own.
        own = tuple(limit.own() for limit in limits)
        self.calendar = 0 if own == limits and all(map(lambda a, b: a is b, own, limits)) else 1
        self.rows = Rows(own, capacity)

    def take(self, key: str, cost: int, now: int, patience: int) -> Decision:
        """Spend `cost` if it may enter within `patience` microseconds; all limits or none."""
        return self.ask(fingerprint(key), cost, now, patience, 1 if cost > 0 else 0)

    def take_many(self, keys: Sequence[str], cost: int, now: int) -> list[Decision]:
        """Decide for each key in turn, at one moment."""
        return [self.take(key, cost, now, 0) for key in keys]

    def peek(self, key: str, cost: int, now: int) -> Decision:
        """What `take` would answer; nothing is spent."""
        return self.ask(fingerprint(key), cost, now, 0, 0)

    def charge(self, key: str, cost: int, now: int, due: int) -> Decision:
        """Spend `cost` whatever is left, or give it back if negative; answers what is true then."""
        mark = fingerprint(key)
        if cython.compiled:
            with cython.critical_section(self):
                self.spend(mark, cost, now, due)
        else:
            with self.lock:
                self.spend(mark, cost, now, due)
        return self.ask(mark, 0, now, 0, 0)

    def forget(self, key: str) -> None:
        """Make `key` as if it had never been seen."""
        mark = fingerprint(key)
        if cython.compiled:
            with cython.critical_section(self):
                self.rows.clear(mark)
        else:
            with self.lock:
                self.rows.clear(mark)

    def change(self, limits: tuple[Limit, ...], now: int, how: int) -> None:
        """Go on under other `limits`, every key's state carried over."""
        new = Table(limits, self.rows.capacity)
        rows = 0 if how == RESET else self.rows.size
        scaled = 1 if how == SCALE else 0
        if cython.compiled:
            with cython.critical_section(self):
                self.move(new, now, rows, scaled)
        else:
            with self.lock:
                self.move(new, now, rows, scaled)

    def read(self, key: str) -> list[int]:
        """The cells kept for `key`, limit after limit; none if it has no state."""
        row = self.rows.search(fingerprint(key))
        return (
            [] if row < 0 else [self.rows.cells[row + 2 + n] for n in range(self.rows.stride - 2)]
        )

    def __len__(self) -> int:
        """How many keys had state that mattered at the latest decision."""
        return self.rows.live(self.latest)

    def ask(self, mark: int, cost: int, now: int, patience: int, spend: int) -> Decision:
        decision = Decision.__new__(Decision)
        if cython.compiled:
            with cython.critical_section(self):
                self.decide(decision, mark, cost, now, patience, spend)
        else:
            self.lock.acquire()
            try:
                self.decide(decision, mark, cost, now, patience, spend)
            finally:
                self.lock.release()
        return decision

    # From here on all is done under the lock.

    def decide(
        self, decision: Decision, mark: int, cost: int, now: int, patience: int, spend: int
    ) -> None:
        if now < self.latest or self.calendar > 0:
            self.mind(now)
        self.latest = now
        rows = self.rows
        row = rows.search(mark)
        if row < 0:
            row = rows.place(mark, now) if spend else rows.blank(now)
        if rows.count > 1:
            self.several(decision, row, cost, now, patience, spend)
            return
        limit = rows.first
        cells = rows.cells
        if cost > limit.most:
            self.never(decision, limit, row + 2, now)
            return
        wait, remaining, reset, a, b, c = limit.look(cells, row + 2, now, now, cost, patience)
        why = 1 if wait > patience else 0
        if spend == 0:
            if why == 0 and cost > 0:
                _, remaining, reset, a, b, c = limit.look(cells, row + 2, now, now, 0, FOREVER)
        elif why == 0:
            limit.keep(cells, row + 2, now, cost, a, b, c)
            cells[row + 1] = now + reset + limit.lasting
        elif limit.penalty > 0:
            self.punish(limit, row, row + 2, now, reset)
        if remaining < 0:
            remaining = 0
        decision.fill(why, limit.limit, remaining, wait, reset, limit)

    def several(
        self, decision: Decision, row: int, cost: int, now: int, patience: int, spend: int
    ) -> None:
        enter = now
        longest = self.consult(row, now, enter, cost, patience)
        # Booked ahead, every limit has to be asked about the moment of the slowest.
        while enter - now < longest and longest <= patience:
            enter = now + longest
            longest = self.consult(row, now, enter, cost, patience)
        if longest < 0:
            number = -1 - longest
            limit = self.rows.limits[number]
            self.never(decision, limit, row + self.rows.offsets[number], now)
            return
        why = 1 if longest > patience else 0
        if spend == 0:
            if why == 0 and cost > 0:
                self.consult(row, now, now, 0, FOREVER)
        elif why == 0:
            self.keep(row, now, cost)
        else:
            self.blame(row, now, patience)
        number = self.tightest(patience, why)
        limit = self.rows.limits[number]
        _, remaining, reset, a, b, c = self.answers[number]
        decision.fill(why, limit.limit, max(0, remaining), longest, reset, limit)

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
                rows.cells, row + rows.offsets[number], now, enter, cost, patience
            )
            wait, _, _, a, b, c = self.answers[number]
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
            wait, _, reset, a, b, c = self.answers[number]
            if wait > patience and limit.penalty > 0:
                self.punish(limit, row, row + rows.offsets[number], now, reset)
            number += 1

    def punish(self, limit: Limit, row: int, start: int, now: int, reset: int) -> None:
        # A refused request is charged, unless the key owes so much that it would never return.
        if reset > limit.worst:
            return
        limit.charge(self.rows.cells, start, now, limit.penalty, now)
        self.extend(limit, row, start, now)

    def extend(self, limit: Limit, row: int, start: int, now: int) -> None:
        # Keep the row for as long as what was charged matters.
        cells = self.rows.cells
        _, _, reset, a, b, c = limit.look(cells, start, now, now, 0, FOREVER)
        cells[row + 1] = max(cells[row + 1], now + reset + limit.lasting)

    def spend(self, mark: int, cost: int, now: int, due: int) -> None:
        # Charge every limit, whatever it says.
        self.mind(now)
        rows = self.rows
        row = rows.search(mark)
        if row < 0:
            if cost < 0:
                return
            row = rows.place(mark, now)
        number = 0
        while number < rows.count:
            limit = rows.limits[number]
            if limit.most >= 0:
                start = row + rows.offsets[number]
                limit.charge(rows.cells, start, now, cost, due)
                self.extend(limit, row, start, now)
            number += 1

    def never(self, decision: Decision, limit: Limit, start: int, now: int) -> None:
        # What is asked cannot fit however long one waits; say what is left all the same.
        remaining = reset = 0
        if limit.most >= 0:
            _, remaining, reset, a, b, c = limit.look(self.rows.cells, start, now, now, 0, FOREVER)
        decision.fill(2, limit.limit, max(0, remaining), 0, reset, limit)

    def mind(self, now: int) -> None:
        # The clock went back, or the calendar moves on.
        if now < self.latest - SLACK:
            self.anomalies += 1
        if self.calendar > 0:
            for limit in self.rows.limits:
                limit.follow(now)

    def move(self, new: Table, now: int, rows: int, scaled: int) -> None:
        # Carry the live ones of the first `rows` over to `new`, and go on with its rows.
        old = self.rows
        new.mind(now)
        number = 0
        while number < rows:
            row = number * old.stride
            if old.cells[row] != 0 and old.cells[row + 1] > now:
                self.copy(row, new, new.rows.place(old.cells[row], now), now, scaled)
            number += 1
        self.rows = new.rows
        self.calendar = new.calendar

    def copy(self, row: int, new: Table, fresh: int, now: int, scaled: int) -> None:
        old = self.rows
        rows = new.rows
        number = 0
        while number < min(old.count, rows.count):
            before = old.limits[number]
            after = rows.limits[number]
            if before.most > 0 and after.most > 0:
                _, remaining, _, a, b, c = before.look(
                    old.cells, row + old.offsets[number], now, now, 0, FOREVER
                )
                units = after.carry(remaining, before.limit, scaled)
                if units > 0:
                    start = fresh + rows.offsets[number]
                    after.charge(rows.cells, start, now, units, now)
                    new.extend(after, fresh, start, now)
            number += 1


def fingerprint(key: str) -> int:
    """The key as a number; never 0, which marks a row without one."""
    return hash(key) or 1


TABLES: weakref.WeakSet[Table] = weakref.WeakSet()


def renew() -> None:
    """Give every table a lock of its own again: in a forked child the old one may be held."""
    for table in TABLES:
        table.lock = threading.RLock()


if not cython.compiled:
    os.register_at_fork(after_in_child=renew)
