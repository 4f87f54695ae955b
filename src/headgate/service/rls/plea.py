"""Plea: a descriptor that the rules decide on, as they do on requests.

What is known of a request only when it ends is not known here: of rules `limit`, `deny`, plans and
overrides hold, tried out or enforced for some; `wait` is a no with the time to come back. A rule
whose key a descriptor does not have is not about it, unless it counts such together. A rule whose
cost is told by answers is charged what it is told, also if that is more than there is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import isawaitable
from typing import Any

from headgate.decision import Decision
from headgate.drive import Flow
from headgate.rules.live.entry import Entry, Pass
from headgate.rules.live.tally import count
from headgate.rules.live.turnstile import refusal
from headgate.rules.live.visit import refuse
from headgate.rules.matching.request import Request
from headgate.service.rls.finding import Back, Finding
from headgate.service.rls.leaf import rest, said, sayings
from headgate.service.rls.scribe import MILLION, limited

# What is told of a limit where a rule refuses without one.
NONE = limited(0, 0, "")


class Plea:
    """A request, and how often it is counted."""

    def __init__(self, lodge: Any, request: Request, hits: int) -> None:
        self._lodge = lodge
        self.request = request
        self._hits = hits

    def weigh(self, alone: bool, now: int) -> Flow[Finding]:
        """Ask the rules in force."""
        lodge, request, hits = self._lodge, self.request, self._hits
        book = lodge.book
        rulings = [one for one in book.find(request) if about(one, request)]
        gate = rulings[0].turnstile or rulings[0].ferry if len(rulings) == 1 else None
        finding = Finding()
        if alone and hits == 1 and gate is not None:
            entry = gate.enter(request)
            if isawaitable(entry):
                entry = yield lambda: entry
        else:
            entry = Entry(book.version, request)
            try:
                yield from ask(entry, rulings, book.plan, hits, finding)
            except BaseException:
                for booking in finding.bookings:
                    yield booking.cancel
                raise
            count(entry, rulings, now)
        lodge.tell(entry)
        settle(finding, entry, now)
        finding.over = entry.refusal is not None and hits >= 0
        return finding


def about(ruling: Any, request: Request) -> bool:
    """Whether a rule means such a descriptor."""
    return ruling.key is None or ruling.rule.empty_key == "share" or bool(ruling.key(request))


def ask(
    entry: Entry,
    rulings: Sequence[Any],
    plan: Callable[[Request], str],
    hits: int,
    finding: Finding,
) -> Flow[None]:
    """Ask each rule for as many hits, until one of them refuses."""
    request = entry.request
    for ruling in rulings:
        key = "" if ruling.key is None else ruling.key(request)
        bar = ruling.bar(key)
        if bar is not None:
            refuse(entry, ruling, key, bar)
        lane = ruling.lane(plan(request) if ruling.plans else "", key) if bar is None else None
        if lane is not None and lane.limiter is not None:
            decision = yield from take(ruling, lane, key, request, hits, finding)
            cost = max(0, hits)
            entry.passes = (*entry.passes, Pass(ruling, lane, key, cost, decision, None))
            if not decision and hits >= 0:
                refuse(entry, ruling, key, refusal(ruling, decision))
        if entry.refusal is not None:
            return


def take(
    ruling: Any, lane: Any, key: str, request: Request, hits: int, finding: Finding
) -> Flow[Decision]:
    """Take what so many hits cost from one limiter, for the time being."""
    limiter = lane.limiter
    most = min(limit.heaviest for limit in lane.limits)
    cost = ruling.fee.units(request) * abs(hits)
    if hits <= 0:
        decision: Decision = yield partial(limiter.peek, key, 0)
        if hits < 0:
            refund = partial(limiter.refund, key, min(cost, most))
            back = Back(refund, sayings(lane.limits, ""), lane.limits)
            finding.back = (*finding.back, back)
        return decision
    if ruling.fee.later:
        decision = yield partial(limiter.debit, key, min(cost, most))
        return decision
    booking = yield partial(limiter.reserve, key, cost, 0.0)
    decision = booking.decision
    if decision:
        finding.bookings = (*finding.bookings, booking)
    return decision


def settle(finding: Finding, entry: Entry, now: int) -> None:
    """Tell of the rule that refused, or else of the one of which least is left."""
    refused = entry.refusal
    passes = [one for one in entry.passes if refused is None or one.ruling.rule is refused.rule]
    if passes:
        one = min(passes, key=lambda one: one.decision.remaining)
        limits = one.lane.limits
        finding.hits = one.cost
        finding.limit = said(sayings(limits, ""), one.decision)
        finding.take(one.decision, rest(limits, now))
    elif refused is not None:
        finding.limit = NONE
        finding.wait = round(refused.retry_after * MILLION)
