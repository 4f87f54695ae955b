"""Foresight: why a request would get its answer. Rules are asked as a visit asks, and not paid.

    explain(keeper, Request("POST", "/login", client="203.0.113.7"))

Told as a flow, so that it can be awaited as well: `adrive(explaining(...), aperform)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import Any

from headgate.adapters.http.herald import Herald
from headgate.decision import ENDLESS, Decision
from headgate.drive import Flow, drive
from headgate.errors import StoreUnavailable
from headgate.explain import words
from headgate.explain.hops import Way
from headgate.explain.meeting import missed, source
from headgate.explain.opinion import (
    ALLOWED,
    DELAYED,
    FREE,
    GROUPED,
    REFUSED,
    SHADOWED,
    UNASKED,
    UNMET,
    Explanation,
    Opinion,
    force,
)
from headgate.rules.live.entry import SOON, Cause, Entry, Pass, Refusal
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper, perform
from headgate.rules.live.ruleset import Ruleset
from headgate.rules.live.ruling import Lane, Ruling
from headgate.rules.live.stock import prepare
from headgate.rules.live.turnstile import refusal
from headgate.rules.live.visit import refuse
from headgate.rules.matching.request import Request
from headgate.rules.model.store import masked

# Why a decision is no where nobody could be asked.
LOST = "unavailable"
# What a breaker says that somebody keeps open.
FOREVER = 1 << 62
Keeper = Gatekeeper | AsyncGatekeeper
Later = list[tuple[Ruling, Lane | None, Opinion]]


def explain(
    keeper: Gatekeeper, request: Request, client: Way | None = None, spend: bool = False
) -> Explanation:
    """What becomes of a request, and why. Nothing is counted, unless it is to `spend`.

    `client` is how the client was found, if that is to be told as well.
    """
    return drive(explaining(keeper, request, client, spend), perform)


def explaining(
    keeper: Keeper, request: Request, client: Way | None = None, spend: bool = False
) -> Flow[Explanation]:
    """`explain`, as a flow: what it yields is called, and awaited where its answer can be."""
    book = keeper.lodge.book
    entry = Entry(book.version, request)
    opinions = yield from heard(entry, book)
    if spend:
        entry = yield partial(keeper.enter, request)
        for one in entry.passes:
            paid(one, opinions[one.ruling.name])
    else:
        prepare_refused(entry, book.find(request))
    for ruling in book.rulings:
        found = opinions[ruling.name]
        found.why = found.why or words.why(ruling.rule, found)
    explained = concluded(keeper, entry, request, [*opinions.values()], client, spend)
    if spend:
        yield partial(keeper.leave, entry)
    return explained


def heard(entry: Entry, book: Ruleset) -> Flow[dict[str, Opinion]]:
    """What all rules say, in the order in which a visit asks them."""
    request: Any = entry.request
    met = book.find(request)
    opinions: dict[str, Opinion] = {}
    later: Later = []
    for ruling in book.rulings:
        if ruling not in met:
            opinions[ruling.name] = absent(ruling, request)
        elif entry.refusal is not None:
            opinions[ruling.name] = Opinion(ruling.name, UNASKED)
        else:
            opinions[ruling.name] = yield from count(entry, ruling, book, later)
    for ruling, lane, found in later:
        if entry.refusal is None:
            yield from hold(entry, ruling, lane, found)
    for ruling, _, found in later:
        if entry.refusal is None:
            attempt(entry, ruling, found)
    return opinions


def absent(ruling: Ruling, request: Request) -> Opinion:
    """A rule that the request does not meet, or that another of its group was met before."""
    why = missed(ruling.rule, request)
    if why:
        return Opinion(ruling.name, UNMET, why)
    return Opinion(ruling.name, GROUPED, f"another of the group {ruling.rule.group} was first")


def count(entry: Entry, ruling: Ruling, book: Ruleset, later: Later) -> Flow[Opinion]:
    """What a rule says that is met: who is counted, by which terms, and whether there is room."""
    request: Any = entry.request
    key = "" if ruling.key is None else ruling.key(request)
    found = Opinion(ruling.name, FREE, "", source(ruling.rule, request), key)
    found.enforced = ruling.enforced(key)
    bar = ruling.bar(key)
    if bar is not None:
        found.terms, found.chosen = force(ruling, None, "", "")
        decline(entry, ruling, found, bar)
    elif ruling.counts(key):
        plan = book.plan(request) if ruling.plans else ""
        lane = ruling.lane(plan, key)
        found.terms, found.chosen = force(ruling, lane, plan, key)
        if lane is not None and lane.limiter is not None:
            yield from look(entry, ruling, lane, found)
        rule = ruling.rule
        if rule.concurrent or rule.adaptive or rule.breaker:
            later.append((ruling, lane, found))
    return found


def look(entry: Entry, ruling: Ruling, lane: Lane, found: Opinion) -> Flow[None]:
    """What a limiter would say, without spending."""
    key, request = found.key, entry.request
    found.cost = cost = ruling.fee.units(request)
    decision = yield partial(lane.limiter.peek, key, cost)
    pends = ruling.fee.pends(request)
    stand(found, decision, 0 if pends else cost)
    wait = decision.retry_after
    waits = not decision and decision.reason != LOST and 0.0 < wait <= ruling.wait(key)
    if waits and not pends:
        found.outcome, found.after = DELAYED, 0
        told = Decision(True, decision.limit, 0, wait, decision.reset_after, decision.rule)
        entry.waited = max(entry.waited, wait)
        if ruling.crowd is not None and ruling.crowd.waiting >= ruling.queue:
            cause = Cause("queue", "queue", ruling.queue)
            full = Refusal("capacity", ruling.rule, ruling.status, wait, "", cause)
            decline(entry, ruling, found, full)
    elif decision:
        found.outcome = ALLOWED
        told = left(decision, found.after)
    else:
        told = decision
        decline(entry, ruling, found, refusal(ruling, decision))
    entry.passes = (*entry.passes, Pass(ruling, lane, key, cost, told, None))


def stand(found: Opinion, decision: Decision, cost: int) -> None:
    """Take note of how the limit stands that a decision tells of."""
    found.degraded = decision.degraded
    if decision.reason == LOST or decision.limit >= ENDLESS:
        return
    found.policy, found.limit = decision.rule, decision.limit
    found.before = decision.remaining
    found.after = decision.remaining - (cost if decision.allowed else 0)
    found.wait, found.reset = decision.retry_after, decision.reset_after


def left(decision: Decision, after: int | None) -> Decision:
    """The decision as it would be told when the cost is spent."""
    if after is None:
        return decision
    limit, reset = decision.limit, decision.reset_after
    return Decision(True, limit, after, 0.0, reset, decision.rule, decision.degraded)


def hold(entry: Entry, ruling: Ruling, lane: Lane | None, found: Opinion) -> Flow[None]:
    """Whether there is a place in every bulkhead of a rule."""
    places = [] if lane is None or lane.bulkhead is None else [(lane.bulkhead, found.key)]
    for bulkhead, name in [*places, *ruling.guards()]:
        own = lane is not None and bulkhead is lane.bulkhead
        most = lane.most if own and lane is not None else bulkhead.main.limit
        try:
            found.inside = yield partial(bulkhead.inside, name)
        except StoreUnavailable:
            if ruling.rule.when_unavailable == "deny":
                lost = Refusal("unavailable", ruling.rule, 0, SOON)
                decline(entry, ruling, found, lost)
            found.degraded = True
            return
        found.outcome = ALLOWED if found.outcome == FREE else found.outcome
        found.limit = most if found.limit is None else found.limit
        if (found.inside or 0) >= most:
            patient = ruling.wait(found.key) > 0.0
            reason = "queue" if patient else "full"
            kind = "limit" if own and ruling.key is not None and not patient else "capacity"
            cause = Cause("places" if own else "adaptive", reason, most)
            if patient and bulkhead.waiting(name) < ruling.queue:
                found.outcome, found.cause = DELAYED, cause
            else:
                full = Refusal(kind, ruling.rule, ruling.status, SOON, ruling.name, cause)
                decline(entry, ruling, found, full)
                return


def attempt(entry: Entry, ruling: Ruling, found: Opinion) -> None:
    """Whether the breaker of a rule lets anything in."""
    breaker = ruling.breaker()
    if breaker is None:
        return
    circuit = breaker.circuits.get(found.key)
    pause = 0 if circuit is None else circuit.wait(breaker.time())
    if pause > 0:
        wait = inf if pause >= FOREVER else pause / 1e6
        cause = Cause("breaker", breaker.state(found.key))
        found.wait = wait
        refused = Refusal("capacity", ruling.rule, ruling.status, wait, "", cause)
        decline(entry, ruling, found, refused)
    elif found.outcome == FREE:
        found.outcome = ALLOWED


def decline(entry: Entry, ruling: Ruling, found: Opinion, refused: Refusal) -> None:
    """Say no, or that it would be no if the rule were enforced."""
    refuse(entry, ruling, found.key, refused)
    found.outcome = REFUSED if found.enforced else SHADOWED
    found.cause = refused.cause
    found.why = words.no(refused, found)


def paid(one: Pass, found: Opinion) -> None:
    """Take note of what was decided in earnest."""
    decision = one.decision
    if decision.reason != LOST and decision.limit < ENDLESS:
        found.policy, found.limit = decision.rule, decision.limit
        found.after, found.reset = decision.remaining, decision.reset_after


def prepare_refused(entry: Entry, met: Sequence[Ruling]) -> None:
    """Find what a refused request would be given instead."""
    if entry.refusal is not None:
        prepare(entry, met)


def concluded(
    keeper: Keeper, entry: Entry, request: Request, opinions: list[Opinion], client: Way | None,
    spent: bool,
) -> Explanation:  # fmt: skip
    """All of it, with what the client is told."""
    herald = Herald(keeper.rules.headers, keeper.lodge.clock.now)
    # How soon it is there again is known only of what is spent.
    status, fields, body = 0, herald.fields(entry) if spent else [], b""
    if entry.refusal is not None:
        status, fields, body = herald.answer(entry, request.header("accept"))
    waits = any(one.outcome == DELAYED for one in opinions)
    going = DELAYED if waits else ALLOWED
    return Explanation(
        method=request.method,
        path=request.path,
        version=entry.version,
        store=masked(keeper.lodge.url),
        outcome=going if entry.refusal is None else REFUSED,
        rule=entry.rule,
        wait=entry.waited if entry.refusal is None else entry.refusal.retry_after,
        status=status,
        headers=tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in fields),
        body=body.decode("utf-8", "replace"),
        spent=spent,
        client=client,
        opinions=tuple(opinions),
    )
