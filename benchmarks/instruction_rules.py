"""The rules that instructions of a decision are counted with, for processes and servers alike.

With one rule or four, a request meets every rule, and the last one refuses. Of 200 rules a request
meets one, by its path, and two paths have the two outcomes.
"""

from __future__ import annotations

# Under valgrind every import takes long, and this one is for type checkers only.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COUNTS = (1, 4, 200)
OUTCOMES = ("admitted", "refused")
# Never reached, and reached by the first request.
AMPLE, SCARCE = "1000000/s", "1/day"
# Of 200 rules, those for two tenants decide: one has an ample limit, and the other a scarce one.
TENANTS = {"admitted": 137, "refused": 138}
USER = "ada"
HEADER = "x-user"


def build_rules(count: int, outcome: str) -> list[dict[str, Any]]:
    """The fields of `count` rules under which a request for `get_path(outcome)` has that outcome.

    The 200 rules are the same for both outcomes.
    """
    if count == COUNTS[-1]:
        return [
            {
                "name": name_rule(count, "tenant", number),
                "match": {"path": f"/v1/tenants/{number}/**"},
                "key": f"header.{HEADER}",
                "limit": SCARCE if number == TENANTS["refused"] else AMPLE,
            }
            for number in range(count)
        ]
    limits = [AMPLE] * (count - 1) + [SCARCE if outcome == "refused" else AMPLE]
    return [
        {"name": name_rule(count, outcome, number), "key": f"header.{HEADER}", "limit": limit}
        for number, limit in enumerate(limits)
    ]


def get_path(outcome: str) -> str:
    """What is requested."""
    return f"/v1/tenants/{TENANTS[outcome]}/orders"


def name_rule(count: int, kind: str, number: int) -> str:
    """A name that no other set of rules has."""
    return f"{kind}-{count:03}-{number:03}"


def name_deciding_rule(count: int, outcome: str) -> str:
    """The rule that refuses if any does."""
    if count == COUNTS[-1]:
        return name_rule(count, "tenant", TENANTS[outcome])
    return name_rule(count, outcome, count - 1)
