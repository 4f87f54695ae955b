"""Look at the built site: it asks nobody else for anything.

    python tools/press/built.py build/docs

Pages may link to other places; scripts, styles, fonts and pictures have to be the site's own.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

ELSEWHERE = re.compile(r"^\s*(?:https?:)?//", re.IGNORECASE)
IMPORTED = re.compile(r"""(?:url\(\s*['"]?|@import\s+['"])((?:https?:)?//[^'")\s]+)""")
FETCHED = {"src", "srcset", "data", "poster", "background"}


class Reader(HTMLParser):
    """Collects what a page has fetched from elsewhere when it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at the attributes of a tag that make a browser fetch something."""
        for name, value in attrs:
            fetched = name in FETCHED or (
                name in {"href", "xlink:href"} and tag in {"link", "use", "image"}
            )
            if fetched and value and ELSEWHERE.match(value):
                self.found.append(value)


def outside(folder: Path) -> list[str]:
    """Every address that a page or a style below `folder` would have fetched from elsewhere."""
    found = []
    for page in sorted(folder.rglob("*.html")):
        reader = Reader()
        text = page.read_text()
        reader.feed(text)
        found += [f"{page.relative_to(folder)}: {one}" for one in reader.found]
    for style in sorted(folder.rglob("*.css")):
        found += [
            f"{style.relative_to(folder)}: {one}" for one in IMPORTED.findall(style.read_text())
        ]
    return found


def main(arguments: list[str]) -> int:
    """Say what is fetched from elsewhere, and where the site begins."""
    folder = Path(arguments[0])
    found = outside(folder)
    for line in found:
        print(f"fetched from elsewhere: {line}")
    if not found:
        print(f"The site asks nobody else for anything. It begins at {folder / 'index.html'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
