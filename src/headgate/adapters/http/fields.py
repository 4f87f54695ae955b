"""Structured fields, RFC 9651: as much of them as the fields about quotas are made of.

Written are strings, integers and byte sequences. Read are lists and dictionaries of items with
parameters, and strictly: what breaks a rule anywhere is no field at all, and raises `ValueError`.
An inner list breaks one too, for none of the fields that are read here has any.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar
from urllib.parse import unquote_to_bytes

T = TypeVar("T")

# An integer has at most 15 digits.
MOST = 999_999_999_999_999


def string(text: str) -> str:
    """A text in quotes; `ValueError` unless all of it is printable ASCII."""
    if not (text.isascii() and text.isprintable()):
        raise ValueError(f"a header takes printable ASCII only, not {text!a}")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def integer(value: int) -> str:
    """A number in digits, brought to the nearest that has at most 15 of them."""
    return str(min(max(value, -MOST), MOST))


def sequence(value: bytes) -> str:
    """Bytes in base64, between colons."""
    return f":{base64.b64encode(value).decode('ascii')}:"


class Foreign(str):
    """A value of a type that no quota has: a token, decimal, boolean, date or display string."""

    __slots__ = ()


Value = int | str | bytes | Foreign


class Item(NamedTuple):
    """A value and its parameters; of those given twice, the last counts."""

    value: Value
    parameters: dict[str, Value]


def items(text: str) -> tuple[Item, ...]:
    """The items of a list."""
    return tuple(pieces(text, item))


def entries(text: str) -> dict[str, Item]:
    """The items of a dictionary, by their keys; of those given twice, the last counts."""
    return dict(pieces(text, entry))


def pieces(text: str, read: Callable[[str, int], tuple[T, int]]) -> list[T]:
    """What `read` finds between the commas: at a place of the text, a piece and where it ends."""
    text = text.strip(" ")
    found = []
    place = 0
    while text:
        piece, place = read(text, place)
        found.append(piece)
        place = skip(text, place, " \t")
        if place == len(text):
            break
        if text[place] != ",":
            raise ValueError(f"expected a comma at {place} of {text[:100]!a}")
        place = skip(text, place + 1, " \t")
    return found


def entry(text: str, place: int) -> tuple[tuple[str, Item], int]:
    key, place = word(text, place)
    if text.startswith("=", place):
        found, place = item(text, place + 1)
        return (key, found), place
    parameters, place = parameters_of(text, place)
    return (key, Item(TRUE, parameters)), place


def item(text: str, place: int) -> tuple[Item, int]:
    value, place = bare(text, place)
    parameters, place = parameters_of(text, place)
    return Item(value, parameters), place


def parameters_of(text: str, place: int) -> tuple[dict[str, Value], int]:
    found: dict[str, Value] = {}
    while text.startswith(";", place):
        key, place = word(text, skip(text, place + 1, " "))
        found[key] = TRUE
        if text.startswith("=", place):
            found[key], place = bare(text, place + 1)
    return found, place


def skip(text: str, place: int, blanks: str) -> int:
    while place < len(text) and text[place] in blanks:
        place += 1
    return place


def word(text: str, place: int) -> tuple[str, int]:
    match = KEY.match(text, place)
    if match is None:
        raise ValueError(f"expected a key at {place} of {text[:100]!a}")
    return match[0], match.end()


def bare(text: str, place: int) -> tuple[Value, int]:
    match = BARE.match(text, place)
    if match is None:
        raise ValueError(f"expected a value at {place} of {text[:100]!a}")
    return READERS.get(match.lastgroup or "", Foreign)(match[match.lastindex or 0]), match.end()


def plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def decoded(text: str) -> bytes:
    # Padding may be missing, as the RFC has it.
    whole = text + "=" * (-len(text) % 4)
    return base64.b64decode(whole, validate=True)


def displayed(text: str) -> Foreign:
    return Foreign(unquote_to_bytes(text).decode("utf-8"))


TRUE = Foreign("?1")
READERS: dict[str, Callable[[str], Value]] = {
    "integer": int,
    "string": plain,
    "bytes": decoded,
    "display": displayed,
}
# What a number is too long for is left over, and nothing that may follow an item begins like it.
BARE = re.compile(
    r"""
      (-?[0-9]{1,12}\.[0-9]{1,3})
    | (?P<integer>-?[0-9]{1,15})
    | "(?P<string>(?:[ !#-\[\]-~]|\\["\\])*+)"
    | ([A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*+)
    | :(?P<bytes>[A-Za-z0-9+/=]*+):
    | (\?[01])
    | (@-?[0-9]{1,15})
    | %"(?P<display>(?:[ !#$&-~]|%[0-9a-f]{2})*+)"
    """,
    re.VERBOSE,
)
KEY = re.compile(r"[a-z*][a-z0-9_.*-]*+")
