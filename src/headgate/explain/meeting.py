"""Meeting: whether a request meets a rule, and by which condition it does not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headgate.explain.record import facts
from headgate.rules.matching.comparison import CLIENT, PATH
from headgate.rules.matching.facts import Fact
from headgate.rules.matching.index import Clause, Condition
from headgate.rules.matching.request import Request

# Of many values so many are told, and of a long one so much.
FEW = 3
LONGEST = 80


def missed(rule: Any, request: Request) -> str:
    """The first condition of a rule that a request does not meet; nothing if it meets all."""
    condition = Condition.of(rule.match.conditions, rule.match.exceptions, rule.when)
    for clause in condition.all:
        if not clause.build(condition.paths)(request):
            return told(clause, value(clause.fact, request, condition.paths))
    if rule.when is not None and not rule.when.compile(condition.paths)(request):
        held = [f"{fact} is {shown(value(fact, request, condition.paths))}"
                for fact in rule.when.facts]  # fmt: skip
        return f"{', '.join(held)}, and not {rule.when}"
    return ""


def told(clause: Clause, found: str) -> str:
    """What was found, and what it was to be."""
    if clause.inverse:
        return f"{clause.fact} is {shown(found)}, which it must not be: {listed(clause.values)}"
    return f"{clause.fact} is {shown(found)}, not {listed(clause.values)}"


def value(fact: Fact, request: Request, paths: tuple[str, ...]) -> str:
    """What a fact is, as rules compare it: of the client it is the whole address."""
    if fact == PATH:
        return request.path
    return request.address if fact == CLIENT else fact.reader(paths)(request)


def shown(text: str) -> str:
    """A value as it is shown; one that is not there is said to be absent."""
    if not text:
        return "absent"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def listed(values: Iterable[str]) -> str:
    """One value or several; not all of many."""
    found = [one or '""' for one in values]
    more = [f"{len(found) - FEW} more"] if len(found) > FEW else []
    return " or ".join([*found[:FEW], *more])


def source(rule: Any, request: Request) -> tuple[tuple[str, str], ...]:
    """The facts that a key is made of, each with what it is for this request."""
    paths = tuple(rule.match.paths)
    return tuple((str(one), one.reader(paths)(request)) for one in facts(tuple(rule.key)))
