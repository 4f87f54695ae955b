"""Callers: who may ask a service, by which rules, and how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headgate.rules.model.kinds import Listing, Names, Path, Report, Schema, closest
from headgate.rules.model.scalars import RATE, RULE_NAME
from headgate.rules.model.secret import HIDDEN, Secret
from headgate.rules.model.table import Table, spelled, strict, told


@strict
@dataclass(frozen=True, repr=False)
class CallerTerms:
    """What one caller shows, and what it may."""

    token: Any = told(Listing(Secret()), "What it shows; two of them while one replaces the other.")
    rules: Any = told(Listing(RULE_NAME), "By which rules it may ask; all unless said here.", ())
    limit: Any = told(RATE, "How often it may ask each worker; no bound unless said here.", None)

    def __repr__(self) -> str:
        said = [f"{name}={given!r}" for name, given in {**spelled(self), "token": HIDDEN}.items()]
        return f"CallerTerms({', '.join(said)})"


class Circle:
    """The kind of all callers: a mapping from their names, each with tokens of its own."""

    says = "a mapping from callers to {token: ..., rules: ..., limit: ...}"

    def __init__(self) -> None:
        self._names = Names(self.says, Table(CallerTerms, "a mapping with a token"))

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """A mapping that cannot be changed."""
        before = report.wrong
        found = self._names.read(given, at, report)
        if report.wrong == before:
            apart(found, report, at)
        return found

    def spell(self, value: Any) -> Any:
        """A plain mapping."""
        return self._names.spell(value)

    def schema(self) -> Schema:
        """In JSON Schema."""
        return self._names.schema()


def apart(callers: Mapping[str, Any], report: Report, at: Path) -> None:
    """Whether callers have names that can be names, and no two of them one token."""
    seen: dict[str, str] = {}
    for name, terms in callers.items():
        RULE_NAME.read(name, (*at, name), report)
        for token in terms.token:
            if token in seen:
                other = seen[token]
                said = "is there twice" if other == name else f'is also that of "{other}"'
                report.add((*at, name, "token"), f"{said}; choose another")
            seen[token] = name


def heard(callers: Mapping[str, Any], rules: Iterable[str], report: Report, at: Path) -> None:
    """Whether the rules that callers may ask by are there."""
    known = [*rules]
    for name, terms in callers.items():
        for rule in terms.rules:
            if rule not in known:
                hint = closest(rule, known) or f"; there are {', '.join(known) or 'none'}"
                report.add((*at, name, "rules"), f'there is no rule "{rule}"{hint}')


def present(callers: Mapping[str, Any], ports: Iterable[Any], report: Report, at: Path) -> None:
    """Whether those are callers whom ports take somebody for."""
    for number, port in enumerate(ports):
        if port.caller and port.caller not in callers:
            hint = closest(port.caller, [*callers]) or offered(port.caller, callers)
            report.add((*at, number, "caller"), f'there is no caller "{port.caller}"{hint}')


def offered(name: str, callers: Mapping[str, Any]) -> str:
    """A hint that lists the callers there are, or says how to add the first one."""
    if callers:
        return f"; there are {', '.join(callers)}"
    return f"; write {name}: {{token: ...}} under callers, or leave caller out"


def hushed(plain: Any) -> Any:
    """The plain data of callers, without what they show."""
    if not isinstance(plain, dict):
        return plain
    return {
        name: {**one, "token": HIDDEN} if isinstance(one, dict) else one
        for name, one in plain.items()
    }


CALLERS = Circle()
