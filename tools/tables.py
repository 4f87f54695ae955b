"""Copy the conformance tables into the pages that show them.

    python tools/tables.py            refresh the pages
    python tools/tables.py --check    fail if a page shows another table than the engines play

A page asks for a table with a pair of comments; what stands between them is replaced:

    <!-- cases: gcra.txt -->
    <!-- end of cases -->
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CASES = ROOT / "src" / "headgate" / "testing" / "cases"
ASKED = re.compile(r"<!-- cases: (\S+) -->\n.*?<!-- end of cases -->", re.DOTALL)


def main(arguments: list[str]) -> int:
    """Refresh every page, or name those that are stale."""
    if arguments == ["--check"]:
        found = stale()
        for path in found:
            print(f"{path.relative_to(ROOT)} shows an old table: run tools/tables.py")
        return 1 if found else 0
    for path in stale():
        path.write_text(refreshed(path.read_text()))
    return 0


def stale() -> list[Path]:
    """The pages that would change."""
    pages = sorted((ROOT / "docs").rglob("*.md"))
    return [path for path in pages if refreshed(path.read_text()) != path.read_text()]


def refreshed(page: str) -> str:
    """The page with today's tables in it."""
    return ASKED.sub(lambda match: included(match[1]), page)


def included(name: str) -> str:
    """The table of that name, between the comments that ask for it."""
    table = (CASES / name).read_text().strip()
    return f"<!-- cases: {name} -->\n```text\n{table}\n```\n<!-- end of cases -->"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
