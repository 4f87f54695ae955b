"""Holds: places of a rule that callers keep by an id, for a time that they renew.

A place belongs to its id and to no process, see `places/`: any worker renews it or takes it back,
and whoever dies gives it back when its time is over. So there are never more inside than the rule's
`concurrent`, for each key, but for those who go on although their time was over; they are told when
they renew. Places that requests hold in a gateway or an app are counted apart from these.

Where the store cannot be asked, the rule's `when_unavailable` says what becomes of a hold: places
of this worker alone, which only it renews and takes back; in without being counted; or a no.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from headgate.clock import Clock
from headgate.decision import Decision
from headgate.errors import StoreUnavailable
from headgate.measures import MILLION, number
from headgate.rules.live.entry import SOON, Entry, Refusal
from headgate.service.places.far import Far
from headgate.service.places.joint import Joint
from headgate.service.places.near import Near
from headgate.service.stamp import Stamp
from headgate.service.till import Till, waived

KIND = "hold"
# Seconds that a place is lent for.
SHORTEST, LONGEST, USUAL = 0.1, 3600.0, 30.0
# Where a place is written down: in the store, with the worker of that name, or nowhere.
STORED, FREE = "+", "-"

Find = Callable[[str], Till | None]


class Hold:
    """What was decided, the `id` to renew and release by, and the seconds until it is over."""

    __slots__ = ("decision", "id", "ttl")

    def __init__(self, decision: Decision, id: str, ttl: float) -> None:  # noqa: A002 - its name
        self.decision = decision
        self.id = id
        self.ttl = ttl

    def __bool__(self) -> bool:
        return self.decision.allowed

    def __repr__(self) -> str:
        return f"<Hold: {self.decision!r}, for {self.ttl} s>"


class Holds:
    """Lends the places of rules by their names. `find` answers where one is asked that has some.

    A store is a URL, or a store that is far away and awaited.
    """

    def __init__(self, find: Find, stamp: Stamp, store: Any, clock: Clock | None, now: Any) -> None:
        self._find = find
        self._stamp = stamp
        self._store = store
        self._clock = clock
        self._near = Near(now)
        self._places: Any = None
        # Those that a worker lends by itself are known to it alone.
        self._word = secrets.token_urlsafe(6)

    def hold(
        self, rule: str, key: str = "", ttl: float = USUAL, plan: str = ""
    ) -> Hold | Awaitable[Hold]:
        """Have a place for `ttl` seconds now, or be told no."""
        span = round(number("hold", "ttl", ttl, SHORTEST, LONGEST) * MILLION)
        till = self._find(rule)
        if till is None:
            return self._give(Decision(True), [rule, "", "", FREE], span)
        name = till.name(key)
        barred = till.bar(name)
        lane = None if barred is not None else till.ruling.lane(plan, name)
        if barred is not None or lane is None or not (name or till.keyless != "allow"):
            decision = settle(till, name, Decision(True) if barred is None else barred)
            return self._give(decision, [rule, "", "", FREE], span)
        title = titled(till, plan, name)
        who = secrets.token_urlsafe(12)
        try:
            found = self._open().enter(title, name, who, lane.most, span)
        except StoreUnavailable:
            return self._endure(till, title, name, lane.most, span)
        if isinstance(found, int):
            return self._settle(till, title, name, lane.most, span, who, found)
        return self._arrive(till, title, name, lane.most, span, who, found)

    def renew(self, id: str, ttl: float = 0.0) -> bool | Awaitable[bool]:  # noqa: A002
        """Have it for `ttl` seconds from now on, as many as before if 0; False if it was lost.

        Who lost it is inside without a place, and others may have been let in instead. Raises
        `BadTicket` if the id is not ours, and `StoreUnavailable` if nobody knows.
        """
        title, key, who, where, span = self._read(id)
        if ttl:
            span = round(number("renew", "ttl", ttl, SHORTEST, LONGEST) * MILLION)
        if where == FREE:
            return True
        found: bool | Awaitable[bool] = self._kept(where).renew(title, key, who, span)
        return found

    def release(self, id: str) -> bool | Awaitable[bool]:  # noqa: A002
        """Give it back; False if it was lost, or given back before. Raises as `renew` does."""
        title, key, who, where, _ = self._read(id)
        if where == FREE:
            return True
        found: bool | Awaitable[bool] = self._kept(where).leave(title, key, who)
        return found

    def inside(self, rule: str, key: str = "", plan: str = "") -> int | Awaitable[int]:
        """How many places of a key are held now."""
        till = self._find(rule)
        if till is None:
            return 0
        name = till.name(key)
        found: int | Awaitable[int] = self._open().inside(titled(till, plan, name), name)
        return found

    @property
    def places(self) -> Any:
        """Where it is written down who holds what, for whoever counts by names of its own."""
        return self._open()

    def rule(self, id: str) -> str:  # noqa: A002
        """The name of the rule that an id was given by."""
        return str(self._read(id)[0]).partition("@")[0]

    def sweep(self, now: int) -> None:
        """Give back those in memory whose time is over; others are, without that."""
        self._near.sweep(now)

    def close(self) -> None:
        """Let go of the store; who holds a place goes on holding it, unless it is in memory."""
        if self._places is not None:
            self._places.close()

    async def _arrive(
        self, till: Till, title: str, key: str, most: int, span: int, who: str, found: Any
    ) -> Hold:
        try:
            count = await found
        except StoreUnavailable:
            return self._endure(till, title, key, most, span)
        return self._settle(till, title, key, most, span, who, count)

    def _settle(
        self, till: Till, title: str, key: str, most: int, span: int, who: str, count: int,
        where: str = STORED,
    ) -> Hold:  # fmt: skip
        # So many are inside, or nobody was let in.
        rule, degraded = till.ruling.name, where != STORED
        if not count:
            full = Decision(False, most, 0, SOON, rule=rule, degraded=degraded)
            return self._give(settle(till, key, full), [title, "", "", FREE], span)
        left = max(0, most - count)
        decision = Decision(True, most, left, 0.0, span / MILLION, rule, degraded)
        return self._give(settle(till, key, decision), [title, key, who, where], span)

    def _endure(self, till: Till, title: str, key: str, most: int, span: int) -> Hold:
        # The store cannot be asked.
        rule = till.ruling.rule
        if rule.when_unavailable == "local":
            who = secrets.token_urlsafe(12)
            count = self._near.enter(title, key, who, most, span)
            return self._settle(till, title, key, most, span, who, count, self._word)
        if rule.when_unavailable == "allow":
            decision = Decision(True, most, most, rule=rule.name, degraded=True)
        else:
            decision = Decision(False, most, 0, SOON, SOON, rule.name, True, "unavailable")
        return self._give(settle(till, key, decision), [title, "", "", FREE], span)

    def _give(self, decision: Decision, words: list[str], span: int) -> Hold:
        stamp = self._stamp.sign(KIND, *words, span) if decision else ""
        return Hold(decision, stamp, span / MILLION if decision else 0.0)

    def _read(self, id: str) -> tuple[str, str, str, str, int]:  # noqa: A002
        title, key, who, where, span = self._stamp.read(KIND, id)
        return title, key, who, where, span

    def _kept(self, where: str) -> Any:
        # Those that another worker has lent by itself are not found in this one's.
        return self._open() if where == STORED else self._near

    def _open(self) -> Any:
        if self._places is None:
            store = self._store
            if not isinstance(store, str):
                self._places = Far(store, self._clock, round(LONGEST * MILLION))
            elif store.startswith("memory:"):
                self._places = self._near
            else:
                self._places = Joint(store.partition("://")[2], self._clock)
        return self._places


def titled(till: Till, plan: str, key: str) -> str:
    """What the places of a rule are called; those of a plan are apart, as its limits are."""
    ruling = till.ruling
    apart = ruling.lane(plan, key) is not ruling.lane("", key)
    return f"{ruling.name}@{plan}" if apart else str(ruling.name)


def settle(till: Till, key: str, decision: Decision) -> Decision:
    """Tell of a decision whoever counts and listens; what becomes of it."""
    kept = till.count(decision, key, 1)
    if till.lodge.listeners:
        till.lodge.tell(told(till, key, decision, kept))
    return decision if kept else waived(decision)


def told(till: Till, key: str, decision: Decision, kept: bool) -> Entry:
    """What those who listen are told."""
    ruling, entry = till.ruling, Entry(till.version)
    if not kept:
        entry.shadowed = (ruling.rule,)
    elif till.banned:
        entry.refusal = Refusal("denied", ruling.rule, ruling.rule.deny.status)
    elif till.bar(key) is not None:
        entry.refusal = ruling.keyless
    elif decision.reason == "unavailable":
        entry.refusal = Refusal("unavailable", ruling.rule, 0, SOON)
    elif not decision:
        kind = "capacity" if till.together else "limit"
        entry.refusal = Refusal(kind, ruling.rule, ruling.status, SOON, ruling.name)
    return entry
