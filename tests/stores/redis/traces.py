"""Traces: random acts for two ledgers at once, and the place where they differ."""

from __future__ import annotations

import random
from collections.abc import Generator
from math import inf
from typing import Any

from headgate import Decision, Limit
from headgate.stores.store import FAR
from tests.conformance.bare import BEGIN, Act, acts

KEY = "key"
Told = tuple[bool, int, int, int]


class Actor:
    """A ledger that does what a trace says, and remembers its bookings."""

    def __init__(self, ledger: Any) -> None:
        self.ledger = ledger
        self.bookings: list[tuple[int, int, Any]] = []

    def perform(self, act: Act) -> Any:
        """Do it, and answer what was decided, or what is true then."""
        ledger = self.ledger
        if act.do == "take":
            return ledger.take(KEY, act.cost, act.now, act.extra)
        if act.do == "charge":
            return ledger.charge(KEY, act.cost, act.now, act.extra)
        if act.do == "book":
            return self.book(act)
        if act.do == "forget":
            ledger.forget(KEY)
        if act.do == "release":
            cost, due, memo = self.bookings.pop(act.extra)
            ledger.release(KEY, cost, act.now, due, memo)
        return ledger.peek(KEY, act.cost, act.now)

    def book(self, act: Act) -> Any:
        decision, memo = self.ledger.book(KEY, act.cost, act.now, act.extra)
        if decision:
            due = act.now + round(decision.retry_after * 1e6)
            self.bookings.append((act.cost, due, memo))
        return decision


def onward(
    limits: tuple[Limit, ...], chance: random.Random, back: int = 0
) -> Generator[Act, Decision, None]:
    """Acts under a clock that goes back by `back` at most, with cancels of what was really booked.

    One of the limits says what it is worth asking; no act is beyond what all of them can count.
    """
    lead = chance.choice(limits)
    longest = min(limit.horizon for limit in limits)
    heaviest = min(limit.heaviest for limit in limits)
    trace = acts(lead, chance)
    act = next(trace)
    now = seen = latest = BEGIN
    dues = [0]
    while True:
        now = max(latest - back, now + min(act.now - seen, 3 * lead.rate.period))
        seen, latest = act.now, max(latest, now)
        extra = min(act.extra, longest)
        if act.do == "charge":
            extra = FAR if act.extra == FAR else chance.choice(dues)
        cost = max(-heaviest, min(heaviest, act.cost))
        decision = yield Act(act.do, now, cost, extra)
        told = plain(decision)
        if told[0] and act.do == "take":
            dues = [*dues[-5:], now + told[1]]
        act = trace.send(told)


def booking(
    trace: Generator[Act, Decision, None], chance: random.Random
) -> Generator[Act, Decision, None]:
    """The same trace with some of its takes booked, and some acts replaced by a cancel."""
    act = next(trace)
    booked = 0
    while True:
        if booked and chance.random() < 0.3:
            # The latest is the one that nothing came after, more often than not.
            act = Act("release", act.now, 0, chance.choice([-1, -1, chance.randrange(booked)]))
            booked -= 1
        elif act.do == "take" and act.cost and chance.random() < 0.6:
            act = act._replace(do="book")
        decision = yield act
        booked += act.do == "book" and decision.allowed
        act = trace.send(decision)


def plain(decision: Decision) -> Told:
    """A decision in whole microseconds, -1 for never."""
    retry = decision.retry_after
    wait = -1 if retry == inf else round(retry * 1e6)
    return decision.allowed, wait, decision.remaining, round(decision.reset_after * 1e6)


def agree(trace: Generator[Act, Decision, None], length: int, memory: Any, distant: Any) -> None:
    """Play `length` acts on two ledgers, or fail with the acts that led to a difference."""
    actors = Actor(memory), Actor(distant)
    done = []
    act = next(trace)
    for _ in range(length):
        decisions = [actor.perform(act) for actor in actors]
        done.append(f"  {act}\n    in memory   {decisions[0]}\n    on a server {decisions[1]}")
        if decisions[0] != decisions[1]:
            lines = "\n".join(done[-6:])
            raise AssertionError(f"{memory.limits!r} after {len(done)} acts:\n{lines}")
        act = trace.send(decisions[0])
