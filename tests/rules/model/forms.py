"""Rule files written from plain data, with the place of every part, by other means than ours."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

Path = tuple[str | int, ...]
Mark = tuple[int, int]
PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
# Words that are no texts where they stand without quotes.
TAKEN = {"true", "false", "null", "yes", "no", "on", "off"}


class Raw(str):
    """A scalar that is written as it is, such as a number no Python has."""

    __slots__ = ()


class Written(NamedTuple):
    """A text, and where each key and each value of it begins, from 1."""

    text: str
    keys: dict[Path, Mark]
    values: dict[Path, Mark]


class _Writer:
    def __init__(self) -> None:
        self.lines = [""]
        self.keys: dict[Path, Mark] = {}
        self.values: dict[Path, Mark] = {}

    @property
    def here(self) -> Mark:
        return len(self.lines), len(self.lines[-1]) + 1

    def put(self, text: str) -> None:
        self.lines[-1] += text

    def turn(self, indent: int) -> None:
        self.lines.append(" " * indent)

    def written(self) -> Written:
        return Written("\n".join([*self.lines, ""]), self.keys, self.values)


def yaml(data: Any, twice: Path | None = None) -> Written:
    """In YAML, in blocks; the entry at `twice` is there a second time, which is the place told."""
    writer = _Writer()
    _block(writer, data, (), 0, twice)
    return writer.written()


def _block(writer: _Writer, data: Any, path: Path, indent: int, twice: Path | None) -> None:
    writer.values[path] = writer.here
    if isinstance(data, Mapping) and data:
        entries = [*data.items()]
        entries += [(name, one) for name, one in entries if (*path, name) == twice]
        for number, (name, one) in enumerate(entries):
            if number:
                writer.turn(indent)
            writer.keys[*path, name] = writer.here
            plain = PLAIN.fullmatch(name) and name not in TAKEN
            writer.put(f"{name if plain else json.dumps(name)}:")
            _entry(writer, one, (*path, name), indent, twice)
    elif isinstance(data, (list, tuple)) and data:
        for number, one in enumerate(data):
            if number:
                writer.turn(indent)
            writer.put("- ")
            _block(writer, one, (*path, number), indent + 2, twice)
    else:
        writer.put(_scalar(data, ".nan"))


def _entry(writer: _Writer, data: Any, path: Path, indent: int, twice: Path | None) -> None:
    if isinstance(data, (Mapping, list, tuple)) and data:
        writer.turn(indent + 2)
        _block(writer, data, path, indent + 2, twice)
    else:
        writer.put(" ")
        _block(writer, data, path, indent, twice)


def as_json(data: Any) -> Written:
    """In JSON, an entry in a line."""
    writer = _Writer()
    _flow(writer, data, (), 0)
    return writer.written()


def _flow(writer: _Writer, data: Any, path: Path, indent: int) -> None:
    writer.values[path] = writer.here
    if isinstance(data, Mapping) and data:
        for number, (name, one) in enumerate(data.items()):
            writer.put("," if number else "{")
            writer.turn(indent + 2)
            writer.keys[*path, name] = writer.here
            writer.put(f"{json.dumps(name)}: ")
            _flow(writer, one, (*path, name), indent + 2)
        writer.put("}")
    elif isinstance(data, (list, tuple)) and data:
        for number, one in enumerate(data):
            writer.put(", " if number else "[")
            _flow(writer, one, (*path, number), indent)
        writer.put("]")
    else:
        writer.put(_scalar(data, "NaN"))


def toml(data: Mapping[str, Any]) -> str:
    """In TOML: rules are an array of tables, and all else stands in a line."""
    lines = [f"{name} = {_inline(one)}" for name, one in data.items() if name != "rules"]
    for rule in data.get("rules", ()):
        lines += ["[[rules]]", *(f"{name} = {_inline(one)}" for name, one in rule.items())]
    return "\n".join([*lines, ""])


def _inline(data: Any) -> str:
    if isinstance(data, Mapping):
        return (
            f"{{{', '.join(f'{json.dumps(name)} = {_inline(one)}' for name, one in data.items())}}}"
        )
    if isinstance(data, (list, tuple)):
        return f"[{', '.join(map(_inline, data))}]"
    return _scalar(data, "nan")


def _scalar(data: Any, nan: str) -> str:
    if isinstance(data, Raw):
        return str(data)
    if data != data:  # noqa: PLR0124 - so it is only with what is not a number
        return nan
    return json.dumps(data)
