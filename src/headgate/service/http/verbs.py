"""Verbs: the limits of rules, asked by name: take, peek, debit, refund and reset."""

from __future__ import annotations

from collections.abc import Awaitable
from inspect import isawaitable
from typing import Any

from headgate.decision import Decision
from headgate.service.http.asking import Asking, then
from headgate.service.http.forms import Many, Reset, Take
from headgate.service.http.routes import Example
from headgate.service.http.saying import Answer, Trouble, sentence, told, written

Answers = Answer | Awaitable[Answer]

STATUSES = {
    200: "It is let in.",
    403: "The rule lets nobody in, or not without a key; or the caller may not ask by it.",
    404: "There is no such rule, or it has no limit.",
    429: "It is too much, now or, where `retry_after` is null, ever.",
    503: "The store could not be asked, and the rule lets nobody in unasked.",
}
GONE = "The store could not be asked."
DONE = {200: "It is done; this is how the key stands.", 404: STATUSES[404], 503: GONE}
SEEN = {200: "Nothing was spent.", 404: STATUSES[404], 503: GONE}
FORGOTTEN = {204: "It is forgotten.", 404: STATUSES[404], 503: GONE}


def take(asking: Asking) -> Answers:
    """Spend for one key, or for many in their order."""
    said = asking.said()
    if isinstance(said, dict) and "many" in said:
        return many(asking, "take", said)
    form = asking.read(Take, said)
    asking.admit(form.rule)
    teller = asking.hall.teller
    found = teller.take(form.rule, form.key, form.cost, form.plan)
    return then(found, lambda decision: judged(asking, form, decision, count=1))


def peek(asking: Asking) -> Answers:
    """What `take` would say."""
    said = asking.said()
    if isinstance(said, dict) and "many" in said:
        return many(asking, "peek", said)
    form = asking.read(Take, said)
    asking.admit(form.rule)
    found = asking.hall.teller.peek(form.rule, form.key, form.cost, form.plan)
    return then(found, lambda decision: judged(asking, form, decision))


def debit(asking: Asking) -> Answers:
    """Spend although it may not be there: it is done, whatever the key then has."""
    form = asking.read(Take)
    asking.admit(form.rule)
    found = asking.hall.teller.debit(form.rule, form.key, form.cost, form.plan)
    return then(found, lambda decision: done(asking, form, decision))


def refund(asking: Asking) -> Answers:
    """Give back."""
    form = asking.read(Take)
    asking.admit(form.rule)
    found = asking.hall.teller.refund(form.rule, form.key, form.cost, form.plan)
    return then(found, lambda decision: done(asking, form, decision))


def reset(asking: Asking) -> Answers:
    """Forget a key."""
    form = asking.read(Reset)
    asking.admit(form.rule)
    found = asking.hall.teller.reset(form.rule, form.key, form.plan)
    return then(found, lambda _: (204, [], b""))


def state(asking: Asking) -> Answers:
    """How a key stands; nothing is spent."""
    rule, key = asking.parts
    plan = asking.options("plan").get("plan", "")
    asking.admit(rule)
    found = asking.hall.teller.peek(rule, key, 0, plan)
    return then(found, lambda decision: shown(asking, rule, key, plan, decision))


def judged(asking: Asking, form: Any, decision: Decision, count: int = 0) -> Answer:
    """A decision, with the status that says the same."""
    reception = asking.clerk.reception
    found: Answer = reception.declare(form.rule, form.key, form.plan, decision, count)
    return found


def done(asking: Asking, form: Any, decision: Decision) -> Answer:
    """How a key stands after what was done anyway."""
    return shown(asking, form.rule, form.key, form.plan, decision)


def shown(asking: Asking, rule: str, key: str, plan: str, decision: Decision) -> Answer:
    """How a key stands, with the headers that tell of it; or that nobody knows."""
    if decision.reason == "unavailable":
        unknown: Answer = asking.clerk.reception.declare(rule, key, plan, decision, 0)
        return unknown
    standing = asking.clerk.reception.standing(rule, key, plan, decision)
    return written(told(decision), 200, standing)


