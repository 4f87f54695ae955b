"""Holding: what a process has of one key, spent by many threads at once.

Compiled, each verb touches no Python object that could give up control, so the interpreter's lock
makes it atomic; on builds without that lock a critical section does. Interpreted, the lock of its
owner does, which in a forked child is another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headgate.decision import Decision

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython


class Holding:
    """Units of one key, until when they may be spent, and what the store said of it last."""

    __slots__ = (
        "asked", "batch", "closed", "fetching", "least", "limit", "moment", "owner", "reset",
        "rest", "source", "taken", "units", "until",
    )  # fmt: skip

    owner: Any
    source: object

    def __init__(self, owner: Any) -> None:
        self.units = self.until = self.moment = self.taken = 0
        # Until when so many units, or more, are refused; and the least that was asked for.
        self.closed = self.asked = self.least = 0
        # How many are on their way to the store for it: until they are back it is not forgotten.
        self.batch = self.fetching = 0
        self.limit = self.rest = self.reset = 0
        self.source = None
        if not cython.compiled:
            self.owner = owner

    def decide(self, decision: Decision, cost: int, now: int, most: int) -> int:
        """Answer by filling in `decision`, and 1, or 0 if the store has to be asked.

        A request for more than `most` is the store's own affair.
        """
        if cython.compiled:
            with cython.critical_section(self):
                known = self.judge(decision, cost, now, most)
        else:
            with self.owner.lock:
                known = self.judge(decision, cost, now, most)
        return known

    def pay(self, cost: int, now: int) -> int:
        """Spend `cost`, if so much is here and its time is not over; what is left then, or -1."""
        if cython.compiled:
            with cython.critical_section(self):
                left = self.spend(cost, now)
        else:
            with self.owner.lock:
                left = self.spend(cost, now)
        return left

    def grant(self, said: Decision, units: int, until: int, moment: int) -> None:
        """Add `units` of a lease taken at `moment`; what is here already keeps its own end."""
        if cython.compiled:
            with cython.critical_section(self):
                self.note(said)
                self.add(units, until, moment)
        else:
            with self.owner.lock:
                self.note(said)
                self.add(units, until, moment)

    def refuse(self, said: Decision, now: int, asked: int, least: int) -> None:
        """Remember that so many units were refused, until the moment the store named."""
        if cython.compiled:
            with cython.critical_section(self):
                self.note(said)
                self.close(said, now, asked, least)
        else:
            with self.owner.lock:
                self.note(said)
                self.close(said, now, asked, least)

    def restore(self, cost: int, now: int, moment: int) -> int:
        """Take `cost` back from who paid it, if the lease of `moment` still lives; 1 if it does."""
        if cython.compiled:
            with cython.critical_section(self):
                alive = self.mend(cost, now, moment)
        else:
            with self.owner.lock:
                alive = self.mend(cost, now, moment)
        return alive

    def end(self, now: int) -> int:
        """The unspent units of a lease that is over, which are no longer held."""
        if cython.compiled:
            with cython.critical_section(self):
                units = self.drain(now)
        else:
            with self.owner.lock:
                units = self.drain(now)
        return units

    def judge(self, decision: Decision, cost: int, now: int, most: int) -> int:
        left = self.spend(cost, now)
        if left >= 0:
            decision.fill(0, self.limit, self.rest + left, 0, self.reset, self.source)
            return 1
        if now >= self.closed or cost < 1 or cost > most:
            return 0
        if max(cost - self.units, self.least) < self.asked:
            return 0
        wait = self.closed - now
        decision.fill(1, self.limit, self.rest, wait, max(wait, self.reset), self.source)
        return 1

    def spend(self, cost: int, now: int) -> int:
        if self.units < cost or cost < 1 or now >= self.until:
            return -1
        self.units -= cost
        return self.units

    def note(self, said: Decision) -> None:
        self.limit = said.limit
        self.rest = said.remaining
        self.reset = said.reset
        self.source = said.source
        self.closed = 0

    def add(self, units: int, until: int, moment: int) -> None:
        # Units of a lease that is not over keep its end: none may live longer than its own.
        if self.units:
            self.until = min(self.until, until)
            self.moment = min(self.moment, moment)
        else:
            self.until = until
            self.moment = moment
        self.units += units
        self.taken = units

    def close(self, said: Decision, now: int, asked: int, least: int) -> None:
        # What was decided without the store is not remembered: the store would have known better.
        if not said.degraded:
            self.closed = now + said.retry
            self.asked = asked
            self.least = least

    def mend(self, cost: int, now: int, moment: int) -> int:
        if self.moment != moment or now >= self.until:
            return 0
        self.units += cost
        return 1

    def drain(self, now: int) -> int:
        if now < self.until:
            return 0
        units = self.units
        self.units = 0
        if units:
            self.batch = max(1, (self.taken - units) // 2)
            # Once they are back in the store, it refuses as many more until that moment.
            self.asked += units
        return units
