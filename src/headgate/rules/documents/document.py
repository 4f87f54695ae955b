"""Documents: YAML, JSON and TOML read strictly, as plain data with the place of each part.

All three mean the same here: mappings with text for keys, lists, texts, finite numbers, true, false
and (but in TOML) null. What two readers could read in two ways is refused, with a message that
says where and what would be right. No text, however made, takes long or grows: at most 1 MiB is
read, at most 32 levels deep and 200,000 values, and nothing in it is ever expanded.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, NamedTuple

from headgate.errors import Problem, RulesError
from headgate.rules.documents import json, toml
from headgate.rules.documents.page import Found, Mark, Page, Path, admit

__all__ = ["Document", "Mark", "Path", "format_of", "read"]

FORMATS = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml"}


class Document(NamedTuple):
    """What a text says, and where: lines and columns count from 1.

    `values` has the place where each value begins and `keys` the place of the key of each entry,
    both by the path from the top, such as `("rules", 2, "limit")`.
    """

    data: Any
    values: dict[Path, Mark]
    keys: dict[Path, Mark]
    file: str

    def place(self, path: Path) -> Mark:
        """Where the value at `path` begins; if there is none, where what would hold it does."""
        return self.values.get(self._nearest(path), (1, 1))

    def key(self, path: Path) -> Mark:
        """Where the key of the value at `path` stands, or the value if it has no key.

        If there is no such value, it is the key of what would hold it.
        """
        nearest = self._nearest(path)
        return self.keys.get(nearest, self.values.get(nearest, (1, 1)))

    def _nearest(self, path: Path) -> Path:
        while path and path not in self.values:
            path = path[:-1]
        return path


def read(text: str | bytes, format: str, file: str = "") -> Document:  # noqa: A002 - what it is
    """Read `text` as `format`, which is "yaml", "json" or "toml"; an empty text is None.

    Raises `RulesError` at the first thing that is wrong; `file` is the name it says.
    """
    if format not in FORMATS.values():
        raise ValueError(f'format is "yaml", "json" or "toml", not {format!r}')
    return Document(*_found(admit(text, file), format), file)


def format_of(file: str) -> str:
    """The format that the name of a file tells by its end."""
    suffix = PurePath(file).suffix.lower()
    if suffix not in FORMATS:
        said = "the name tells no format; let it end in .yaml, .yml, .json or .toml"
        raise RulesError((Problem(said, (), file),))
    return FORMATS[suffix]


def _found(page: Page, form: str) -> Found:
    if form == "json":
        return json.read(page)
    if form == "toml":
        return toml.read(page)
    from headgate.rules.documents import yaml  # noqa: PLC0415 - only who writes YAML needs it

    return yaml.read(page)
