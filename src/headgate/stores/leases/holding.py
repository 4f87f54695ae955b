"""Holding: what a process has of one key, spent by many threads at once.

Compiled, each change touches no Python object that could give up control, so the interpreter's
lock makes it atomic; on builds without that lock a critical section does. Interpreted, the lock it
is given does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
        "asked", "batch", "closed", "fetching", "least", "limit", "lock", "moment", "reset", "rest",
        "rule", "taken", "units", "until",
    )  # fmt: skip

    lock: Any

    def __init__(self, lock: Any) -> None:
        self.units = self.until = self.moment = self.taken = 0
        # Until when so many units, or more, are refused; and the least that was asked for.
        self.closed = self.asked = self.least = 0
        # How many are on their way to the store for it: until they are back it is not forgotten.
        self.batch = self.fetching = 0
        self.limit = self.rest = self.reset = 0
        self.rule = ""
        self.lock = lock

    def pay(self, cost: int, now: int) -> int:
        """Spend `cost`, if so much is here and its time is not over; what is left then, or -1."""
        if cython.compiled:
            with cython.critical_section(self):
                left = self.spend(cost, now)
        else:
            with self.lock:
                left = self.spend(cost, now)
        return left

    def put(self, units: int, until: int, moment: int) -> None:
        """Add `units` of a lease taken at `moment`; what is here already keeps its own end."""
        if cython.compiled:
            with cython.critical_section(self):
                self.add(units, until, moment)
        else:
            with self.lock:
                self.add(units, until, moment)

    def restore(self, cost: int, now: int, moment: int) -> int:
        """Take `cost` back from who paid it, if the lease of `moment` still lives; 1 if it does."""
        if cython.compiled:
            with cython.critical_section(self):
                alive = self.mend(cost, now, moment)
        else:
            with self.lock:
                alive = self.mend(cost, now, moment)
        return alive

    def end(self, now: int) -> int:
        """The unspent units of a lease that is over, which are no longer held."""
        if cython.compiled:
            with cython.critical_section(self):
                units = self.drain(now)
        else:
            with self.lock:
                units = self.drain(now)
        return units

    def spend(self, cost: int, now: int) -> int:
        if self.units < cost or cost < 1 or now >= self.until:
            return -1
        self.units -= cost
        return self.units

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
        return units
