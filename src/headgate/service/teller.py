"""Teller: the limits and places of rules, asked by the name of the rule.

A teller answers `take`, `peek`, `debit` and `refund` with a decision, or with something to be
awaited for one where the store is on a server. Plans and overrides hold as they do for requests.
Who may do as they like are let in; who is banned by the rule, or has no key where it wants one, is
refused for good (`reason` is `never`), and a rule that is only tried out refuses nobody. Where no
rules are asked at all, everybody is let in.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable
from inspect import isawaitable
from math import inf
from typing import Any

from headgate.clock import SystemClock
from headgate.decision import Decision
from headgate.errors import HeadgateError
from headgate.intake import named
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.model.kinds import closest, shown
from headgate.service.holds import USUAL, Hold, Holds
from headgate.service.sets import Sets
from headgate.service.stamp import Stamp
from headgate.service.tickets import Ticket, Tickets
from headgate.service.till import Answer, Till


class Unknown(HeadgateError):
    """There is no such rule, or it has nothing of the kind; says what would be right."""


class Teller:
    """Asks the rules of a gatekeeper by their names.

    `secret` signs the ids that callers get, and is the same for all workers of a service; without
    one, other workers do not know them. Callers may bring along `most` sets of limits, in `sets`.
    """

    def __init__(self, keeper: AsyncGatekeeper, secret: str = "", most: int = 1000) -> None:
        self.lodge = keeper.lodge
        self.secret = secret or secrets.token_urlsafe(32)
        self.most = most
        self._book: Any = None
        self._tills: dict[str, Till] = {}
        # What goes by the store, and which that is; and what is still to be closed of others.
        self._url = ""
        self._left: list[Any] = []
        self._settle()

    def take(self, rule: str, key: str = "", cost: int | None = 1, plan: str = "") -> Answer:
        """Spend `cost` now, or say no and spend nothing; None is what the rule says it costs."""
        till = self._tills.get(rule)
        if till is None or not till.limited or self.lodge.book is not self._book:
            found = self.till(rule)
            return Decision(True) if found is None else found.take(key, cost, plan)
        return till.take(key, cost, plan)

    def peek(self, rule: str, key: str = "", cost: int | None = 1, plan: str = "") -> Answer:
        """What `take` would say, with what is left now; nothing is spent."""
        till = self.till(rule)
        return Decision(True) if till is None else till.peek(key, cost, plan)

    def debit(self, rule: str, key: str = "", cost: int | None = 1, plan: str = "") -> Answer:
        """Spend `cost` although it may not be there; the key pays the debt off before it enters."""
        till = self.till(rule)
        return Decision(True) if till is None else till.charge(key, cost, plan, 1)

    def refund(self, rule: str, key: str = "", cost: int | None = 1, plan: str = "") -> Answer:
        """Give `cost` back, up to what a fresh key has."""
        till = self.till(rule)
        return Decision(True) if till is None else till.charge(key, cost, plan, -1)

    def reset(self, rule: str, key: str = "", plan: str = "") -> Awaitable[None] | None:
        """Forget a key: it is as if it had never been seen."""
        till = self.till(rule)
        return None if till is None else till.reset(key, plan)

    def reserve(
        self, rule: str, key: str = "", cost: int | None = 1, timeout: float = inf, plan: str = ""
    ) -> Ticket | Awaitable[Ticket]:
        """Spend `cost` for the first moment it fits. See `Tickets.reserve`."""
        return self.tickets.reserve(rule, key, cost, timeout, plan)

    def commit(self, id: str, cost: int | None = None) -> Answer:  # noqa: A002 - its name
        """Keep what was booked, or so much of it. See `Tickets.commit`."""
        return self.tickets.commit(id, cost)

    def cancel(self, id: str) -> Answer:  # noqa: A002 - its name
        """Give back what was booked. See `Tickets.cancel`."""
        return self.tickets.cancel(id)

    def hold(
        self, rule: str, key: str = "", ttl: float = USUAL, plan: str = ""
    ) -> Hold | Awaitable[Hold]:
        """Have a place for `ttl` seconds. See `Holds.hold`."""
        return self.holds.hold(rule, key, ttl, plan)

    def renew(self, id: str, ttl: float = 0.0) -> bool | Awaitable[bool]:  # noqa: A002 - its name
        """Have it for longer; False if it was lost. See `Holds.renew`."""
        return self.holds.renew(id, ttl)

    def release(self, id: str) -> bool | Awaitable[bool]:  # noqa: A002 - its name
        """Give a place back; False if it was lost. See `Holds.release`."""
        return self.holds.release(id)

    def inside(self, rule: str, key: str = "", plan: str = "") -> int | Awaitable[int]:
        """How many places of a key are held by callers."""
        return self.holds.inside(rule, key, plan)

    @property
    def sets(self) -> Sets:
        """The limits that callers bring along."""
        if self.lodge.book is not self._book:
            self._renew()
        return self._sets

    @property
    def tickets(self) -> Tickets:
        """The bookings that callers hold."""
        if self.lodge.book is not self._book:
            self._renew()
        return self._tickets

    @property
    def holds(self) -> Holds:
        """The places that callers hold."""
        if self.lodge.book is not self._book:
            self._renew()
        return self._holds

    def change(self, secret: str, most: int) -> None:
        """Go by another secret and another bound from now on; ids signed before count no more."""
        self.secret = secret
        self.most = self._sets.most = most

    def sweep(self, now: int) -> None:
        """Give back places whose time is over, where nobody else sees to that."""
        self._holds.sweep(now)

    async def close(self) -> None:
        """Let go of the store."""
        self._leave()
        while self._left:
            answer = self._left.pop().close()
            if isawaitable(answer):
                await answer

    def till(self, rule: str) -> Till | None:
        """Where a rule is asked that has a limit; None while no rules are asked."""
        till = self.find(rule)
        if till is not None and not till.limited and not till.banned:
            raise Unknown(f'the rule "{rule}" has no limit{instead(till.ruling.rule)}')
        return till

    def room(self, rule: str) -> Till | None:
        """Where a rule is asked that has places; None while no rules are asked."""
        till = self.find(rule)
        if till is not None and not till.ruling.rule.concurrent and not till.banned:
            said = "give it some, such as concurrent: 10"
            raise Unknown(f'the rule "{rule}" has no places; {said}')
        return till

    def find(self, rule: str) -> Till | None:
        """Where a rule is asked, whatever it has; None while no rules are asked."""
        book = self.lodge.book
        if book is not self._book:
            self._renew()
        till = self._tills.get(rule)
        if till is None:
            names = [one.name for one in book.rules.rules]
            if rule not in names:
                raise Unknown(unheard(rule, names))
        return till

    def rules(self) -> list[dict[str, Any]]:
        """The rules there are, for JSON."""
        tallies = self.lodge.tallies()
        return [told(rule, tallies.get(rule.name)) for rule in self.lodge.book.rules.rules]

    def _renew(self) -> None:
        # Other rules are in force.
        book = self.lodge.book
        self._tills = {one.name: Till(one, self.lodge, book.version) for one in book.rulings}
        self._book = book
        if self.lodge.url != self._url:
            self._leave()
            self._settle()

    def _settle(self) -> None:
        # What was counted stays in the store where it was.
        self._url = self.lodge.url
        url = self._url.removeprefix("leased+")
        clock = self.lodge.clock
        own = None if isinstance(clock, SystemClock) else clock
        near = url.startswith(("memory:", "shared:"))
        store = url if near else named(url, True)
        stamp = Stamp(lambda: self.secret)
        self._sets = Sets(store, own, True, self.most)
        self._tickets = Tickets(self.till, stamp, store, own)
        self._holds = Holds(self.room, stamp, store, own, clock.now)

    def _leave(self) -> None:
        self._left += [self._holds, self._sets]


def unheard(rule: Any, names: list[str]) -> str:
    """What is said of a rule that is not there, and which ones are."""
    hint = closest(rule, names)
    if not hint and names:
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        hint = f"; there are {', '.join(names[:5])}{more}"
    return f"there is no rule {shown(rule)}{hint or ', as there are none at all'}"


def instead(rule: Any) -> str:
    """What to do with a rule that has no limit."""
    return "; hold one of its places" if rule.concurrent else "; give it one, such as limit: 100/s"


def told(rule: Any, tally: Any) -> dict[str, Any]:
    """What there is to know of one rule."""
    return {
        "name": rule.name,
        "description": rule.description,
        "key": list(rule.key),
        "limits": [repr(limit) for limit in rule.limits()],
        "concurrent": rule.concurrent,
        "mode": rule.mode,
        "passed": 0 if tally is None else tally.passed,
        "refused": 0 if tally is None else tally.refused,
        "shadowed": 0 if tally is None else tally.shadowed,
    }
