"""Fallback: decisions when the store cannot be asked. Neither silently open nor silently closed.

`local` decides here, by this process's share of each limit: the limit divided by the processes
that were seen using the store lately, at least one unit. `allow` lets everything in, `deny` lets
nothing in. Such decisions are marked `degraded`. When the store is back, what was let in
meanwhile is charged to it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from headgate.algorithms.limit import SCALE, Limit
from headgate.decision import Decision
from headgate.errors import StoreUnavailable
from headgate.latch import Latch
from headgate.stores.flat.table import Table
from headgate.stores.leases.lease import Lease
from headgate.stores.reply import Reply, later
from headgate.stores.share import marked, share, verdict
from headgate.stores.store import FAR
from headgate.stores.watch import Watch

MODES = ("local", "allow", "deny", "raise")
# Keys whose spending is remembered for the time after.
CAPACITY = 100_000


class Fallback:
    """A ledger that always answers: from `ledger`, or else as `mode` says.

    Its verbs are awaited where those of `ledger` are (`awaited`).
    """

    def __init__(self, ledger: Any, watch: Watch, beat: Any, mode: str, awaited: bool) -> None:
        self.ledger = ledger
        self.watch = watch
        self.mode = mode
        self.degraded = 0
        self._beat = beat
        self.awaited = awaited
        # Whether `call` can be used.
        self.direct = awaited and getattr(ledger, "direct", False)
        self._try = self._await if awaited else self._call
        self._local: Table | None = None
        # By key: what was let in and not charged; and what was to be charged whatever is left.
        self._owed: dict[str, int] = {}
        self._debits: dict[str, int] = {}
        # Into how many parts the limits were divided last, and how often debts were settled.
        self._parts = 0
        self._round = 0

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The limits it goes by."""
        return self.ledger.limits  # type: ignore[no-any-return]

    def take(self, key: str, cost: int, now: int, patience: int) -> Any:
        """Spend `cost` if it may enter within `patience` microseconds."""
        return self._try("take", key, cost, now, patience)

    def call(self, key: str, cost: int, now: int, arrive: Callable[[Any], Any]) -> None:
        """`take`, not awaited: `arrive` gets the decision, or what went wrong."""
        if self.watch.failing and not self.watch.open(now):
            arrive(self.endure(None, key, cost, now))
            return
        reply = Reply(self, key, cost, now, arrive)
        try:
            self.ledger.call(key, cost, now, reply)
        except Exception as problem:
            reply.set_exception(problem)

    def take_many(self, keys: Sequence[str], cost: int, now: int) -> Any:
        """Decide for each key in turn."""
        return self._try("take_many", keys, cost, now)

    def peek(self, key: str, cost: int, now: int) -> Any:
        """What `take` would answer."""
        return self._try("peek", key, cost, now)

    def charge(self, key: str, cost: int, now: int, due: int) -> Any:
        """Spend `cost` whatever is left, or give it back."""
        return self._try("charge", key, cost, now, due)

    def book(self, key: str, cost: int, now: int, patience: int) -> Any:
        """`take`, and a memo by which `release` can undo it."""
        return self._try("book", key, cost, now, patience)

    def release(self, key: str, cost: int, now: int, due: int, memo: Any) -> Any:
        """Undo a booking, where it was made."""
        if isinstance(memo, Local):
            return self._undo(key, cost, now, due, memo)
        return self._try("release", key, cost, now, due, memo)

    def lease(
        self, key: str, cost: int, now: int, want: int, least: int, back: int = 0, moment: int = 0
    ) -> Any:
        """Take units to be spent elsewhere, and give others back."""
        return self._try("lease", key, cost, now, want, least, back, moment)

    def forget(self, key: str) -> Any:
        """Make `key` as if it had never been seen; raises where the store cannot be told."""
        self._owed.pop(key, None)
        if self._local is not None:
            self._local.forget(key)
        return self.ledger.forget(key)

    def _call(self, verb: str, *said: Any) -> Any:
        now = said[2]
        if self.watch.failing and not self.watch.open(now):
            return self._without(verb, *said)
        try:
            answer = getattr(self.ledger, verb)(*said)
        except StoreUnavailable as problem:
            self.watch.fail(now, problem)
            return self._without(verb, *said, unknown=problem.unknown)
        if self._restless(now):
            threading.Thread(target=self._settle, args=self._debts(now), daemon=True).start()
        if self.watch.beating(now):
            # Beside the caller, whose time it is not.
            threading.Thread(target=self._sign, daemon=True).start()
        return answer

    async def _await(self, verb: str, *said: Any) -> Any:
        now = said[2]
        if self.watch.failing and not self.watch.open(now):
            return self._without(verb, *said)
        try:
            answer = await getattr(self.ledger, verb)(*said)
        except StoreUnavailable as problem:
            self.watch.fail(now, problem)
            return self._without(verb, *said, unknown=problem.unknown)
        self.thrive(now)
        return answer

    def thrive(self, now: int) -> None:
        """It answered: do what was put off, and give a sign of life if it is time."""
        if self._restless(now):
            later(self._asettle(*self._debts(now)))
        if self.watch.beating(now):
            later(self._asign())

    def endure(self, problem: Exception | None, key: str, cost: int, now: int) -> Any:
        """What is decided without an answer, or without having asked; an exception, if nothing."""
        unknown = False
        if isinstance(problem, StoreUnavailable):
            self.watch.fail(now, problem)
            unknown = problem.unknown
        elif problem is not None:
            return problem
        try:
            return self._without("take", key, cost, now, 0, unknown=unknown)
        except Exception as refused:
            return refused

    def _restless(self, now: int) -> bool:
        # It answered: whether anything is left of the time when it did not.
        if self.watch.row:
            self.watch.succeed(now)
        return bool(self._owed) or bool(self._debits)

    def _without(
        self, verb: str, key: Any, cost: int, now: int, *said: Any, unknown: bool = False
    ) -> Any:
        # What the store would have answered, as well as it can be said here.
        if verb == "take_many":
            return [self._without("take", one, cost, now, 0, unknown=unknown) for one in key]
        if verb == "release":
            # Booked there, it stays there until it passes.
            return None
        self.degraded += 1
        memo = None
        if self.mode == "local":
            decision, memo = self._share(verb, key, cost, now, said[0] if said else 0)
        else:
            decision = verdict(self.mode == "allow", self.limits[0])
        if verb == "charge" and not unknown:
            # It has happened already, whatever is left; what is given back is owed no longer.
            with OWING:
                back = min(self._owed.get(key, 0), max(0, -cost))
                note(self._owed, key, -back)
                note(self._debits, key, cost + back)
        elif decision and verb in SPENDING and not unknown:
            self._owe(key, cost)
        if verb == "book":
            return decision, Local(memo, self._round, unknown)
        return Lease(cost if decision else 0, decision, now) if verb == "lease" else decision

    def _owe(self, key: str, units: int) -> None:
        # Only what was certainly not counted there: what was sent may have been.
        with OWING:
            note(self._owed, key, units)

    def _debit(self, key: str, units: int) -> None:
        with OWING:
            note(self._debits, key, units)

    def _share(self, verb: str, key: str, cost: int, now: int, extra: int) -> tuple[Decision, Any]:
        # This process's part of the limit decides.
        table = self._local
        if table is None or self._parts != self.watch.instances:
            table = self._divide(now)
        if verb == "peek":
            return marked(table.peek(key, cost, now)), None
        if verb == "charge":
            return marked(table.charge(key, cost, now, extra)), None
        if verb == "book":
            decision, memo = table.book(key, cost, now, extra)
            return marked(decision), memo
        return marked(table.take(key, cost, now, extra if verb == "take" else 0)), None

    def _divide(self, now: int) -> Table:
        # It outlives an outage, or a store that comes and goes would give everybody a new share.
        parts = tuple(share(limit, self.watch.instances) for limit in self.limits)
        self._parts = self.watch.instances
        with OWING:
            if self._local is None:
                self._local = Table(parts, CAPACITY)
        if self._local.limits != parts:
            self._local.change(parts, now, SCALE)
        return self._local

    def _undo(self, key: str, cost: int, now: int, due: int, memo: Local) -> Any:
        # What is owed is owed no longer; what has been charged to the store is given back there.
        if self._local is not None and memo.memo is not None:
            self._local.release(key, cost, now, due, memo.memo)
        if memo.round == self._round:
            if not memo.unknown:
                self._owe(key, -min(cost, self._owed.get(key, 0)))
            return nothing() if self.awaited else None
        if memo.unknown:
            return nothing() if self.awaited else None
        return self._try("charge", key, -cost, now, due)

    def _debts(self, now: int) -> tuple[int, list[tuple[str, int]]]:
        # What was let in here and is not forgotten yet, by the share's own measure.
        with OWING:
            owed, debits, self._owed, self._debits = self._owed, self._debits, {}, {}
        self._round += 1
        for key, units in owed.items():
            most = self.limits[0].limit
            if self._local is not None:
                seen = self._local.peek(key, 0, now)
                most = seen.limit - seen.remaining
            debits[key] = debits.get(key, 0) + min(units, most)
        return now, [(key, units) for key, units in debits.items() if units]

    def _settle(self, now: int, debts: list[tuple[str, int]]) -> None:
        for key, units in debts:
            try:
                self.ledger.charge(key, units, now, FAR)
            except StoreUnavailable as problem:
                if not problem.unknown:
                    self._debit(key, units)

    async def _asettle(self, now: int, debts: list[tuple[str, int]]) -> None:
        for key, units in debts:
            try:
                await self.ledger.charge(key, units, now, FAR)
            except StoreUnavailable as problem:
                if not problem.unknown:
                    self._debit(key, units)

    def _sign(self) -> None:
        # A sign of life that does not arrive changes nothing: the next one may.
        with contextlib.suppress(StoreUnavailable):
            self.watch.instances = self._beat()

    async def _asign(self) -> None:
        with contextlib.suppress(StoreUnavailable):
            self.watch.instances = await self._beat()


class Local(NamedTuple):
    """The memo of a booking made here: before which settling, and whether the store may have it."""

    memo: Any
    round: int
    unknown: bool


def note(book: dict[str, int], key: str, units: int) -> None:
    """Add to what is known of a key; strangers can think up any number of those."""
    if units and (key in book or len(book) < CAPACITY):
        book[key] = book.get(key, 0) + units


async def nothing() -> None:
    """Nothing more to do, awaited."""


# Verbs whose units, if let in, are owed to the store.
SPENDING = ("take", "book", "lease")
# What is owed changes under one lock for all, and a share is begun under it.
OWING = Latch()
