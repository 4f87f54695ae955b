"""Charts: the script that draws, as an installed package ships it; nothing of it is kept here.

A page that may load nothing but files of its own origin adds no style to itself: the library leaves
that to an element with the name it looks for, if there is one. Which names those are stands in its
script, so they are read there, and told to the page.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

INSTALL = 'pip install "headgate[dashboard]"'
# The style of maps, which is not wanted here, is known by the digest of its text.
STYLE = re.compile(rb'getElementById\("([0-9a-f]{64})"\)')
# The one it has for everything else; the page has its rules in a file.
GLOBAL = "plotly.js-style-global"


@cache
def script() -> Path | None:
    """Where the script of plotly stands, if it is installed."""
    try:
        # Of the package no line is run: that would take half a second.
        found = find_spec("plotly")
    except (ImportError, ValueError):
        return None
    for folder in (found.submodule_search_locations or ()) if found is not None else ():
        path = Path(folder) / "package_data" / "plotly.min.js"
        if path.is_file():
            return path
    return None


def told() -> dict[str, Any]:
    """Whether there are charts, and what a page has to know of them."""
    path = script()
    if path is None:
        return {"charts": False, "install": INSTALL, "styles": []}
    return {"charts": True, "install": "", "styles": [*_styles(path), GLOBAL]}


@cache
def _styles(path: Path) -> list[str]:
    return [name.decode() for name in dict.fromkeys(STYLE.findall(path.read_bytes()))]
