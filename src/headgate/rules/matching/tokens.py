"""Tokens: an expression cut into words, signs, texts and numbers, each with its place."""

from __future__ import annotations

from string import ascii_letters, digits
from typing import NamedTuple

from headgate.rules.matching.comparison import Literal, number

LONGEST = 1000
SIGNS = ("==", "!=", "<=", ">=", "<", ">", "(", ")", "[", "]", ",")
MEANT = {"=": "==", "&": "and", "|": "or", "!": "not", "~": "like", "{": "[", "}": "]"}
WORD = f"{ascii_letters}{digits}_.-"
NUMBER = f"{digits}.-"


class Token(NamedTuple):
    """A piece of the text, where it begins, and what it means if it is a literal."""

    kind: str
    text: str
    place: int
    literal: Literal | None = None


def tokens(text: str) -> list[Token]:
    """The pieces of an expression, the last of which is its end."""
    if len(text) > LONGEST:
        raise wrong(text, LONGEST, f"{len(text):,} characters, too many", f"at most {LONGEST:,}")
    found = []
    place = 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        found.append(_token(text, place))
        place += len(found[-1].text)
    return [*found, Token("end", "", len(text))]


def _token(text: str, place: int) -> Token:
    first = text[place]
    if first in "\"'":
        return _quoted(text, place)
    if first in ascii_letters:
        return Token("word", _run(text, place, WORD), place)
    if first in NUMBER:
        spelled = _run(text, place, NUMBER)
        value = number(spelled)
        if value is None:
            raise wrong(text, place, f'"{spelled}" is no number', "try 1000 or 0.5")
        return Token("literal", spelled, place, value)
    for sign in SIGNS:
        if text.startswith(sign, place):
            return Token("sign", sign, place)
    if first in MEANT:
        raise wrong(text, place, f"expected {MEANT[first]}", f"{first} means nothing here")
    raise wrong(text, place, f'unexpected "{first}"', "a text stands in quotes")


def _run(text: str, place: int, alphabet: str) -> str:
    rest = text[place:]
    return rest[: len(rest) - len(rest.lstrip(alphabet))]


def _quoted(text: str, place: int) -> Token:
    value = ""
    at = place + 1
    while at < len(text):
        if text[at] == text[place]:
            return Token("literal", text[place : at + 1], place, value)
        if text[at] == "\\":
            at += 1
            if text[at : at + 1] not in {'"', "'", "\\"}:
                hint = "it stands before a quote or another one"
                raise wrong(text, at - 1, "a backslash alone", hint)
        value += text[at]
        at += 1
    raise wrong(text, place, "a text that does not end", f"close it with {text[place]}")


def wrong(text: str, place: int, problem: str, hint: str) -> ValueError:
    """The error for an expression; columns count from 1, as editors do."""
    shown = text if len(text) <= 100 else f"{text[:40]}..."
    message = f'when: "{shown}": {problem} at column {place + 1}; {hint}'
    # The text may come from anywhere: no control character of it may reach a terminal or a log.
    safe = message if message.isprintable() else message.encode("unicode_escape").decode("ascii")
    return ValueError(safe)
