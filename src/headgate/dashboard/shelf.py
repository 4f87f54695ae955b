"""Shelf: the files that the page is made of. They are open to everybody, for nothing is in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from headgate.dashboard import charts

FOLDER = Path(__file__).parent / "files"
KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class Leaf(NamedTuple):
    """What a file holds, of which kind it is, and a tag that another content would not have."""

    body: bytes
    kind: str
    tag: str


def find(path: str) -> Leaf | None:
    """The file that stands at a path of the listener, if one does."""
    place = places().get(path)
    return None if place is None else place()


@cache
def places() -> dict[str, Callable[[], Leaf]]:
    """What there is, by its path, and how to get it; nothing else is ever looked for."""
    found: dict[str, Callable[[], Leaf]] = {}
    for file in sorted(FOLDER.iterdir()):
        if file.suffix in KINDS:
            found[f"/{file.name}"] = cache(lambda file=file: leaf(file.read_bytes(), file.suffix))
    found["/"] = found.pop("/index.html")
    found["/favicon.ico"] = found["/icon.svg"]
    found["/charts.json"] = lambda: leaf(json.dumps(charts.told()).encode(), "application/json")
    path = charts.script()
    if path is not None:
        found["/plotly.js"] = cache(lambda: leaf(path.read_bytes(), path.suffix))
    return found


def leaf(body: bytes, kind: str) -> Leaf:
    """Content as a file, of the kind that its suffix tells."""
    return Leaf(body, KINDS.get(kind, kind), f'"{sha256(body).hexdigest()[:16]}"')
