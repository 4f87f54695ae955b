"""The flat table: applies limits to rows, all or nothing, one decision at a time.

Fingerprints come from Python's own string hash, which is keyed anew in every process: nobody can
choose keys that collide. Two of a million keys share one with a chance of about 3 in 100 million.

Compiled, a decision touches no Python object that could give up control, so the interpreter's
lock makes it atomic; on builds without that lock a critical section does. Interpreted, a lock
does, one that a signal handler may enter again, and a forked child gets a new one.

A table may also be a drawer of a `Cabinet`, which several processes share. Then its rows stand on a
plot of common memory, a gate stands before them, and a seal makes the fingerprints.
"""

from __future__ import annotations

import operator
import os
import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headgate.algorithms.limit import RESET, SCALE, Limit
from headgate.clock import SystemClock
from headgate.decision import Decision
from headgate.stores.flat.council import Council
from headgate.stores.flat.gate import Gate
from headgate.stores.flat.memo import Memo
from headgate.stores.flat.rows import MOST, Rows
from headgate.stores.flat.seal import Seal

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
    """A ledger in memory: fixed in size, exact, and safe with many threads.

    Without a `plot`, the memory is this process's own.
    """

    __slots__ = (
        "__weakref__", "alarm", "anomalies", "calendar", "clock", "council", "gate", "latest",
        "lock", "rows", "seal",
    )  # fmt: skip

    rows: Rows
    gate: Gate | None
    seal: Seal | None
    lock: Any
    council: Council
    calendar: int
    alarm: int
    latest: int
    anomalies: int
    clock: SystemClock | None

    def __init__(
        self,
        limits: tuple[Limit, ...],
        capacity: int,
        plot: Any = None,
        seal: Seal | None = None,
    ) -> None:
        if not 1 <= len(limits) <= MOST:
            raise ValueError(f"a limiter has from 1 to {MOST} limits, not {len(limits)}")
        self.latest = self.anomalies = 0
        self.clock = None
        self.seal = seal
        self._lay(limits, capacity, None if plot is None else plot.block)
        desk = self.rows.desk
        self.gate = None if desk is None else Gate(desk, plot)
        if not cython.compiled:
            self.lock = self.gate or threading.RLock()
            TABLES.add(self)

    def _lay(self, limits: tuple[Limit, ...], capacity: int, block: Any) -> None:
        # A limit that follows a calendar moves: the table keeps one of its own.
        own = tuple(limit.own() for limit in limits)
        self.calendar = 0 if all(map(operator.is_, own, limits)) else 1
        self.alarm = FOREVER if self.calendar or block is not None else 0
        self.rows = Rows(own, capacity, block)
        self.council = Council(self.rows)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The limits it goes by now."""
        return self.rows.limits

    def trust(self, clock: SystemClock | None) -> None:
        """Take all times for those of that clock, which never goes back; of any clock, if None."""
        self.clock = clock

    def take(self, key: str, cost: int, now: int, patience: int) -> Decision:
        """Spend `cost` if it may enter within `patience` microseconds; all limits or none."""
        return self.ask(self.mark(key), cost, now, patience, 1 if cost > 0 else 0)

    def take_many(self, keys: Sequence[str], cost: int, now: int) -> list[Decision]:
        """Decide for each key in turn, at one moment."""
        return [self.take(key, cost, now, 0) for key in keys]

    def peek(self, key: str, cost: int, now: int) -> Decision:
        """What `take` would answer; nothing is spent."""
        return self.ask(self.mark(key), cost, now, 0, 0)

    def book(self, key: str, cost: int, now: int, patience: int) -> tuple[Decision, Memo]:
        """`take`, and a memo of the key's state before and after it, for `release`."""
        mark = self.mark(key)
        spend = 1 if cost > 0 else 0
        decision = Decision.__new__(Decision)
        # Had by name: to make something may let others in, and one of them change the limits.
        rows = self.rows
        memo = Memo(rows)
        if cython.compiled:
            with cython.critical_section(self):
                self.enter()
                try:
                    self.register(memo, decision, mark, cost, now, patience, spend)
                finally:
                    self.leave()
        else:
            with self.lock:
                self.register(memo, decision, mark, cost, now, patience, spend)
        return decision, memo

    def release(self, key: str, cost: int, now: int, due: int, memo: Memo) -> None:
        """Undo a booking: to the letter if nothing came after it, else as `charge` gives back."""
        mark = self.mark(key)
        if cython.compiled:
            with cython.critical_section(self):
                self.enter()
                try:
                    if not memo.undo(self.rows, mark):
                        self.spend(mark, -cost, now, due)
                finally:
                    self.leave()
        else:
            with self.lock:
                if not memo.undo(self.rows, mark):
                    self.spend(mark, -cost, now, due)

    def charge(self, key: str, cost: int, now: int, due: int) -> Decision:
        """Spend `cost` whatever is left, or give it back if negative; answers what is true then."""
        mark = self.mark(key)
        if cython.compiled:
            with cython.critical_section(self):
                self.enter()
                self.spend(mark, cost, now, due)
                self.leave()
        else:
            with self.lock:
                self.spend(mark, cost, now, due)
        return self.ask(mark, 0, now, 0, 0)

    def forget(self, key: str) -> None:
        """Make `key` as if it had never been seen."""
        mark = self.mark(key)
        if cython.compiled:
            with cython.critical_section(self):
                self.enter()
                self.rows.clear(mark)
                self.leave()
        else:
            with self.lock:
                self.rows.clear(mark)

    def change(self, limits: tuple[Limit, ...], now: int, how: int) -> None:
        """Go on under other `limits`, every key's state carried over."""
        self.adopt(Table(limits, self.rows.capacity), now, how)

    def adopt(self, new: Table, now: int, how: int) -> None:
        """Go on with the limits and the rows of `new`, every key's state carried over to them."""
        rows = 0 if how == RESET else self.rows.size
        scaled = 1 if how == SCALE else 0
        alike = sum(
            1 << n
            for n, pair in enumerate(zip(self.limits, new.limits, strict=False))
            if pair[0] == pair[1]
        )
        if cython.compiled:
            with cython.critical_section(self):
                self.enter()
                self.move(new, now, rows, scaled, alike)
                self.leave()
                self.follow(new)
        elif self.gate is None:
            with self.lock:
                self.move(new, now, rows, scaled, alike)
                self.follow(new)
        else:
            # No other thread may come in while the rows are the new ones and the gate the old.
            with self.gate.thread:
                with self.lock:
                    self.move(new, now, rows, scaled, alike)
                self.follow(new)

    def read(self, key: str) -> list[int]:
        """The cells kept for `key`, limit after limit; none if it has no state."""
        mark = self.mark(key)
        if cython.compiled:
            with cython.critical_section(self):
                self.enter()
                try:
                    return self.copied(mark)
                finally:
                    self.leave()
        else:
            with self.lock:
                return self.copied(mark)

    def stand(self, key: str, now: int) -> list[Decision]:
        """How each limit stands by itself, where `peek` tells of the tightest."""
        mark = self.mark(key)
        if cython.compiled:
            with cython.critical_section(self):
                self.enter()
                try:
                    return self.each(mark, now)
                finally:
                    self.leave()
        else:
            with self.lock:
                return self.each(mark, now)

    def tally(self) -> dict[str, int]:
        """How often a row was given up, or shared, or put back for one who died in the middle.

        By name: `evicted`, `crowded` and `recovered`; `anomalies` are steps back of the clock.
        """
        rows = self.rows
        if rows.desk is not None:
            return rows.desk.counts()
        counts = {"evicted": rows.evicted, "crowded": rows.crowded, "recovered": 0}
        return {"anomalies": self.anomalies, **counts}

    def __len__(self) -> int:
        """How many keys had state that mattered at the latest decision."""
        return self.rows.live(self.moment())

    def moment(self) -> int:
        """The time of the latest decision."""
        desk = self.rows.desk
        if desk is not None:
            return desk.moment()
        return self.latest if self.calendar else self.alarm

    def mark(self, key: str) -> int:
        # The key's fingerprint.
        return fingerprint(key) if self.seal is None else self.seal.mark(key)

    def ask(self, mark: int, cost: int, now: int, patience: int, spend: int) -> Decision:
        decision = Decision.__new__(Decision)
        if cython.compiled:
            with cython.critical_section(self):
                if self.gate is None:
                    self.decide(decision, mark, cost, now, patience, spend)
                else:
                    self.enter()
                    self.visit(decision, mark, cost, now, patience, spend)
                    self.leave()
        elif self.gate is None:
            with self.lock:
                self.decide(decision, mark, cost, now, patience, spend)
        else:
            with self.lock:
                self.visit(decision, mark, cost, now, patience, spend)
        return decision

    def enter(self) -> None:
        # Compiled: past the gate, if there is one; interpreted, the gate is the lock.
        if self.gate is not None:
            self.gate.enter()

    def leave(self) -> None:
        if self.gate is not None:
            self.gate.leave()

    # From here on all is done under the lock.

    def visit(
        self, decision: Decision, mark: int, cost: int, now: int, patience: int, spend: int
    ) -> None:
        # Decide where other processes may do so next. The row of a single limit is noted here, so
        # that `decide` need not ask whose rows they are; all else is noted where it changes.
        now = self.lift(now)
        rows = self.rows
        limit = rows.only
        if spend > 0 and limit is not None and cost <= limit.most:
            row = rows.search(mark)
            if row >= 0:
                wait = 0
                if limit.ring > 0:
                    # Of a long row only what will change is worth a copy.
                    wait, _, _, _, _, _ = limit.look(rows.cells, row + 2, now, now, cost, patience)
                if wait <= patience:
                    rows.note(row)
        self.decide(decision, mark, cost, now, patience, spend)

    def decide(
        self, decision: Decision, mark: int, cost: int, now: int, patience: int, spend: int
    ) -> None:
        if now < self.alarm:
            now = self.lift(now)
            self.mind(now)
        else:
            self.alarm = now
        rows = self.rows
        row = rows.search(mark)
        if row < 0:
            if spend > 0 and cost <= rows.most:
                row = rows.place(mark, now)
            else:
                row = rows.glance(mark, now)
        limit = rows.only
        if limit is None:
            self.several(decision, row, cost, now, patience, spend)
            return
        cells = rows.cells
        if cost > limit.most:
            self.never(decision, limit, row + 2, now)
            return
        wait, remaining, reset, a, b, c = limit.look(cells, row + 2, now, now, cost, patience)
        if self.calendar > 0:
            wait = limit.date(now, wait, patience)
            reset = limit.date(now, reset, FOREVER)
        why = 1 if wait > patience else 0
        if spend == 0:
            if why == 0 and cost > 0:
                _, remaining, reset, a, b, c = limit.look(cells, row + 2, now, now, 0, FOREVER)
                reset = limit.date(now, reset, FOREVER)
        elif why == 0:
            cells[row + 1] = now + reset + limit.lasting
            if limit.ring > 0:
                limit.keep(cells, row + 2, now, cost, a, b, c)
            else:
                cells[row + 2] = a
                cells[row + 3] = b
                if limit.width > 2:
                    cells[row + 4] = c
        elif limit.penalty > 0:
            rows.punish(limit, row, row + 2, now, remaining)
            wait, remaining, reset, a, b, c = limit.look(cells, row + 2, now, now, cost, patience)
            wait = limit.date(now, wait, patience)
            reset = limit.date(now, reset, FOREVER)
        elif self.anomalies > 0:
            rows.restate(row, now)
        if remaining < 0:
            remaining = 0
        decision.fill(why, limit.limit, remaining, wait, reset, limit)

    def copied(self, mark: int) -> list[int]:
        rows = self.rows
        row = rows.search(mark)
        return [] if row < 0 else [rows.cells[row + n] for n in range(2, rows.stride)]

    def each(self, mark: int, now: int) -> list[Decision]:
        decisions = []
        now = self.lift(now)
        rows = self.rows
        row = rows.search(mark)
        if row < 0:
            row = rows.glance(mark, now)
        number = 0
        while number < rows.count:
            limit = rows.limits[number]
            decision = Decision.__new__(Decision)
            decisions.append(decision)
            start = row + rows.offsets[number]
            self.never(decision, limit, start, now)
            remaining, reset = decision.remaining, decision.reset
            if limit.most > 0:
                wait, _, _, a, b, c = limit.look(rows.cells, start, now, now, 1, 0)
                wait = limit.date(now, wait, 0)
                decision.fill(1 if wait > 0 else 0, limit.limit, remaining, wait, reset, limit)
            number += 1
        return decisions

    def register(
        self,
        memo: Memo,
        decision: Decision,
        mark: int,
        cost: int,
        now: int,
        patience: int,
        spend: int,
    ) -> None:
        # A booking: decide, and keep the row as it was before and as it is after.
        memo.jot(self.rows, mark, memo.before)
        self.visit(decision, mark, cost, now, patience, spend)
        memo.jot(self.rows, mark, memo.after)

    def several(
        self, decision: Decision, row: int, cost: int, now: int, patience: int, spend: int
    ) -> None:
        council = self.council
        longest = council.settle(row, now, cost, patience)
        if longest < 0:
            number = -1 - longest
            limit = self.rows.limits[number]
            self.never(decision, limit, row + self.rows.offsets[number], now)
            return
        why = 1 if longest > patience else 0
        if spend == 0:
            if why == 0 and cost > 0:
                council.consult(row, now, now, 0, FOREVER)
        elif why == 0:
            council.keep(row, now, cost)
        else:
            council.blame(row, now, patience)
            longest = council.consult(row, now, now, cost, patience)
            if self.anomalies > 0:
                self.rows.restate(row, now)
        number = council.tightest(patience, why)
        limit = self.rows.limits[number]
        _, remaining, reset, a, b, c = council.answers[number]
        decision.fill(why, limit.limit, max(0, remaining), longest, reset, limit)

    def spend(self, mark: int, cost: int, now: int, due: int) -> None:
        # Charge every limit, whatever it says.
        now = self.lift(now)
        self.mind(now)
        rows = self.rows
        row = rows.search(mark)
        if row < 0:
            if cost < 0:
                return
            row = rows.place(mark, now)
        rows.note(row)
        number = 0
        while number < rows.count:
            limit = rows.limits[number]
            if limit.most >= 0:
                start = row + rows.offsets[number]
                limit.charge(rows.cells, start, now, cost, due)
                rows.extend(limit, row, start, now)
            number += 1

    def never(self, decision: Decision, limit: Limit, start: int, now: int) -> None:
        # What is asked cannot fit however long one waits; say what is left all the same.
        remaining = reset = 0
        if limit.most >= 0:
            _, remaining, reset, a, b, c = limit.look(self.rows.cells, start, now, now, 0, FOREVER)
            reset = limit.date(now, reset, FOREVER)
        decision.fill(2, limit.limit, max(0, remaining), 0, reset, limit)

    def lift(self, now: int) -> int:
        # The time to go by. Who was held up between reading the clock and coming in has one so old
        # that it would be taken for a clock that went back; it is later by now.
        if self.clock is not None and now < self.moment():
            return max(now, self.clock.read())
        return now

    def mind(self, now: int) -> None:
        # Before the alarm: the clock went back. By the calendar, and where other processes decide
        # as well, it is always before the alarm.
        if self.calendar > 0:
            for limit in self.rows.limits:
                limit.follow(now)
        desk = self.rows.desk
        if desk is not None:
            self.anomalies = desk.heed(now)
            return
        before = self.alarm
        if self.calendar > 0:
            before = self.latest
        else:
            self.alarm = now
        if now < before - SLACK:
            self.anomalies += 1
        self.latest = now

    def move(self, new: Table, now: int, rows: int, scaled: int, alike: int) -> None:
        # Carry the live ones of the first `rows` over to `new`, and go on with its rows.
        old = self.rows
        if rows > 0:
            new.mind(now)
        number = 0
        while number < rows:
            row = number * old.stride
            if old.cells[row] != 0 and old.cells[row + 1] > now:
                self.copy(row, new.rows, new.rows.place(old.cells[row], now), now, scaled, alike)
            number += 1
        if new.rows.desk is not None:
            new.rows.desk.done()
        new.rows.evicted += old.evicted
        new.rows.crowded += old.crowded
        self.rows = new.rows
        self.council = new.council
        self.calendar = new.calendar
        self.alarm = new.alarm

    def follow(self, new: Table) -> None:
        # The gate stands before the new rows from now on.
        if self.gate is not None and new.gate is not None:
            self.gate.follow(new.gate)

    def copy(self, row: int, rows: Rows, fresh: int, now: int, scaled: int, alike: int) -> None:
        # Limit by limit, in their order; those that stay the same keep their cells.
        old = self.rows
        number = 0
        while number < min(old.count, rows.count):
            before = old.limits[number]
            after = rows.limits[number]
            start = row + old.offsets[number]
            place = fresh + rows.offsets[number]
            if alike >> number & 1 > 0:
                cell = 0
                while cell < after.width:
                    rows.cells[place + cell] = old.cells[start + cell]
                    cell += 1
                rows.extend(after, fresh, place, now)
            elif before.most > 0 and after.most > 0:
                self.carry(before, start, rows, after, place, now, scaled)
                rows.extend(after, fresh, place, now)
            number += 1

    def carry(
        self, before: Limit, start: int, rows: Rows, after: Limit, place: int, now: int, scaled: int
    ) -> None:
        # What is left of one limit becomes what is left of another.
        cells = self.rows.cells
        units = before.left(cells, start, now)
        if units > 0 and scaled > 0:
            units = units * after.limit / before.limit
        if units >= after.limit:
            return
        wait, _, _, a, b, c = before.look(cells, start, now, now, 0, FOREVER)
        if wait > 0 and before.ring > 0 and after.ring > 0:
            rows.book(after, place, now, wait, units)
        else:
            after.fill(rows.cells, place, now, units)


def fingerprint(key: str) -> int:
    """The key as a number; never 0, which marks a row without one."""
    return hash(key) or 1


TABLES: weakref.WeakSet[Table] = weakref.WeakSet()


def renew() -> None:
    """Give every table a lock of its own again: in a forked child the old one may be held."""
    for table in TABLES:
        if table.gate is None:
            table.lock = threading.RLock()
        else:
            table.gate.renew()


if not cython.compiled:
    os.register_at_fork(after_in_child=renew)
