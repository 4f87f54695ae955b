"""The environment in documents: `${NAME}` in a value becomes what the variable holds.

`${NAME:-default}` has a default for a variable that is not set or empty, as in a shell; a default
holds no braces. `$${` stands for `${` itself. What a variable holds is taken as it is and never
looked into again, and no message tells it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headgate.errors import Problem, RulesError
from headgate.rules.documents.document import Document, Path
from headgate.rules.documents.page import quoted

MARKED = re.compile(r"\$\$\{|\$\{([^{}]*)(\}?)")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def expand(document: Document, environment: Mapping[str, str]) -> Document:
    """The document with its variables filled in, or all that is wrong with them at once."""
    problems: list[Problem] = []

    def fill(data: Any, path: Path) -> Any:
        if isinstance(data, dict):
            return {name: fill(value, (*path, name)) for name, value in data.items()}
        if isinstance(data, list):
            return [fill(value, (*path, index)) for index, value in enumerate(data)]
        if not isinstance(data, str) or "${" not in data:
            return data
        try:
            return MARKED.sub(lambda marked: _held(marked, environment), data)
        except ValueError as error:
            problems.append(Problem(str(error), path, document.file, *document.place(path)))

    filled = fill(document.data, ())
    if problems:
        raise RulesError(tuple(problems))
    return document._replace(data=filled)


def _held(marked: re.Match[str], environment: Mapping[str, str]) -> str:
    """What stands for one mark."""
    inside, closed = marked.groups()
    if inside is None:
        return "${"
    if not closed:
        raise ValueError(
            'a "${" is not closed; write ${NAME}, or ${NAME:-default} with no brace in the '
            "default, or $${ for a text"
        )
    name, dashed, default = inside.partition(":-")
    if not NAME.fullmatch(name):
        raise ValueError(
            f"{quoted(name)} is no variable; a name is of A-Z, a-z, 0-9 and _, and begins with no "
            "digit"
        )
    held = environment.get(name)
    if dashed:
        return held or default
    if held is None:
        raise ValueError(f"{name} is not set; set it, or write ${{{name}:-default}}")
    return held
