"""What an extra of this project installs, one requirement a line.

    python tools/needs.py dev

So that tools can be installed while the package is still being compiled: whoever asks pip for
`headgate[dev]` waits for `headgate`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
# One that installs other extras of this project as well.
OWN = re.compile(r"headgate\[(.+)\]")


def main(arguments: list[str]) -> int:
    """Say it."""
    extras = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    found = {need for extra in arguments for need in needs(extra, extras)}
    print("\n".join(sorted(found)))
    return 0


def needs(extra: str, extras: dict[str, list[str]]) -> Iterator[str]:
    """What it asks for, and what the extras ask for that it asks for."""
    for line in extras[extra]:
        if own := OWN.fullmatch(line):
            for other in own[1].split(","):
                yield from needs(other, extras)
        else:
            yield line


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
