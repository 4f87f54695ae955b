"""Tables of contents, from the links that the pages have anyway.

A page asks for one with a comment, which plain viewers of Markdown do not show:

    <!-- toctree: a.md b/README.md -->      these pages, under each other
    <!-- toctree The project: a.md -->      the same, below a heading
    <!-- toctree: Readme=../README.md -->   the same, under another name
    <!-- toctree: ../*.md -->               all of that folder that were not named before
    <!-- toctree: * -->                     what this page links to, in order; then all beside it
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
ASKED = re.compile(r"<!-- toctree(?P<caption>[^:]*): (?P<entries>[^>]+?) -->")
LINK = re.compile(r"(?<!`)\[[^]]*]\((?P<target>[^)\s#]+)[^)\s]*\)")
FENCE = re.compile(r"^```\w*\n.*?^```$", re.MULTILINE | re.DOTALL)


def planted(page: str, docname: str) -> str:
    """The page with directives in the place of the comments."""
    return ASKED.sub(lambda asked: directive(page, docname, asked), page)


def directive(page: str, docname: str, asked: re.Match[str]) -> str:
    caption = asked["caption"].strip()
    lines = ["```{toctree}", ":hidden:"]
    if caption:
        lines.append(f":caption: {caption}")
    return "\n".join([*lines, "", *entries(page, docname, asked["entries"].split()), "```"])


def entries(page: str, docname: str, said: list[str]) -> Iterator[str]:
    """Names of documents, from the top of the tree, each once."""
    folder = posixpath.dirname(docname)
    told = {f"{docname}.md"}
    for name in said:
        title, _, target = name.rpartition("=")
        for path in meant(folder, page, target):
            if path not in told:
                place = "/" + path.removesuffix(".md")
                yield f"{title} <{place}>" if title else place
            told.add(path)


def meant(folder: str, page: str, target: str) -> list[str]:
    """The pages that an entry stands for."""
    if target == "*":
        return below(folder, page)
    path = resolved(folder, target)
    if "*" not in target:
        return [path]
    return sorted(found.relative_to(ROOT).as_posix() for found in ROOT.glob(path))


def below(folder: str, page: str) -> list[str]:
    """The pages of a folder: first those that `page` links to, then the others by name."""
    others = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.md"))
    first = [path for path in (resolved(folder, one) for one in linked(page)) if path in others]
    return list(dict.fromkeys([*first, *others]))


def linked(page: str) -> list[str]:
    """Where a page points to, in its order, without the places within other pages."""
    return [match["target"] for match in LINK.finditer(FENCE.sub("", page))]


def resolved(folder: str, target: str) -> str:
    """A path as a page in `folder` says it, from the top of the tree."""
    return posixpath.normpath(posixpath.join(folder, target))
