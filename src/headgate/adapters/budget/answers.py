"""Answers: what a request is told that has no budget, or has spent it."""

from __future__ import annotations

from math import inf

from headgate.adapters.http.herald import Answer
from headgate.adapters.http.problem import Refusal, exceeded, seconds, status
from headgate.errors import FundsExhausted, HeadgateError, LimitExceeded, PurseRefused

# What can come of opening a purse, or of spending from it.
DENIED = "What the request brought of a budget is {}."
MIDWAY = "The budget of this request was exhausted midway; part of it may be done."
NOBODY = "Nobody knows whether there is a budget for this."


def answer(no: HeadgateError, accept: str = "") -> Answer:
    """Status, headers and body, in the form that the `Accept` header asks for."""
    return told(no).answer(accept)


def told(no: HeadgateError) -> Refusal:
    """A no as a problem. One that came midway is of a type of its own."""
    if isinstance(no, FundsExhausted):
        policies = (no.decision.rule,) if no.decision.rule else ()
        return Refusal(status("funds"), "funds", policies, no.retry_after, MIDWAY)
    if isinstance(no, PurseRefused):
        return Refusal(status("denied"), "denied", detail=DENIED.format(no.reason))
    if not isinstance(no, LimitExceeded) or no.decision.reason == "unavailable":
        return Refusal(status("unavailable"), "unavailable", detail=NOBODY)
    policy, wait = no.decision.rule, no.retry_after
    if wait == inf:
        said = f'Policy "{policy}" never allows as much at once.'
    else:
        said = exceeded(policy, seconds(wait))
    return Refusal(status("quota"), "quota", (policy,), wait, said)
