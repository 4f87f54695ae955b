"""The reference of the public names, from their docstrings.

A page asks with `<!-- docstrings: headgate.testing -->` for all public names of a module, or with
`<!-- docstrings: headgate.adapters.asgi HeadgateMiddleware -->` for those it names.
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import TYPE_CHECKING, Any

import headgate

if TYPE_CHECKING:
    from collections.abc import Iterator

ASKED = re.compile(r"<!-- docstrings: (?P<module>[\w.]+)(?P<names>[ \w]*) -->")
CODE = re.compile(r"(`[^`]+`)")
OPTIONS = {
    "autoclass": ["   :members:", "   :inherited-members: object, Exception, tuple"],
    "autofunction": [],
    "autodata": ["   :no-value:"],
}
MARKS = re.compile(r"([*_|\\])")


def planted(page: str) -> str:
    """The page with directives in the place of the comments."""
    return ASKED.sub(lambda asked: directives(asked["module"], asked["names"].split()), page)


def directives(module: str, names: list[str]) -> str:
    """What autodoc is told: every name with what it is."""
    found = importlib.import_module(module)
    told = set() if module == headgate.__name__ else set(headgate.__all__)
    lines = ["```{eval-rst}", f".. currentmodule:: {module}", ""]
    for name in names or sorted(set(found.__all__) - told):
        kind = kind_of(getattr(found, name))
        lines += [f".. {kind}:: {name}", *OPTIONS[kind], ""]
    return "\n".join([*lines, "```"])


def kind_of(value: object) -> str:
    """The directive for a value."""
    if inspect.isclass(value):
        return "autoclass"
    return "autofunction" if inspect.isroutine(value) else "autodata"


def spelled(lines: list[str]) -> Iterator[str]:
    """A docstring as Sphinx wants it: code between two backticks, examples marked as such."""
    before = ""
    for line in lines:
        if line.startswith(" ") and not before.strip():
            yield from ("::", "")
        inside = line.startswith(" ") and (not before.strip() or before.startswith(" "))
        yield line if inside else words(line)
        before = line if line.strip() or not before.startswith(" ") else before


def words(line: str) -> str:
    return "".join(
        f"`{part}`" if part.startswith("`") and len(part) > 1 else MARKS.sub(r"\\\1", part)
        for part in CODE.split(line)
    )


def spell(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """For Sphinx: spell a docstring anew, in place."""
    lines[:] = list(spelled(lines))
