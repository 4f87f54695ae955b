"""Write the pages of measurements from what was measured.

    python tools/report.py bench build/bench    docs/benchmarks/*.md, and their pictures
    python tools/report.py soak build/soak      docs/benchmarks/reliability.md

`make bench` and `make soak` call this at their end. What was not measured keeps its page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reports import in_process, instructions, on_redis, reliability, targets

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "benchmarks"
PICTURES = ROOT / "docs" / "pictures"
Measured = dict[str, Any]
# What is measured, by the name of its file, and the page and the picture that are made of it.
SHOWN: dict[str, tuple[str, Callable[[Measured], str], Callable[[Measured], str] | None]] = {
    "memory": ("in-process", in_process.page, in_process.picture),
    "redis": ("on-redis", on_redis.page, on_redis.picture),
    "instructions": ("instructions", instructions.page, None),
}


def main(arguments: list[str]) -> int:
    """Write what there is, and name it."""
    match arguments:
        case ["bench", folder]:
            written = bench(Path(folder))
        case ["soak", folder]:
            written = soak(Path(folder))
        case _:
            print("usage: report.py bench FOLDER, or report.py soak FOLDER")
            return 2
    for path in written:
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


def bench(folder: Path) -> list[Path]:
    """A page for each known measurement, and one for the targets of all."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    written = []
    for name, (title, page, picture) in SHOWN.items():
        if name in found:
            if picture is not None:
                written.append(write(PICTURES / f"bench_{name}.svg", picture(found[name])))
            written.append(write(PAGES / f"{title}.md", page(found[name])))
    if found:
        written.append(write(PAGES / "targets.md", targets.page(found)))
    return written


def soak(folder: Path) -> list[Path]:
    """One page of all that was tried."""
    cases = [case for path in sorted(folder.glob("*.xml")) for case in reliability.read(path)]
    return [write(PAGES / "reliability.md", reliability.page(cases))] if cases else []


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
