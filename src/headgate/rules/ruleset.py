"""Ruleset: rules made ready as a whole. Which of them a request meets, in their order."""

from __future__ import annotations

from collections.abc import Callable

from headgate.rules.facts import Fact
from headgate.rules.index import Condition, Index
from headgate.rules.request import Request
from headgate.rules.rules import Rules
from headgate.rules.ruling import Ruling
from headgate.rules.shelf import Shelf

# So many sets of rules that are met together are kept at hand.
REMEMBERED = 10_000


class Ruleset:
    """Rules, ready to be asked. `era` tells newer ones from older."""

    def __init__(self, rules: Rules, shelf: Shelf, era: int = 0) -> None:
        self.rules = rules
        self.era = era
        self.version = rules.digest
        self.rulings = [Ruling(rule, rules.plans, shelf, era) for rule in rules.rules]
        self._index = Index(
            Condition.of(rule.match.conditions, rule.match.exceptions, rule.when)
            for rule in rules.rules
        )
        self._met: dict[tuple[int, ...], tuple[Ruling, ...]] = {}
        self.plan: Callable[[Request], str] = planned
        if rules.plan:
            self.plan = Fact.parse(rules.plan).reader()

    def find(self, request: Request) -> tuple[Ruling, ...]:
        """The rulings that a request meets; of a group only the first."""
        positions = self._index.find(request)
        found = self._met.get(positions)
        return self._meet(positions) if found is None else found

    def _meet(self, positions: tuple[int, ...]) -> tuple[Ruling, ...]:
        seen: set[str] = set()
        met: list[Ruling] = []
        for position in positions:
            ruling = self.rulings[position]
            if ruling.rule.group not in seen:
                met.append(ruling)
                seen |= {ruling.rule.group} - {""}
        if len(self._met) < REMEMBERED:
            self._met[positions] = tuple(met)
        return tuple(met)

    def __repr__(self) -> str:
        return f"{len(self.rulings)} rules, {self.version}"


def planned(request: Request) -> str:
    """The plan, as the app says it."""
    return request.plan
