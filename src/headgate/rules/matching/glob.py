"""Glob: a pattern for a whole text. `*` is any run of characters, also none, and `?` is one.

No pattern can be made to take long. What stands between two stars is looked for from left to right,
and the first place is the right one: a later place leaves less for the pieces that follow. So no
step is taken back, and the time grows with the text, not with the ways to cut it. That is why texts
of any length are compared in full: a bound would let whoever pads a header step out of a rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

LONGEST = 1000
Matcher = Callable[[str], bool]
# Where a piece ends that is looked for between two places of a text; -1 if it is not there.
Finder = Callable[[str, int, int], int]


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern such as `*.example.com`; `matches(text)` says whether it fits the whole text."""

    pattern: str
    matches: Matcher = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        length = len(self.pattern)
        if length > LONGEST:
            raise ValueError(f"a pattern has at most {LONGEST:,} characters, not {length:,}")
        object.__setattr__(self, "matches", matcher(self.pattern))

    def __str__(self) -> str:
        return self.pattern

    def __reduce__(self) -> tuple[type[Glob], tuple[str]]:
        return Glob, (self.pattern,)


def wild(pattern: str) -> bool:
    """Whether it stands for more than itself."""
    return "*" in pattern or "?" in pattern


def matcher(pattern: str) -> Matcher:
    """What compares a text with the pattern."""
    head, *middle = pattern.split("*")
    if not middle:
        return fixed(head)
    tail = middle.pop()
    if "?" in pattern or any(middle):
        return pieced(head, [finder(piece) for piece in middle if piece], tail)
    least = len(head) + len(tail)
    return lambda text: len(text) >= least and text.startswith(head) and text.endswith(tail)


def fixed(piece: str) -> Matcher:
    """Compares character by character; only a text of the same length can be alike."""
    if "?" not in piece:
        return lambda text: text == piece
    length = len(piece)
    marks = [(place, mark) for place, mark in enumerate(piece) if mark != "?"]
    return lambda text: len(text) == length and all(text[place] == mark for place, mark in marks)


def pieced(head: str, finders: list[Finder], tail: str) -> Matcher:
    """Compares both ends, then looks for each piece where the one before it ended."""
    begins, ends = fixed(head), fixed(tail)
    start, least = len(head), len(head) + len(tail)

    def matches(text: str) -> bool:
        stop = len(text) - len(tail)
        if len(text) < least or not begins(text[:start]) or not ends(text[stop:]):
            return False
        place = start
        for find in finders:
            place = find(text, place, stop)
            if place < 0:
                return False
        return True

    return matches


def finder(piece: str) -> Finder:
    """What looks for the first place of a piece."""
    length = len(piece)
    if "?" in piece:
        return scanner(piece)

    def find(text: str, start: int, stop: int) -> int:
        place = text.find(piece, start, stop)
        return place + length if place >= 0 else -1

    return find


def scanner(piece: str) -> Finder:
    """Looks for a piece with `?` in it, one step for each character of the text.

    A bit for each length of a beginning: it is set while the piece may have begun so long ago. A
    character keeps those that it continues.
    """
    whole = 1 << (len(piece) - 1)
    anything = sum(1 << place for place, mark in enumerate(piece) if mark == "?")
    continued = dict.fromkeys(piece, anything)
    for place, mark in enumerate(piece):
        continued[mark] |= 1 << place

    def find(text: str, start: int, stop: int) -> int:
        begun = 0
        for place in range(start, stop):
            begun = (begun << 1 | 1) & continued.get(text[place], anything)
            if begun & whole:
                return place + 1
        return -1

    return find
