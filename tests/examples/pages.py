"""Pages with commands and what they show: read, run, and held against what really comes."""

from __future__ import annotations

import re
from typing import NamedTuple

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Step(NamedTuple):
    """A command, and the lines that a page shows of what it prints."""

    command: str
    shown: list[str]

    def true(self, told: list[str]) -> bool:
        """Whether that is what came; three dots on the page may be anything."""
        lines = [".*".join(re.escape(part) for part in line.split("...")) for line in self.shown]
        return re.fullmatch("\n".join(lines), "\n".join(told)) is not None


def blocks(page: str) -> list[tuple[str, str]]:
    """The blocks of a page, each with its kind."""
    return FENCE.findall(page)


def steps(console: str) -> list[Step]:
    """The commands of a block."""
    found = []
    for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        command, *shown = part.splitlines()
        found.append(Step(command, shown))
    return found
