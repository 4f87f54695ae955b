"""Forwarded: the nodes that a forwarding header names, from the right, where our own proxies write.

What stands to the left was written by those before them, in the end by anybody. So nothing there
may change how the right is read: not a quote that is never closed, nor what is no address. Hence
the reading goes from right to left, and no further than it is asked to.

`X-Forwarded-For` is addresses between commas; `Forwarded` is RFC 7239's elements between commas,
each of pairs such as `for="[2001:db8::1]:443"`; any other header is one value, and no list.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

LONGEST = 4096
MOST = 32
BLANKS = " \t"
# A node that is no address and is not meant to be; GARBAGE is one that means nothing.
UNKNOWN = "unknown"
GARBAGE = ""

SCHEMES = frozenset({"http", "https"})
BLANK = frozenset(BLANKS)
BETWEEN = frozenset(" \t;")
ONLY_IN_QUOTES = frozenset(' \t"\\')
# What the name of a header or of a parameter is made of, in RFC 9110.
TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def excess(text: str) -> str:
    """What a header has too much of, `too_long` or `too_many`; nothing if it may be read.

    A comma counts wherever it stands, in quotes too.
    """
    if len(text) > LONGEST:
        return "too_long"
    return "too_many" if text.count(",") >= MOST else ""


def unwind(header: str, text: str) -> Iterator[str]:
    """The nodes of a header, the last one first: addresses, `unknown`, or `""` for garbage.

    `text` is all its lines with a comma between them. Each node costs as much as it is long.
    """
    if header == "forwarded":
        return _elements(text)
    if header == "x-forwarded-for":
        return _entries(text)
    return iter((GARBAGE if "," in text else text.strip(BLANKS),))


def protocol(text: str, place: int) -> str:
    """What `Forwarded` says of `proto` at a place from the right: http, https or nothing."""
    element = next(islice(_pieces(text), place - 1, None), "")
    _, proto = _said(element)
    return proto if proto in SCHEMES else ""


def _entries(text: str) -> Iterator[str]:
    end = len(text)
    while end >= 0:
        comma = text.rfind(",", 0, end)
        yield text[comma + 1 : end].strip(BLANKS)
        end = comma


def _elements(text: str) -> Iterator[str]:
    return (_said(element)[0] for element in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    end = len(text)
    while end >= 0:
        comma = _comma(text, end)
        yield text[comma + 1 : end]
        end = comma


def _comma(text: str, end: int) -> int:
    """Where the comma before the last element is, -1 if there is none.

    Quotes are taken in pairs, from the right. Where an element is well formed these are its own
    pairs; where it is not, `_said` finds it to be garbage, wherever it was cut.
    """
    comma = text.rfind(",", 0, end)
    while True:
        closing = text.rfind('"', comma + 1, end)
        if closing < 0:
            return comma
        end = text.rfind('"', 0, closing)
        # What opens a pair comes after an equals sign, and what is within it after a backslash.
        while end > 0 and text[end - 1] == "\\":
            end = text.rfind('"', 0, end)
        if end < 0:
            return -1
        if end < comma:
            # That comma was in quotes.
            comma = text.rfind(",", 0, end)


def _said(element: str) -> tuple[str, str]:
    """Whom an element is `for`, unknown if it does not say, garbage if it is none; its `proto`."""
    element = element.strip(BLANKS)
    said: dict[str, str] = {}
    place = 0
    while True:
        while element[place : place + 1] in BETWEEN:
            place += 1
        if place == len(element):
            break
        name, value, place = _pair(element, place)
        if not name or name in said:
            return GARBAGE, ""
        said[name] = value
    return said.get("for", UNKNOWN if element else GARBAGE), said.get("proto", "").lower()


def _pair(element: str, place: int) -> tuple[str, str, int]:
    """The name, the value and where it ends; no name if it is malformed.

    Colons and brackets are let pass without quotes, as many a proxy writes them.
    """
    equals = element.find("=", place)
    name = element[place:equals].lower()
    if equals < 0 or not TOKEN.issuperset(name):
        return "", "", place
    if element.startswith('"', equals + 1):
        value, place = _quoted(element, equals + 2)
        while element[place : place + 1] in BLANK:
            place += 1
        ended = place == len(element) or element.startswith(";", place)
        return (name if ended else ""), value, place
    place = element.find(";", equals)
    place = len(element) if place < 0 else place
    value = element[equals + 1 : place].rstrip(BLANKS)
    return (name if ONLY_IN_QUOTES.isdisjoint(value) else ""), value, place


def _quoted(element: str, place: int) -> tuple[str, int]:
    """What is in quotes, and where they have ended: beyond the element if they do not."""
    closing = element.find('"', place)
    if closing >= 0 and element.find("\\", place, closing) < 0:
        return element[place:closing], closing + 1
    said = []
    while place < len(element) and element[place] != '"':
        if element[place] == "\\":
            place += 1
        said.append(element[place : place + 1])
        place += 1
    return "".join(said), min(place, len(element)) + 1
