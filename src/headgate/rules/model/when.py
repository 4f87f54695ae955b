"""When: the kind of a rule's expression."""

from __future__ import annotations

from typing import Any

from headgate.rules.matching.expression import Expression
from headgate.rules.model.kinds import Misfit, Plain


def _expression(given: Any) -> Expression:
    if isinstance(given, Expression):
        return given
    if not isinstance(given, str):
        raise Misfit
    try:
        return Expression(given)
    except ValueError as problem:
        # What it is about is said by the way to it.
        raise ValueError(str(problem).removeprefix("when: ")) from None


WHEN = Plain(
    'an expression such as header.x-beta == "1"', _expression,
    {"type": "string", "minLength": 1, "maxLength": 1000}, str,
)  # fmt: skip
