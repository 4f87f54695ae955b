"""Terms: what a plan or a single key may under a rule, instead of what the rule says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from headgate.rules.model.allowance import LIMITS, Allowance
from headgate.rules.model.kinds import Names, Path, Report, Schema, closest, shown
from headgate.rules.model.scalars import BYTE_RATE, whole
from headgate.rules.model.table import Table, strict, told

WORDS = ("limit", "concurrent", "bandwidth")
UNLIMITED = "unlimited"
PLACES = whole("how many at once", 1, 1 << 30)


@strict
@dataclass(frozen=True, repr=False)
class Terms:
    """What somebody may: what is not said is as the rule has it."""

    limit: Any = told(LIMITS, "How often.", ())
    concurrent: Any = told(PLACES, "How many at once.", 0)
    bandwidth: Any = told(BYTE_RATE, "How many bytes of the answer are sent in how long.", None)


class Bargain:
    """The kind of terms: `unlimited`, a rate, a number at once, or a mapping of these."""

    says = "unlimited, a rate such as 100/min, a number at once, or a mapping of these"

    def __init__(self) -> None:
        self._table = Table(Terms, self.says)

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """Terms; `unlimited` is kept as the word."""
        if isinstance(given, Terms) or (isinstance(given, str) and given == UNLIMITED):
            return given
        if given is None or isinstance(given, (bool, float)) or given in ("", [], (), {}):
            report.add(at, f"is {self.says}, not {shown(given)}")
            return None
        before = report.wrong
        if isinstance(given, int):
            terms = {"concurrent": PLACES.read(given, at, report)}
        elif isinstance(given, Mapping) and not self._spread(given):
            return self._table.read(given, at, report)
        else:
            terms = {"limit": LIMITS.read(given, at, report)}
        return Terms(**terms) if report.wrong == before else None

    def spell(self, value: Any) -> Any:
        """The word, the rate, or a mapping."""
        if value == UNLIMITED:
            return value
        plain = self._table.spell(value)
        return plain["limit"] if [*plain] == ["limit"] else plain

    def schema(self) -> Schema:
        """In JSON Schema."""
        several = {**self._table.schema(), "minProperties": 1}
        return {"anyOf": [several, LIMITS.schema(), PLACES.schema()]}

    def _spread(self, given: Mapping[Any, Any]) -> bool:
        # Whether a mapping is a limit with its options, and not several terms.
        if any(word in WORDS or closest(word, WORDS) for word in given):
            return False
        options = [one.name for one in fields(Allowance)]
        return any(word in options or closest(word, options) for word in given)


class Plans:
    """The kind of a plan: `unlimited`, or terms for rules by their names."""

    says = "unlimited, or a mapping from rules to terms"

    def __init__(self) -> None:
        self._names = Names(self.says, TERMS)

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """The word, or a mapping."""
        if isinstance(given, str) and given != UNLIMITED:
            hint = closest(given, [UNLIMITED])
            report.add(at, f"is {self.says}, not {shown(given)}{hint}")
            return None
        return given if given == UNLIMITED else self._names.read(given, at, report)

    def spell(self, value: Any) -> Any:
        """The word, or a mapping."""
        return value if value == UNLIMITED else self._names.spell(value)

    def schema(self) -> Schema:
        """In JSON Schema."""
        return {"anyOf": [{"const": UNLIMITED}, self._names.schema()]}


TERMS = Bargain()
PLAN = Plans()
