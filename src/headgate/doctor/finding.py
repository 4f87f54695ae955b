"""Finding: what one check has found: whether it is well, what is so, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headgate.doctor.checks import CHECKS

# From the best to the worst. What could not be found out is neither.
GOOD, UNKNOWN, DOUBT, BAD = "good", "unknown", "doubt", "bad"
VERDICTS = (GOOD, UNKNOWN, DOUBT, BAD)
PAGE = "docs/reference/doctor.md"


@dataclass(frozen=True)
class Finding:
    """A verdict on `where`, by the check of that name: `found` is what is so."""

    check: str
    verdict: str
    where: str
    found: str

    @property
    def why(self) -> str:
        """Why it matters."""
        return CHECKS[self.check].why

    @property
    def mend(self) -> str:
        """What to do about it."""
        return CHECKS[self.check].mend

    @property
    def link(self) -> str:
        """Where more is said of it."""
        return f"{PAGE}#{self.check.replace('.', '')}"

    def plain(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        said = {
            "check": self.check,
            "verdict": self.verdict,
            "where": self.where,
            "found": self.found,
        }
        if self.verdict in (GOOD, UNKNOWN):
            return said
        return {**said, "why": self.why, "mend": self.mend, "link": self.link}

    def __str__(self) -> str:
        at = f"{self.where}: " if self.where else ""
        said = f"{self.verdict}: {self.check}: {at}{self.found}"
        if self.verdict in (GOOD, UNKNOWN):
            return said
        return f"{said}. {self.why} {self.mend}"


def worst(findings: tuple[Finding, ...]) -> str:
    """The worst verdict there is."""
    return max((one.verdict for one in findings), key=VERDICTS.index, default=GOOD)
