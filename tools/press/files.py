"""Links to files that are no pages: the site shows those files, as they are.

A page may link to a module, an example or a folder of configurations as it stands in the
repository. Whoever reads the site has no repository, so each such file gets a page of its own.
"""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound

from press.contents import FENCE, resolved

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?<!!)\[(?P<text>[^]]*)]\((?P<target>[^)\s#]+)(?P<place>#[^)\s]*)?\)")


def told(page: str, docname: str, shown: set[str]) -> str:
    """The page with links to pages of files instead of files; adds those to `shown`."""
    folder = posixpath.dirname(docname)

    def instead(match: re.Match[str]) -> str:
        target = match["target"]
        path = resolved(folder, target)
        if ":" in target or target.endswith((".md", ".svg")) or not (ROOT / path).exists():
            return match[0]
        if (ROOT / path / "README.md").exists():
            return f"[{match['text']}]({target.rstrip('/')}/README.md{match['place'] or ''})"
        shown.add(path)
        here = posixpath.relpath(pagename(path), folder or ".")
        return f'<a class="reference internal" href="{here}.html">{match["text"]}</a>'

    return outside_blocks(page, lambda words: LINK.sub(instead, words))


def outside_blocks(page: str, change: Any) -> str:
    """The page with `change` made to all but its blocks of code."""
    parts, end = [], 0
    for block in FENCE.finditer(page):
        parts += [change(page[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, change(page[end:])])


def pagename(path: str) -> str:
    """The page on which a file or the files of a folder are shown."""
    return f"files/{path}"


def pages(shown: set[str]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """For Sphinx: each page, with what its template wants."""
    for path in sorted(shown):
        file = ROOT / path
        files = sorted(one for one in file.rglob("*") if one.is_file()) if file.is_dir() else [file]
        body = f"<h1><code>{html.escape(path)}</code></h1>" + "".join(map(block, files))
        yield pagename(path), {"parents": [], "title": path, "body": body}, "page.html"


def block(file: Path) -> str:
    """One file, coloured if it is known how."""
    try:
        lexer = get_lexer_for_filename(file.name)
    except ClassNotFound:
        lexer = TextLexer()
    name = html.escape(str(file.relative_to(ROOT)))
    return f"<h2>{name}</h2>{highlight(file.read_text(), lexer, HtmlFormatter())}"
