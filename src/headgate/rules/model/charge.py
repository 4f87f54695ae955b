"""Charge: what a request costs under a rule, known before it goes in or only afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from headgate.rules.matching.facts import WORDS, Fact
from headgate.rules.model.kinds import Listing, Misfit, Path, Plain, Report, Schema, closest
from headgate.rules.model.match import MATCH, Match, valid
from headgate.rules.model.scalars import size, whole
from headgate.rules.model.table import Table, spelled, strict, told

# What is only known when there is an answer.
LATER = "response."
MOST = 1 << 40
# Facts that may be numbers.
NUMERIC = ("size", "header", "query", "cookie")
SOURCES = r"^(body|size|response\.body|response\.header\..+|(header|query|cookie)\..+)$"


def _source(given: Any) -> str:
    if not isinstance(given, str):
        raise Misfit
    if given in ("body", "response.body"):
        return given
    later = LATER if given.startswith(LATER) else ""
    fact = Fact.parse(given.removeprefix(later))
    if fact.family not in (("header",) if later else NUMERIC):
        raise Misfit
    return f"{later}{fact}"


SOURCE = Plain(
    "body, response.body, response.header.NAME, or header.NAME, query.NAME or cookie.NAME",
    _source, {"type": "string", "pattern": SOURCES},
)  # fmt: skip


@strict
@dataclass(frozen=True, repr=False)
class Cost:
    """So many units for the requests it is about, times a number read from them if it says so."""

    units: Any = told(whole("how many units", 0, 1_000_000_000), "How many units.", 1)
    match: Any = told(MATCH, "Which requests cost that; all unless said here.", Match())
    by: Any = told(SOURCE, "Where a number stands that the units are multiplied by.", "")
    per: Any = told(size("how much is one"), "How much of that number is one, rounded up.", 1)
    most: Any = told(whole("the most", 1), "The most that is believed of that number.", MOST)

    @property
    def later(self) -> bool:
        """Whether it is only known when there is an answer."""
        return str(self.by).startswith(LATER)

    def check(self, report: Report, at: Path) -> None:
        """What divides and bounds a number needs one."""
        for word, usual in (("per", 1), ("most", MOST)):
            if getattr(self, word) != usual and not self.by:
                report.add((*at, word), 'is about a number that is read; say where with "by"')


class Costing:
    """The kind of a cost: a number, or a mapping that may hold the conditions of a match."""

    says = "a number of units, or a mapping such as {path: /search, units: 5}"

    def __init__(self) -> None:
        self._table = Table(Cost, self.says, "units")
        self._known = [one.name for one in fields(Cost)]

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """A cost."""
        if not isinstance(given, Mapping):
            return self._table.read(given, at, report)
        if not given:
            report.add(at, f"is {self.says}, not an empty mapping")
            return None
        own = {word: value for word, value in given.items() if word in self._known}
        facts = {word: value for word, value in given.items() if word not in self._known}
        before = report.wrong
        for word in facts:
            self._admit(word, (*at, str(word)), "match" in own, report)
        if facts and report.wrong == before:
            own["match"] = MATCH.read(facts, at, report)
        return self._table.read(own, at, report) if report.wrong == before else None

    def spell(self, value: Any) -> Any:
        """A number or a mapping."""
        plain = spelled(value)
        conditions = plain.pop("match", {})
        if not conditions and set(plain) <= {"units"}:
            return value.units
        return {**conditions, **plain}

    def schema(self) -> Schema:
        """A mapping may also hold the conditions of a match."""
        found = self._table.schema()
        mapping = found["anyOf"][0]
        match = MATCH.schema()
        mapping["properties"] |= match["properties"]
        mapping["patternProperties"] = match["patternProperties"]
        mapping["minProperties"] = 1
        return found

    def _admit(self, word: Any, at: Path, twice: bool, report: Report) -> None:
        hint = closest(word, [*self._known, *WORDS])
        meant = any(hint == closest(one, [one]) for one in self._known)
        if meant and not valid(word):
            # Neither a field nor a fact: more likely the field it looks like.
            report.stray(at, f"there is no such field{hint}")
        elif twice:
            report.stray(at, "stands beside match; put it in there")


def _statuses(given: Any) -> Any:
    if isinstance(given, int) and not isinstance(given, bool) and 100 <= given <= 599:
        return given
    if isinstance(given, str) and given in ("1xx", "2xx", "3xx", "4xx", "5xx"):
        return given
    raise Misfit


STATUSES = Listing(
    Plain(
        "a status such as 401, or 4xx", _statuses,
        {"anyOf": [{"type": "integer", "minimum": 100, "maximum": 599},
                   {"enum": ["1xx", "2xx", "3xx", "4xx", "5xx"]}]},
    )
)  # fmt: skip


@strict
@dataclass(frozen=True, repr=False)
class Counts:
    """Only these answers count: what any other request spent is given back when it is answered."""

    status: Any = told(STATUSES, "The statuses of the answers that count.")


def statuses(listed: tuple[Any, ...]) -> frozenset[int]:
    """All statuses that are meant."""
    found: set[int] = set()
    for one in listed:
        found |= (
            {one} if isinstance(one, int) else {*range(int(one[0]) * 100, int(one[0]) * 100 + 100)}
        )
    return frozenset(found)


COST = Listing(Costing())
COUNTS = Table(Counts, "a mapping such as {status: [401, 403]}")
