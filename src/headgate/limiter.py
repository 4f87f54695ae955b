"""Limiter: how often. Joins limits to a store and a clock, and speaks to people.

`take` is now or no, `acquire` waits, `reserve` books now to act later, `peek` looks, `reset`
forgets, `refund` gives back, `debit` spends what is not there. Seconds are floats here and
microseconds are integers below.
"""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Iterable
from math import inf
from typing import Any, ParamSpec, TypeVar

from headgate.algorithms.limit import KEEP, RESET, SCALE, YEAR, Limit
from headgate.clock import COMPILED, Clock, SystemClock, microseconds
from headgate.decision import Decision
from headgate.drive import adrive, drive
from headgate.errors import LimitError
from headgate.flow import Book, Booking, Permit, Release, Reservation, Sleep, acquire
from headgate.intake import checked, gather, patience, reach
from headgate.rate import Rate
from headgate.stores.flat.table import Table
from headgate.stores.leases.ledger import Leased
from headgate.stores.shared.cabinet import Cabinet
from headgate.stores.store import FAR, Ledger, Store
from headgate.wrapper import wrap

P = ParamSpec("P")
R = TypeVar("R")
Listener = Callable[[str, Decision], object]

logger = logging.getLogger("headgate")


class Limiter:
    """How often a key may do something, under one limit or several that must all agree.

    A limit is a `Rate` spelling such as `"100/min"` (a token bucket) or a limit object. State is
    kept in `store`, this process's memory unless told otherwise; time comes from `clock`.
    """

    store: Store
    name: str
    clock: Clock
    ledger: Ledger | None
    table: Table | None
    cabinet: Cabinet | None
    leased: Leased | None
    system: SystemClock | None
    listeners: tuple[Listener, ...]

    def __init__(
        self,
        *limits: Limit | Rate | str,
        store: Store | str = "memory://",
        name: str = "",
        clock: Clock | None = None,
        when_unavailable: str = "local",
    ) -> None:
        if not limits:
            raise TypeError('Limiter needs at least one limit, for example Limiter("100/min")')
        if not isinstance(name, str):
            raise TypeError(f"name is a str, not {name!r}")
        found = gather(limits)
        self.store = reach(store)
        self.name = name
        self.clock = self.store.clock() if clock is None else clock
        self.system = self.clock if isinstance(self.clock, SystemClock) else None
        self.listeners = ()
        self.ledger = self.store.open(found, name, clock, when_unavailable) if found else None
        self.table = self.ledger if isinstance(self.ledger, Table) else None
        self.cabinet = self.ledger if isinstance(self.ledger, Cabinet) else None
        self.leased = self.ledger if isinstance(self.ledger, Leased) else None
        if isinstance(self.ledger, Table | Cabinet):
            # The store's own clock is one for all who use it, and never goes back.
            self.ledger.trust(self.system if clock is None else None)
        self._shorten()

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The limits that must all agree, as they are now; none if it is unlimited."""
        return () if self.ledger is None else self.ledger.limits

    def take(self, key: str = "", cost: int = 1) -> Decision:
        """Spend `cost` now, or say no and spend nothing. Never waits; cost 0 only looks."""
        return self.ask(key, cost, 0, self.time())

    def take_many(self, keys: Iterable[str], cost: int = 1) -> list[Decision]:
        """`take` for each key in turn, all at one moment."""
        now = self.time()
        if self.table is not None or self.ledger is None:
            return [self.ask(key, cost, 0, now) for key in keys]
        asked = [checked(key, cost) for key in keys]
        decisions = (
            self.ledger.take_many([key for key, _ in asked], asked[0][1], now) if asked else []
        )
        for (key, _), decision in zip(asked, decisions, strict=True):
            if self.listeners:
                self._tell(key, decision)
        return decisions

    def peek(self, key: str = "", cost: int = 1) -> Decision:
        """What `take` would say, with what is left now; nothing is spent."""
        key, units = checked(key, cost)
        if self.ledger is None:
            return Decision(True)
        return self.ledger.peek(key, units, self.time())

    def debit(self, key: str = "", cost: int = 1) -> Decision:
        """Spend `cost` although it may not be there; the key pays the debt off before it enters.

        For what is only known afterwards: bytes sent, tokens used, rows read.
        """
        return self.charge(key, cost, 1, FAR)  # type: ignore[no-any-return]

    def refund(self, key: str = "", cost: int = 1) -> Decision:
        """Give `cost` back, up to what a fresh key has."""
        return self.charge(key, cost, -1, FAR)  # type: ignore[no-any-return]

    def reset(self, key: str = "") -> None:
        """Forget `key`: it is as if it had never been seen."""
        key, _ = checked(key, 0)
        if self.ledger is not None:
            self.ledger.forget(key)

    def reserve(self, key: str = "", cost: int = 1, timeout: float = inf) -> Reservation:
        """Spend `cost` for the first moment it fits, within `timeout` seconds, and say when."""
        booking = self._book(Book(key, cost, patience(timeout, inf, 0, self._horizon())))
        return Reservation(key, cost, booking, self._release)

    def acquire(
        self, key: str = "", cost: int = 1, timeout: float = inf, deadline: float = inf
    ) -> Permit:
        """Wait until `cost` fits, then go in; raises `LimitExceeded` at once if it cannot in time.

        `timeout` is in seconds from now, `deadline` a moment in the clock's own seconds (those of
        `time.time()` for the system's clock); the earlier of the two counts. Callers go in in
        the order they asked. `CannotFit` means that no wait would help.
        """
        within = patience(timeout, deadline, self.clock.now(), self._horizon())
        return drive(acquire(key, cost, within), self._perform)

    def guard(
        self, key: str | Callable[..., str] = "", cost: int = 1, timeout: float = 0.0
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Decorate a `def` or an `async def`: each call goes through `acquire` first.

        `key` is a template over the arguments, such as `"user:{user_id}"`, or a function of them.
        Without a `timeout` a call that does not fit raises `LimitExceeded` at once.
        """

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            return wrap(
                function,
                key,
                lambda name: self.acquire(name, cost, timeout),
                lambda name: self._aacquire(name, cost, timeout, inf),
            )

        return decorate

    def change(self, *limits: Limit | Rate | str, carry: str = "scale") -> None:
        """Go on under other limits from now on.

        What a key has left scales with the new capacity and its debt is kept. `carry="keep"` keeps
        what is left as it is, up to the new capacity; `carry="reset"` starts every key anew. Limits
        are matched in the order given.
        """
        ways = {"scale": SCALE, "keep": KEEP, "reset": RESET}
        if carry not in ways:
            raise ValueError(f'carry is "scale", "keep" or "reset", not {carry!r}')
        if not limits:
            raise TypeError('change needs at least one limit, for example change("100/min")')
        changed = gather(limits)
        if not changed or self.ledger is None:
            raise LimitError("change: from or to unlimited is a new Limiter")
        if not isinstance(self.ledger, Table | Cabinet):
            raise LimitError(
                "change: limits kept beyond this machine are changed by a new Limiter with the new "
                "limits; its keys start anew"
            )
        self.ledger.change(changed, self.time(), ways[carry])
        self._shorten()

    def listen(self, listener: Listener) -> Listener:
        """Call `listener(key, decision)` after each decision; what it raises is only logged."""
        self.listeners = (*self.listeners, listener)
        self._shorten()
        return listener

    def __repr__(self) -> str:
        said = [repr(limit) for limit in self.limits] or ['"unlimited"']
        said += [f"name={self.name!r}"] if self.name else []
        return f"Limiter({', '.join(said)})"

    def time(self) -> int:
        if self.system is not None:
            return self.system.read()
        return self.clock.now()

    def ask(self, key: str, cost: int, patience: int, now: int) -> Decision:
        # A literal, because compiled a name would be made a Python number for each comparison.
        if type(key) is str and type(cost) is int and 0 <= cost <= 1_000_000_000:
            units = cost
        else:
            key, units = checked(key, cost)
        if self.table is not None:
            # Past `Table.take`, and with its fingerprint written out, to stay in C when compiled.
            decision = self.table.ask(hash(key) or 1, units, now, patience, 1 if units > 0 else 0)
        elif self.cabinet is not None:
            decision = self.cabinet.ask(key, units, now, patience)
        elif self.leased is not None:
            decision = self.leased.take(key, units, now, patience)
        elif self.ledger is not None:
            decision = self.ledger.take(key, units, now, patience)
        else:
            decision = Decision(True)
        if self.listeners:
            self._tell(key, decision)
        return decision

    def charge(self, key: str, cost: int, sign: int, due: int) -> Any:
        key, units = checked(key, cost)
        if self.ledger is None:
            return Decision(True)
        most = min([limit.heaviest for limit in self.limits])
        if units > most:
            asked = operator.index(cost)
            raise LimitError(f"cost is at most {most:,} at once under {self!r}, not {asked:,}")
        return self.ledger.charge(key, sign * units, self.time(), due)

    def _book(self, effect: Book) -> Booking:
        key, units = checked(effect.key, effect.cost)
        if self.ledger is None:
            return Booking(Decision(True), FAR, None)
        now = self.time()
        return self._booked(key, now, *self.ledger.book(key, units, now, effect.patience))

    def _booked(self, key: str, now: int, decision: Decision, memo: Any) -> Booking:
        if self.listeners:
            self._tell(key, decision)
        due = now + microseconds(decision.retry_after) if decision else FAR
        return Booking(decision, due, memo)

    def _perform(self, effect: Any) -> Any:
        if isinstance(effect, Book):
            return self._book(effect)
        if isinstance(effect, Sleep):
            return self.clock.sleep(effect.seconds)
        return self._release(effect)

    async def _aperform(self, effect: Any) -> Any:
        if isinstance(effect, Sleep):
            return await self.clock.asleep(effect.seconds)
        return self._perform(effect)

    def _release(self, effect: Release) -> Any:
        key, units = checked(effect.key, effect.cost)
        if self.ledger is None:
            return None
        booking = effect.booking
        return self.ledger.release(key, units, self.time(), booking.due, booking.memo)

    async def _aacquire(self, key: str, cost: int, timeout: float, deadline: float) -> Permit:
        within = patience(timeout, deadline, self.clock.now(), self._horizon())
        return await adrive(acquire(key, cost, within), self._aperform)

    def _shorten(self) -> None:
        # Interpreted, `take` has a shorter way; it tells no listener.
        if COMPILED or self.table is None:
            return
        from headgate.stores.flat.lane import lane  # noqa: PLC0415 - compiled, there is no step to import

        vars(self).pop("take", None)
        read = self.clock.now if self.system is None else self.system.reader()
        short = None if self.listeners else lane(self.table, read, self.take)
        if short is not None:
            vars(self)["take"] = short

    def _horizon(self) -> int:
        # The farthest that all limits can book ahead.
        return min([limit.horizon for limit in self.limits], default=YEAR)

    def _tell(self, key: str, decision: Decision) -> None:
        for listener in self.listeners:
            try:
                listener(key, decision)
            except Exception:
                logger.exception("a listener failed; the request goes on")
