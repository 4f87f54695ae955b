"""llms.txt: the pages of the site as a list, for programs that read instead of people."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SECTIONS = {
    "tutorial": "Tutorials",
    "how-to": "How-to guides",
    "explanation": "Explanation",
    "reference": "Reference",
    "operations": "Operations",
    "benchmarks": "Benchmarks and reliability",
    "decisions": "Optional",
}
ABOUT = """\
# Headgate

> Flow control for services in Python: how often (rate limits), how many at once (bulkheads),
> whether at all (breakers) and how evenly (pacers). A library, a gateway in front of any service,
> and a service that Envoy, nginx, HAProxy and programs in any language ask. Rules are one file; the
> answers are exact, with bounds that are proved.
"""


def index(docs: Path, titles: dict[str, str]) -> str:
    """The list: a line for each page, with its first sentence; links lead to the Markdown."""
    return "\n".join([ABOUT, *sections(docs, titles)])


def sections(docs: Path, titles: dict[str, str]) -> Iterator[str]:
    for folder, heading in SECTIONS.items():
        yield f"## {heading}\n"
        for page in sorted((docs / folder).rglob("*.md")):
            name = page.relative_to(docs.parent).as_posix()
            title = titles.get(name.removesuffix(".md"), page.stem)
            about = sentence(page.read_text())
            yield f"- [{title}](_sources/{name}.txt)" + (f": {about}" if about else "")
        yield ""


def sentence(page: str) -> str:
    """The first sentence of a page, without its marks."""
    for part in page.split("\n\n")[1:]:
        if part[:1].isalpha():
            plain = re.sub(r"\[([^]]*)]\([^)]*\)", r"\1", " ".join(part.split()))
            return re.split(r"(?<=[.!?]) ", plain)[0].rstrip(":")
    return ""
