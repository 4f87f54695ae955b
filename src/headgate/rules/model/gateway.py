"""Gateway in rules: what is read by somebody else, kept as it is and frozen."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from headgate.rules.model.kinds import Named, Path, Report, Schema, shown

# As deep as a document may be.
DEEPEST = 32


class Opaque:
    """The kind of what is read by somebody else."""

    says = "a mapping"

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """As it is, and frozen."""
        if not isinstance(given, Mapping):
            report.add(at, f"is {self.says}, not {shown(given)}")
            return None
        return frozen(given, at, report, DEEPEST)

    def spell(self, value: Any) -> Any:
        """In plain data."""
        return thawed(value)

    def schema(self) -> Schema:
        """Anything."""
        return {"type": "object"}


def frozen(given: Any, at: Path, report: Report, depth: int) -> Any:
    """Plain data that cannot be changed."""
    if isinstance(given, (Mapping, list, tuple)) and depth == 0:
        report.add(at, f"more than {DEEPEST} levels deep; write it flatter")
        return None
    if isinstance(given, Mapping):
        return Named({str(name): frozen(one, (*at, str(name)), report, depth - 1)
                      for name, one in given.items()})  # fmt: skip
    if isinstance(given, (list, tuple)):
        return tuple(frozen(one, (*at, number), report, depth - 1)
                     for number, one in enumerate(given))  # fmt: skip
    plain = given is None or isinstance(given, (str, int, bool))
    if not plain and not (isinstance(given, float) and isfinite(given)):
        report.add(at, f"is a text, a finite number, true or false, not {shown(given)}")
    return given


def thawed(value: Any) -> Any:
    """Plain data that can be written down."""
    if isinstance(value, Mapping):
        return {name: thawed(one) for name, one in value.items()}
    return [thawed(one) for one in value] if isinstance(value, tuple) else value


GATEWAY = Opaque()
