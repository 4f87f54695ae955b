"""Fees: what a request costs, worked out from the request or from its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headgate.rules.matching.facts import Fact
from headgate.rules.matching.index import Condition
from headgate.rules.matching.request import Request
from headgate.rules.model.charge import LATER, Cost
from headgate.rules.model.match import Match

Number = Callable[[Request], int]
# A number of more digits is not read.
LONGEST = 15


class Fee:
    """What a rule's requests cost: `units(request)` before, `charge(...)` after the answer."""

    __slots__ = ("_cases", "fixed", "later")

    def __init__(self, cases: list[tuple[Callable[[Request], bool] | None, Cost, Any]]) -> None:
        self._cases = cases
        # Whether some of it is only known when there is an answer.
        self.later = any(cost.later for _, cost, _ in cases)
        plain = not cases or (len(cases) == 1 and cases[0][0] is None and not cases[0][1].by)
        # What all of them cost; -1 where it differs.
        self.fixed = (cases[0][1].units if cases else 1) if plain else -1

    def units(self, request: Request) -> int:
        """What it costs before it is answered."""
        if self.fixed >= 0:
            return self.fixed
        cost, read = self._case(request)
        if cost is None or read is None:
            return 1 if cost is None else int(cost.units)
        return 1 if cost.later else multiplied(cost, read(request))

    def pends(self, request: Request) -> bool:
        """Whether what this one costs is only known when it is answered."""
        if not self.later:
            return False
        cost, _ = self._case(request)
        return cost is not None and cost.later

    def charge(self, request: Request, header: Callable[[str], str], size: int) -> int:
        """What it costs once it is answered; 0 if that was known before."""
        cost, _ = self._case(request)
        if cost is None or not cost.later:
            return 0
        name = cost.by.removeprefix(LATER)
        if name == "body":
            return multiplied(cost, size)
        return multiplied(cost, number(header(name.removeprefix("header."))))

    def _case(self, request: Request) -> tuple[Cost | None, Any]:
        for test, cost, read in self._cases:
            if test is None or test(request):
                return cost, read
        return None, None


def fee(costs: tuple[Cost, ...]) -> Fee:
    """The fee that a rule spells."""
    return Fee([(meets(cost.match), cost, reader(cost)) for cost in costs])


def meets(match: Match) -> Callable[[Request], bool] | None:
    """What says whether a request is one of these; None if all are."""
    return Condition.of(match.conditions, match.exceptions).build() if match else None


def reader(cost: Cost) -> Number | None:
    """How the number is read that the units are multiplied by, if there is one."""
    if not cost.by:
        return None
    if cost.by == "body" or cost.later:
        return lambda request: request.size
    read = Fact.parse(cost.by).reader()
    return lambda request: number(read(request))


def number(said: str) -> int:
    """The number that is spelled; 1 where there is none, and a great one where it is too long."""
    plain = said.strip()
    if not plain.isascii() or not plain.isdigit():
        return 1
    return int(plain) if len(plain) <= LONGEST else 10**LONGEST


def multiplied(cost: Cost, said: int) -> int:
    """The units of so much, every begun part of it counting as one; at least those of one."""
    parts = -(-min(said, int(cost.most)) // int(cost.per))
    return int(cost.units) * max(1, parts)
