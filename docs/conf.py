"""How the site is built: `make docs`. The tree of the site is that of the repository."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from press import contents, diagrams, docstrings, files, llms  # noqa: E402

project = "Headgate"
author = "The Headgate authors"
release = re.findall('__version__ = "(.+)"', (ROOT / "src/headgate/__init__.py").read_text())[0]
language = "en"

# Pages lie where the repository has them, so that every link between them holds here and there.
root_doc = "docs/README"
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/**/*.md",
    "tests/README.md",
    "benchmarks/README.md",
]
exclude_patterns = [
    "build", "dist", "src", "tools", "examples", "deploy", ".*", "**/__pycache__", "tests/[!R]*/**",
]  # fmt: skip
source_suffix = {".md": "markdown"}

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 6
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
# What is said about types of others, and of inner modules, is text.
nitpick_ignore_regex = [("py:.*", r".*")]

# What people copy stays as it is typed: --strict with two hyphens, and straight quotes.
smartquotes = False

html_theme = "furo"
html_title = f"Headgate {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = True
html_show_copyright = False
html_theme_options: dict[str, Any] = {
    "light_css_variables": {
        "color-brand-primary": "#0b5e86",
        "color-brand-content": "#0b5e86",
    },
    "dark_css_variables": {"color-brand-primary": "#6cc0ea", "color-brand-content": "#6cc0ea"},
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"

BEGIN = """<!doctype html><meta charset="utf-8"><title>Headgate</title>
<meta http-equiv="refresh" content="0; url=docs/README.html"><a href="docs/README.html">Headgate</a>
"""


def read(app: Any, docname: str, source: list[str]) -> None:
    """Give a page what only the site has: contents, docstrings, drawings, other files."""
    page = files.told(source[0], docname, app.shown_files)
    page = contents.planted(diagrams.planted(page), docname)
    source[0] = docstrings.planted(page)


def finish(app: Any, failure: Exception | None) -> None:
    """The way in, and the list for programs."""
    if failure is None:
        titles = {name: node.astext() for name, node in app.env.titles.items()}
        (Path(app.outdir) / "index.html").write_text(BEGIN)
        (Path(app.outdir) / "llms.txt").write_text(llms.index(ROOT / "docs", titles))


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx where all this takes part."""
    app.shown_files = set()
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", docstrings.spell)
    app.connect("html-collect-pages", lambda app: files.pages(app.shown_files))
    app.connect("build-finished", finish)
    return {"parallel_read_safe": False}
