"""Tickets: bookings that callers hold by an id, and commit or cancel at whichever worker they meet.

The units are spent when the ticket is given. Committed, they stay spent, but for what it really
cost less, which is refunded; cancelled, those are given back that no later booking counts on, and
that have not come in anew since they were due. Each id does that once, across all workers: whoever
comes first leaves a mark in the store, a limit of one for each id, which lasts longer than the id
does. Where that cannot be asked, nothing is given back.

An id is good for `LASTING` seconds after its units are due. What was neither committed nor
cancelled by then is spent.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from math import inf
from typing import Any

from headgate.algorithms.token_bucket import TokenBucket
from headgate.async_limiter import AsyncLimiter
from headgate.clock import Clock, microseconds
from headgate.decision import Decision
from headgate.errors import StoreUnavailable
from headgate.intake import checked
from headgate.limiter import Limiter
from headgate.service.stamp import BadTicket, Stamp
from headgate.service.till import Answer, Till
from headgate.stores.memory import MemoryStore
from headgate.stores.shared.store import SharedStore
from headgate.stores.store import FAR

KIND = "ticket"
# Seconds that a booking may lie ahead at most, and that its id is good for after it is due.
LONGEST, LASTING = 600.0, 600.0
# One for each id, until no clock of a fleet takes the id for good any more.
ONCE = (TokenBucket("1/30min"),)
NAME = "@tickets"
# So many ids that are done with are known in memory, and in shared memory, where it is taken at
# once. Beyond them a commit or a cancel may be refused although it is the first.
HERE, JOINTLY = 1 << 20, 1 << 18

# What a commit without a cost keeps, and a cancel.
ALL, BACK = -1, -2

Find = Callable[[str], Till | None]


class Ticket:
    """What was decided, the `id` to commit or cancel by, and the seconds until one may act."""

    __slots__ = ("decision", "id", "wait")

    def __init__(self, decision: Decision, id: str, wait: float) -> None:  # noqa: A002 - its name
        self.decision = decision
        self.id = id
        self.wait = wait

    def __bool__(self) -> bool:
        return self.decision.allowed

    def __repr__(self) -> str:
        return f"<Ticket: {self.decision!r}, wait {self.wait}>"


class Tickets:
    """Books by the names of rules. `find` answers where one is asked; `store` is where marks are.

    A store is a URL, or a store that is far away and awaited.
    """

    def __init__(self, find: Find, stamp: Stamp, store: Any, clock: Clock | None = None) -> None:
        self._find = find
        self._stamp = stamp
        self._store = store
        self._clock = clock
        self._marks: Any = None

    def reserve(
        self, rule: str, key: str = "", cost: int | None = 1, timeout: float = inf, plan: str = ""
    ) -> Ticket | Awaitable[Ticket]:
        """Spend `cost` for the first moment it fits within `timeout` seconds, and say when."""
        till = self._find(rule)
        if till is None:
            return self._free(rule, Decision(True))
        name = till.name(key)
        units = till.units(cost)
        barred = till.bar(name)
        limiter = till.find(name, plan) if barred is None else None
        if limiter is None:
            decision = Decision(True) if barred is None else barred
            return self._free(rule, till.settle(decision, name, units, plan))
        booked = limiter.reserve(name, units, min(timeout, LONGEST))
        if isinstance(limiter, AsyncLimiter):
            return self._arrive(till, name, units, plan, booked)
        return self._give(till, name, units, plan, booked)

    def commit(self, id: str, cost: int | None = None) -> Answer:  # noqa: A002
        """Keep what was booked; with a `cost`, give back or spend what it differs by.

        Answers how it stands then. Raises `BadTicket` if the id does not count, or not any more.
        """
        return self._end(id, ALL if cost is None else checked("", cost)[1])

    def cancel(self, id: str) -> Answer:  # noqa: A002
        """Give back what was booked. Answers and raises as `commit` does."""
        return self._end(id, BACK)

    def rule(self, id: str) -> str:  # noqa: A002
        """The name of the rule that an id was given by."""
        return str(self._stamp.read(KIND, id)[0])

    def _free(self, rule: str, decision: Decision) -> Ticket:
        # Nothing was booked, so nothing is ever given back.
        if not decision:
            return Ticket(decision, "", inf)
        return Ticket(decision, self._stamp.sign(KIND, rule, "", "", 0, 0, 0, word()), 0.0)

    async def _arrive(
        self, till: Till, key: str, units: int, plan: str, booked: Awaitable[Any]
    ) -> Ticket:
        found = await booked
        return self._give(till, key, units, plan, found._reservation)

    def _give(self, till: Till, key: str, units: int, plan: str, booked: Any) -> Ticket:
        rule = till.ruling.name
        decision, local, memo = booked._booking
        settled = till.settle(decision, key, units, plan)
        if not decision:
            return self._free(rule, settled)
        # On a server time is the server's own, and of a lease it is when that was taken.
        due = getattr(memo, "due", getattr(memo, "moment", local))
        # `local` is by the same clock as here.
        end = local + microseconds(LASTING)
        # Of a plan that nobody knows nothing was taken, and an id with it might be too long.
        known = plan if plan in till.ruling.plans else ""
        stamp = self._stamp.sign(KIND, rule, key, known, units, due, end, word())
        return Ticket(settled, stamp, decision.retry_after)

    def _end(self, id: str, cost: int) -> Answer:  # noqa: A002
        rule, key, plan, units, due, end, mark = self._stamp.read(KIND, id)
        till = self._find(rule)
        # Where nothing can be given back, nothing ends.
        limiter = till.find(key, plan) if till is not None and end else None
        if limiter is not None and clock(limiter).now() > end:
            raise BadTicket("expired")
        if self._marks is None:
            self._marks = self._open()
        answer = self._marks.take(mark)
        if isinstance(answer, Decision):
            check(answer)
            return settle(limiter, key, units, due, cost)
        return self._asettle(answer, limiter, key, units, due, cost)

    async def _asettle(
        self, answer: Any, limiter: Any, key: str, units: int, due: int, cost: int
    ) -> Decision:
        check(await answer)
        found = settle(limiter, key, units, due, cost)
        return found if isinstance(found, Decision) else await found

    def _open(self) -> Limiter | AsyncLimiter:
        store = self._store
        if not isinstance(store, str):
            return AsyncLimiter(
                *ONCE, store=store, name=NAME, clock=self._clock, when_unavailable="deny"
            )
        scheme, _, name = store.partition("://")
        near = MemoryStore(HERE) if scheme == "memory" else SharedStore(name, JOINTLY)
        return Limiter(*ONCE, store=near, name=NAME, clock=self._clock)


def settle(limiter: Any, key: str, units: int, due: int, cost: int) -> Answer:
    """Have what was booked cost so much, `ALL` of it or nothing; how it stands then."""
    answer: Answer
    if limiter is None:
        answer = Decision(True)
    elif cost in (ALL, units) or (cost == BACK and not units):
        answer = limiter.peek(key, 0)
    elif cost > units:
        # More than a limit can owe is as much as it can.
        most = min([limit.heaviest for limit in limiter.limits])
        answer = limiter.debit(key, min(cost - units, most))
    else:
        now = clock(limiter).now()
        # Others may count on what is not due yet, and then on less than is given back.
        late = FAR if cost != BACK and due <= now else due
        answer = ledger(limiter).charge(key, max(0, cost) - units, now, late)
    return answer


def check(decision: Decision) -> None:
    """Whether an id is shown for the first time."""
    if decision.reason == "unavailable":
        raise StoreUnavailable("the store cannot say whether the id was used before; try again")
    if not decision:
        raise BadTicket("used")


def word() -> str:
    """What no other id has."""
    return secrets.token_urlsafe(12)


def ledger(limiter: Any) -> Any:
    """What keeps the limits of a limiter of either colour."""
    return getattr(limiter, "_limiter", limiter).ledger


def clock(limiter: Any) -> Any:
    """The clock of a limiter of either colour."""
    return getattr(limiter, "_limiter", limiter).clock