def many(asking: Asking, verb: str, said: Any) -> Answers:
    """Ask for many; nothing is spent unless all of them can be asked."""
    questions = asking.read(Many, said).many
    teller = asking.hall.teller
    rules = {question.rule for question in questions}
    for number, question in enumerate(questions):
        if question.rule in rules:
            rules.discard(question.rule)
            known(teller, number, question.rule)
    asking.admit(*{question.rule for question in questions}, cost=len(questions))
    ask = getattr(teller, verb)
    found = [ask(one.rule, one.key, one.cost, one.plan) for one in questions]
    if any(isawaitable(one) for one in found):
        return gathered(asking, questions, found, verb)
    return listed(asking, questions, found, verb)


def known(teller: Any, number: int, rule: str) -> None:
    """See that a rule can be asked, before anything is spent."""
    try:
        teller.till(rule)
    except Exception as problem:
        said = [(f"many[{number}].rule", str(problem))]
        raise Trouble(404, sentence(f"many[{number}].rule: {problem}"), (), said) from None


async def gathered(asking: Asking, questions: Any, found: list[Any], verb: str) -> Answer:
    """The answers to many, once all of them are there."""
    # Each is on its way by itself: those that are asked of a server travel together.
    begin = asking.clerk.begin
    tasks = [begin(one) if isawaitable(one) else one for one in found]
    answers = [await one if isawaitable(one) else one for one in tasks]
    return listed(asking, questions, answers, verb)


def listed(asking: Asking, questions: Any, found: list[Decision], verb: str) -> Answer:
    """The answers to many, in their order."""
    reception = asking.clerk.reception
    if verb == "take":
        for decision in found:
            reception.note(decision)
    body = b",".join([told(decision) for decision in found])
    return written(b'{"answers":[%b]}' % body)


DECIDED = {
    "allowed": True, "limit": 100, "remaining": 99, "retry_after": 0.0, "reset_after": 0.6,
    "reason": "", "rule": "api", "degraded": False,
}  # fmt: skip
EXAMPLES = {
    "take": (
        Example("one", "One request of a user", {"rule": "api", "key": "user:42"}, 200, DECIDED),
        Example(
            "much", "More at once than there ever is",
            {"rule": "api", "key": "user:42", "cost": 1000}, 429,
            {**DECIDED, "allowed": False, "remaining": 100, "retry_after": None,
             "reset_after": 0.0, "reason": "never"},
        ),
        Example(
            "many", "Two at once",
            {"many": [{"rule": "api", "key": "user:42"}, {"rule": "api", "key": "user:7"}]},
            200, {"answers": [DECIDED, DECIDED]},
        ),
        Example(
            "unknown", "A rule that is not there", {"rule": "apo", "key": "user:42"}, 404,
            {"type": "about:blank", "title": "Not Found", "status": 404,
             "detail": 'there is no rule "apo"; did you mean api?'},
        ),
    ),
    "peek": (
        Example(
            "one", "Whether one more would go in", {"rule": "api", "key": "user:42"}, 200,
            {**DECIDED, "remaining": 100, "reset_after": 0.0},
        ),
    ),
    "debit": (
        Example(
            "tokens", "What an answer has cost, known afterwards",
            {"rule": "api", "key": "user:42", "cost": 30}, 200,
            {**DECIDED, "remaining": 70, "reset_after": 18.0},
        ),
    ),
    "refund": (
        Example(
            "one", "One that was not used", {"rule": "api", "key": "user:42"}, 200,
            {**DECIDED, "remaining": 100, "reset_after": 0.0},
        ),
    ),
    "reset": (Example("one", "A user begins anew", {"rule": "api", "key": "user:42"}, 204),),
    "state": (
        Example(
            "one", "A user who has done nothing", None, 200,
            {**DECIDED, "remaining": 100, "reset_after": 0.0}, "/v1/keys/api/user:42",
        ),
    ),
}  # fmt: skip
