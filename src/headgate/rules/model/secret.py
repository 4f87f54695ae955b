"""Secrets: tokens that somebody shows, and keys that sign; no message and no print tells them."""

from __future__ import annotations

from typing import Any

from headgate.rules.model.kinds import Path, Report, Schema, shown

SHORTEST_TOKEN, LONGEST_TOKEN = 16, 1000
HIDDEN = "***"


class Secret:
    """The kind of a secret. `advice` is for whose is of the wrong length; if it is `spare`, the
    empty text is none.
    """

    def __init__(
        self, shortest: int = SHORTEST_TOKEN, advice: str = "", spare: bool = False
    ) -> None:
        self.says = f"a secret of {shortest} to {LONGEST_TOKEN:,} letters, digits and signs"
        self._shortest = shortest
        self._advice = advice
        self._spare = spare

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """The secret as it is."""
        if not isinstance(given, str):
            numeric = isinstance(given, (int, float)) and not isinstance(given, bool)
            found = "a number; write it in quotes" if numeric else shown(given)
            report.add(at, f"is {self.says}, not {found}")
        elif not given and self._spare:
            return given
        elif not (given.isascii() and given.isprintable() and " " not in given):
            report.add(at, f"is {self.says} of ASCII, not one with blanks or others")
        elif not self._shortest <= len(given) <= LONGEST_TOKEN:
            report.add(at, f"is {self.says}, not of {len(given):,}{self._advice}")
        return given

    def spell(self, value: Any) -> Any:
        """The secret."""
        return value

    def schema(self) -> Schema:
        """In JSON Schema."""
        signs = rf"[!-~]{{{self._shortest},{LONGEST_TOKEN}}}"
        return {"type": "string", "pattern": f"^({signs})?$" if self._spare else f"^{signs}$"}


# One that is made unless it is said.
SPARE = Secret(advice="; leave it out and one is made", spare=True)
