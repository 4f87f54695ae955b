"""Leasing: a ledger that spends what it has fetched from another, and fetches when that is gone.

Tells what has to be asked of the store behind as flows, so that it serves both colours. What is
held of a key is its own guard; the lock is for which keys there are.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from headgate.algorithms.limit import Limit
from headgate.algorithms.token_bucket import TokenBucket
from headgate.algorithms.warm_up import WarmUp
from headgate.clock import Clock, microseconds
from headgate.decision import Decision
from headgate.drive import Flow, adrive, drive
from headgate.stores.leases.holding import Holding
from headgate.stores.leases.lease import Lease
from headgate.stores.leases.sweep import Ask, sweep, tend, tended

# Keys that may have a lease at once; others are decided by the store.
KEYS = 100_000


class Spent(NamedTuple):
    """The memo of a booking paid out of a lease."""

    moment: int


class Leased:
    """A ledger that spends leases of another; its verbs are awaited where the other's are."""

    def __init__(self, ledger: Any, clock: Clock, ttl: float, most: int, awaited: bool) -> None:
        self.ledger = ledger
        self.clock = clock
        self.ttl = microseconds(ttl)
        self.most = most
        self.awaited = awaited
        self.held: dict[str, Holding] = {}
        # At the end of a window a fair number would mean the next window: there, each unit counts.
        buckets = all(hasattr(limit, "burst") for limit in ledger.limits)
        fair = min(limit.limit for limit in ledger.limits) // 8 if buckets else 1
        self._least = max(1, fair)
        if not buckets:
            # What is held at the end of a window is lost with it.
            self.most = min(most, max(1, min(limit.limit for limit in ledger.limits) // 200))
        # What has a price for being refused, or lends, or is not spent by the unit, is not leased.
        plain = all(leasable(limit) for limit in ledger.limits)
        self._fits = min(limit.most for limit in ledger.limits) if plain else 0
        self.lock = threading.RLock()
        self.tended = False
        tended(self)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The limits it goes by."""
        return self.ledger.limits  # type: ignore[no-any-return]

    def take(self, key: str, cost: int, now: int, patience: int) -> Any:
        """Spend `cost` of what is held, or of what can be fetched."""
        if self.awaited:
            return self._atake(key, cost, now, patience)
        decision = self.spend(key, cost, now)
        if decision is None:
            decision = drive(self._fetch(key, cost, now, patience), self._perform)
        return decision

    async def _atake(self, key: str, cost: int, now: int, patience: int) -> Decision:
        decision = self.spend(key, cost, now)
        if decision is None:
            decision = await adrive(self._fetch(key, cost, now, patience), self._aperform)
        return decision

    def spend(self, key: str, cost: int, now: int) -> Decision | None:
        """Decide out of what is held, or say that it does not suffice."""
        held = self.held.get(key)
        if held is None:
            return None
        decision = Decision.__new__(Decision)
        return decision if held.decide(decision, cost, now, self._fits) else None

    def take_many(self, keys: Sequence[str], cost: int, now: int) -> Any:
        """Decide for each key in turn."""
        if self.awaited:
            return self._amany(keys, cost, now)
        return [self.take(key, cost, now, 0) for key in keys]

    def peek(self, key: str, cost: int, now: int) -> Any:
        """What `take` would answer; what is held counts as left."""
        return self._run(self._look(key, cost, now))

    def charge(self, key: str, cost: int, now: int, due: int) -> Any:
        """Spend `cost` whatever is left, or give it back; what is held stays."""
        return self._run(self._charge(key, cost, now, due))

    def book(self, key: str, cost: int, now: int, patience: int) -> Any:
        """`take`, out of what is held if it is there, and a memo by which to undo it."""
        return self._run(self._book(key, cost, now, patience))

    def release(self, key: str, cost: int, now: int, due: int, memo: Any) -> Any:
        """Undo a booking: back to what is held while its lease lives, else to the store."""
        return self._run(self._release(key, cost, now, due, memo))

    def forget(self, key: str) -> Any:
        """Make `key` as if it had never been seen."""
        self.held.pop(key, None)
        return self.ledger.forget(key)

    def sweep(self, now: int) -> Any:
        """Give back what has outlived its lease, and forget keys that are idle."""
        return self._run(sweep(self, now))

    def surrender(self) -> None:
        """Give back everything."""
        drive(sweep(self, 1 << 62), self._perform)

    async def asurrender(self) -> None:
        """`surrender`, awaited."""
        await adrive(sweep(self, 1 << 62), self._aperform)

    async def _amany(self, keys: Sequence[str], cost: int, now: int) -> list[Decision]:
        return [await self._atake(key, cost, now, 0) for key in keys]

    def _fetch(self, key: str, cost: int, now: int, patience: int) -> Flow[Decision]:
        # A new lease, or what the store says where none is to be had.
        if cost < 1 or patience or cost > self._fits or not self._room(key):
            plain: Decision = yield Ask("take", (key, cost, now, patience))
            return plain
        with self.lock:
            held = self.held.setdefault(key, Holding(self))
            held.fetching += 1
        try:
            decision = yield from self._lease(held, key, cost, now)
        finally:
            with self.lock:
                held.fetching -= 1
        return decision

    def _lease(self, held: Holding, key: str, cost: int, now: int) -> Flow[Decision]:
        decision = None
        while decision is None:
            # The moment is read first: if others fetch meanwhile, less is given back, not more.
            moment, back = held.moment, held.end(now)
            want = max(cost, self._size(held, now))
            least = max(1, min(want // 4, self._least))
            # What is held counts, once the rest is granted.
            need = max(1, cost - held.units)
            lease: Lease = yield Ask("lease", (key, need, now, want, least, back, moment))
            decision = lease.decision
            if lease.units:
                held.grant(decision, lease.units, now + self.ttl, lease.moment)
                with self.lock:
                    tend(self)
                decision = self._paid(held, decision, cost, now)
            else:
                held.refuse(decision, now, max(need, least), least)
        return decision

    def _size(self, held: Holding, now: int) -> int:
        # Twice as many as last time if they were gone before half of their time was over.
        if held.taken:
            quick = now < held.until - self.ttl // 2
            held.batch = min(self.most, held.batch * 2) if quick else max(1, held.batch // 2)
        else:
            held.batch = 1
        return held.batch

    def _paid(self, held: Holding, said: Decision, cost: int, now: int) -> Decision | None:
        # What was granted, less the cost; none where others were quicker to spend it.
        left = held.pay(cost, now)
        if left < 0:
            return None
        if not said.degraded:
            said.fill(0, said.limit, said.remaining + left, 0, said.reset, said.source)
        return said

    def _room(self, key: str) -> bool:
        return key in self.held or len(self.held) < KEYS

    def _look(self, key: str, cost: int, now: int) -> Flow[Decision]:
        seen: Decision = yield Ask("peek", (key, cost, now))
        held = self.held.get(key)
        if held is None or not held.units or now >= held.until:
            return seen
        rest = min(seen.limit, seen.remaining + held.units)
        if seen or held.units >= cost:
            return Decision(True, seen.limit, rest, 0.0, seen.reset_after, seen.rule, seen.degraded)
        return seen

    def _book(self, key: str, cost: int, now: int, patience: int) -> Flow[tuple[Decision, Any]]:
        # The moment first, as when a lease ends.
        held = self.held.get(key)
        moment = 0 if held is None else held.moment
        spent = self.spend(key, cost, now)
        if spent:
            return spent, Spent(moment)
        booking: tuple[Decision, Any] = yield Ask("book", (key, cost, now, patience))
        return booking

    def _release(self, key: str, cost: int, now: int, due: int, memo: Any) -> Flow[None]:
        if not isinstance(memo, Spent):
            yield Ask("release", (key, cost, now, due, memo))
            self._reopen(key)
            return
        with self.lock:
            held = self.held.get(key)
            if held is not None and held.restore(cost, now, memo.moment):
                return
        yield from self._charge(key, -cost, now, memo.moment)

    def _charge(self, key: str, cost: int, now: int, due: int) -> Flow[Decision]:
        answer: Decision = yield Ask("charge", (key, cost, now, due))
        self._reopen(key)
        return answer

    def _reopen(self, key: str) -> None:
        # Where units were given back, what was refused before may be admitted.
        held = self.held.get(key)
        if held is not None:
            held.closed = 0

    def _run(self, steps: Flow[Any]) -> Any:
        if self.awaited:
            return adrive(steps, self._aperform)
        return drive(steps, self._perform)

    def _perform(self, effect: Ask) -> Any:
        return getattr(self.ledger, effect.verb)(*effect.said)

    async def _aperform(self, effect: Ask) -> Any:
        return await getattr(self.ledger, effect.verb)(*effect.said)


def leasable(limit: Limit) -> bool:
    """Whether units of it can be spent elsewhere than they are taken."""
    lends = isinstance(limit, WarmUp) or (isinstance(limit, TokenBucket) and bool(limit.borrow))
    return not lends and not limit.penalty
