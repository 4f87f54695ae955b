"""Standing: how one key stands with one rule, and what it takes to lift it.

For whoever looks after what serves, and has only the names of rules and what keys are called there.
"""

from __future__ import annotations

from inspect import isawaitable
from math import isfinite
from typing import Any

from headgate.decision import Decision
from headgate.errors import HeadgateError
from headgate.limiter import Limiter
from headgate.rules.live.lodge import Lodge
from headgate.rules.live.ruling import Lane, Ruling
from headgate.rules.matching.facts import tidy
from headgate.rules.model.kinds import closest, shown
from headgate.stores.flat.table import Table
from headgate.stores.shared.cabinet import Cabinet


class Unknown(HeadgateError):
    """There is no such rule; says which there are."""


async def stand(lodge: Lodge, rule: str, key: str, plan: str = "") -> dict[str, Any]:
    """What a key has left at a rule, limit by limit; nothing is spent.

    Of limits that are kept on a server only the tightest is told.
    """
    ruling = find(lodge, rule)
    key = called(ruling, key)
    lane = ruling.lane(plan, key)
    return {
        "rule": rule,
        "key": key,
        "plan": plan,
        "denied": ruling.bar(key) is not None,
        "unlimited": lane is None,
        "limits": [] if lane is None else [told(one, lane) for one in await _limits(lane, key)],
        "places": None if lane is None else await _places(lane, key),
        "breaker": "" if ruling.rule.breaker is None else ruling.breaker().state(key),
    }


async def lift(lodge: Lodge, rule: str, key: str, plan: str = "") -> dict[str, Any]:
    """Have a rule forget a key, as if it had never been seen, by any plan; then how it stands.

    Its breaker is closed. Places that it holds are in use, and stay so.
    """
    ruling = find(lodge, rule)
    name = called(ruling, key)
    for title in dict.fromkeys((plan, "", *ruling.plans)):
        # Nobody but a request itself says which plan it has, so it is forgotten in all of them.
        lane = ruling.lane(title, name)
        for limiter in () if lane is None else (lane.limiter, lane.bandwidth):
            answer = None if limiter is None else limiter.reset(name)
            if isawaitable(answer):
                await answer
    if ruling.rule.breaker is not None:
        ruling.breaker().reset(name)
    return await stand(lodge, rule, key, plan)


def find(lodge: Lodge, rule: str) -> Ruling:
    """The rule of this name, one on trial too; raises `Unknown`."""
    known = {one.name: one for each in reversed(lodge.lodges) for one in each.rulings}
    trial = lodge.book.trial
    if trial is not None:
        known[trial.name] = trial
    if rule not in known:
        said = closest(rule, [*known]) or f"; there are {', '.join(known) or 'none'}"
        raise Unknown(f"there is no rule {shown(rule)}{said}")
    return known[rule]


def called(ruling: Ruling, key: str) -> str:
    """The key that counts: all are one where a rule has none."""
    return "" if ruling.key is None else tidy(key)


def told(decision: Decision, lane: Lane) -> dict[str, Any]:
    """How one limit stands, for JSON; what never ends is null."""
    wait, terms = decision.retry_after, {limit.name: str(limit.rate) for limit in lane.limits}
    return {
        "name": decision.rule,
        "terms": terms.get(decision.rule, decision.rule),
        "limit": decision.limit,
        "remaining": decision.remaining,
        "allowed": decision.allowed,
        "retry_after": wait if isfinite(wait) else None,
        "reset_after": decision.reset_after,
        "degraded": decision.degraded,
    }


async def _limits(lane: Lane, key: str) -> list[Decision]:
    limiter = lane.limiter
    if limiter is None:
        return []
    ledger = limiter.ledger if isinstance(limiter, Limiter) else None
    if isinstance(ledger, Table | Cabinet):
        return ledger.stand(key, limiter.clock.now())
    answer = limiter.peek(key)
    return [await answer if isawaitable(answer) else answer]


async def _places(lane: Lane, key: str) -> dict[str, int] | None:
    bulkhead = lane.bulkhead
    if bulkhead is None:
        return None
    inside: Any = bulkhead.inside(key)
    inside = await inside if isawaitable(inside) else inside
    return {"limit": lane.most, "inside": inside, "waiting": bulkhead.waiting(key)}
