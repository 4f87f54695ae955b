"""Words: what a rule did and why, in sentences."""

from __future__ import annotations

from math import inf
from typing import Any

from headgate.explain.opinion import ALLOWED, DELAYED, FREE, UNASKED, Opinion
from headgate.rules.live.entry import Refusal

FULL = {
    "full": "and nobody waits for one",
    "queue": "and so is the queue",
    "timeout": "and none became free in time",
}
UNKNOWN = "the store could not be asked, and then the rule lets nobody in"


def why(rule: Any, found: Opinion) -> str:
    """Why a request may go past a rule, or was not asked about."""
    if found.outcome == UNASKED:
        return "another refused before it was asked"
    if found.outcome == FREE:
        return free(rule, found)
    if found.outcome == DELAYED and found.cause is not None:
        return f"{taken(found.cause.bound, found.cause.what == 'adaptive')}, so it waits for one"
    if found.outcome == DELAYED:
        return f"{left(found)}; it waits {span(found.wait)} until there is room"
    if found.outcome == ALLOWED:
        return roomy(found)
    return ""


def free(rule: Any, found: Opinion) -> str:
    """Why nothing is counted."""
    if rule.key and not found.key and rule.empty_key == "allow":
        return f"it has no {absent(found)}, and those go in uncounted"
    if found.terms == ("unlimited",):
        return f"unlimited, by {found.chosen}"
    if rule.bandwidth is not None:
        return "its answer flows at that rate; nobody is refused"
    return "nothing is counted"


def roomy(found: Opinion) -> str:
    """Why there is room."""
    said = []
    if found.before is not None:
        said.append(left(found))
    if found.inside is not None:
        said.append(f"{found.inside} inside")
    if found.degraded:
        said.append("the store could not be asked, and this is the share of this process")
    return "; ".join(said) or "nothing speaks against it"


def no(refused: Refusal, found: Opinion) -> str:
    """Why a rule says no."""
    cause = refused.cause
    if cause is not None:
        return full(cause.what, cause.reason, cause.bound, refused.retry_after)
    if refused.kind == "denied":
        return "it lets in nobody whom it is about"
    if refused.kind == "key":
        return f"it has no {absent(found)}, so nobody knows whom to count"
    if refused.kind == "unavailable":
        return UNKNOWN
    return over(found.cost, found.limit, found.before, refused.retry_after)


def over(cost: int | None, limit: int | None, remaining: int | None, wait: float | None) -> str:
    """Why there is too little left of a limit; no wait helps if there is none."""
    if wait is None or wait == inf:
        return f"it costs {cost}, and of {limit} at most there is never as much at once"
    return f"it costs {cost}, and {remaining} of {limit} are left; it would fit in {span(wait)}"


def full(what: str, reason: str, bound: int | None, wait: float | None) -> str:
    """Why there is no room."""
    if what == "queue":
        return f"{bound} wait already, and no more may; its turn would come in {span(wait)}"
    if what == "breaker":
        return f"its breaker is {reason.replace('_', ' ')}; it lets one try in {span(wait)}"
    return f"{taken(bound, what == 'adaptive')}, {FULL.get(reason, reason)}"


def left(found: Opinion) -> str:
    """What is left of a limit, before and after."""
    if found.after == found.before:
        return f"{found.before} of {found.limit} are left"
    return f"{found.before} of {found.limit} are left, then {found.after}"


def absent(found: Opinion) -> str:
    """The facts of a key that are not there."""
    return " and no ".join(fact for fact, value in found.source if not value) or "key"


def taken(bound: int | None, found: bool) -> str:
    """That there is no place left, of so many that the rule says or has `found` for itself."""
    itself = " that it found for itself" if found else ""
    if bound == 1:
        return f"the only place{itself} is taken"
    return f"all {bound} places{itself} are taken"


def span(seconds: float | None) -> str:
    """So many seconds, as people read them."""
    if seconds is None or seconds == inf:
        return "a time that nobody knows"
    return f"{seconds:.3f}".rstrip("0").rstrip(".") + " s"
