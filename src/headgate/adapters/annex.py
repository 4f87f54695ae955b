"""Annex: the rules that stand at views instead of in a file, and a gatekeeper for all of them.

A view's rules go by what the file says of clients, headers and plans. They are asked after those
of the file, when it is known which view it is: what those have counted stays counted if a view
refuses.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Generic, TypeVar

from headgate.adapters.arrivals import VIEW
from headgate.clock import Clock
from headgate.latch import Latch
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from headgate.rules.model.terms import UNLIMITED

K = TypeVar("K", Gatekeeper, AsyncGatekeeper)

STRANGE = re.compile("[^A-Za-z0-9_.:-]")
LONGEST = 64


class Terms:
    """What a view's rule says, checked when it is written down.

    Without a name it is called after the place where it is met, and every place counts for itself.
    Under one name several views count together.
    """

    __slots__ = ("name", "rule")

    def __init__(self, rate: Any, fields: dict[str, Any]) -> None:
        self.name = str(fields.get("name", ""))
        self.rule = Rule(**{"name": "view", "limit": rate, **fields})


class Annex(Generic[K]):
    """The rules of views, beside `lead`, which has those of the file."""

    def __init__(self, kind: type[K], lead: K, store: str = "", clock: Clock | None = None) -> None:
        self._lead: K = lead
        self._known = lead.rules
        self._names: dict[tuple[object, str], str] = {}
        self._rules: dict[str, Rule] = {}
        self.keeper: K = kind(self._gathered(lead.rules, {}), store, clock)
        lead.lodge.join(self.keeper.lodge)
        self._lock = Latch()

    def find(self, terms: Terms, place: str) -> str:
        """The name of a view's rule, which is in force from now on."""
        name = self._names.get((terms, place))
        if name is not None and self._known is self._lead.rules:
            return name
        with self._lock:
            name = self._names.get((terms, place)) or self._title(terms, place)
            self._enforce(self._lead.rules, {**self._rules, name: stationed(terms.rule, name)})
            # Only now: whoever finds a name asks for the rule at once.
            self._names[terms, place] = name
        return name

    def _title(self, terms: Terms, place: str) -> str:
        known = self._rules.get(terms.name)
        if known is not None and known != stationed(terms.rule, terms.name):
            raise ValueError(f'limit: "{terms.name}" stands at another view with other terms')
        return terms.name or self._free(STRANGE.sub("-", place)[-LONGEST:])

    def _enforce(self, lead: Rules, rules: dict[str, Rule]) -> None:
        if self._known is not lead or self._rules != rules:
            self.keeper.change(self._gathered(lead, rules))
            self._known, self._rules = lead, rules

    def _gathered(self, lead: Rules, rules: dict[str, Rule]) -> Rules:
        # A plan that may do as it likes may do so everywhere; others speak of the file's rules.
        plans = {name: terms for name, terms in lead.plans.items() if terms == UNLIMITED}
        return replace(lead, rules=[*rules.values()], plans=plans, gateway=None)

    def _free(self, title: str) -> str:
        name, number = title, 1
        while name in self._rules:
            number += 1
            name = f"{title[: LONGEST - 4]}.{number}"
        return name


def stationed(rule: Rule, name: str) -> Rule:
    """The rule as it is met at one view only."""
    return replace(rule, name=name, match={**rule.match.spelled(), f"header.{VIEW}": name})
