"""Conformance cases: tables that say what limits answer, for people and for machines.

    # A request larger than what is left is refused, and says when to come back.
    # TokenBucket("10/s burst 3")
    at      cost   allowed  remaining  retry   reset
    0ms     2      yes      1          -       200ms
    0ms     2      no       1          100ms   200ms
    100ms   2      yes      0          -       300ms
    50ms    1      no       0          150ms   350ms     # the clock went back; nothing is granted

Above a table stand comments: what it shows, and in the last one the limits as one would type
them, several joined by commas. Then come the names of the columns, and a row for each act. A
table ends at an empty line; what follows a `#` in a row is a remark.

    at         when: a duration since 1970 (90s, 1.5h, 1min12s), a time of its first day
               (11:00:45, 11:00:59.999999), or a date and time in UTC (2026-03-29T01:59:59)
    do         take (where the column is missing), peek, reserve, cancel, debit, refund or reset
    key        whose state; one nameless key where the column is missing
    cost       units asked for, spent or given back
    within     how long a reserve would wait; - is as long as it takes
    due        for a cancel: when what was reserved would have come due; - otherwise
    allowed    yes or no
    remaining  units left
    retry      when to come back or, reserved, when to act; - is at once, inf is never
    reset      when the key is as new; - is now
    rule       the name of the limit that refused, or of the tightest; unchecked where missing

A row of `reset` has - in every column of the answer, for it answers nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import NamedTuple

from headgate.algorithms.fixed_window import FixedWindow
from headgate.algorithms.gcra import GCRA
from headgate.algorithms.leaky_bucket import LeakyBucket
from headgate.algorithms.limit import Limit
from headgate.algorithms.sliding_log import SlidingLog
from headgate.algorithms.sliding_window import SlidingWindow
from headgate.algorithms.token_bucket import TokenBucket
from headgate.algorithms.warm_up import WarmUp
from headgate.rate import UNITS

# A moment that never comes, in microseconds: what `inf` in a table reads as.
NEVER = -1
KINDS = {
    kind.__name__: kind
    for kind in (
        TokenBucket,
        GCRA,
        LeakyBucket,
        FixedWindow,
        SlidingWindow,
        SlidingLog,
        WarmUp,
    )
}
VERBS = ("take", "peek", "reserve", "cancel", "debit", "refund", "reset")
COLUMNS = (
    "at",
    "do",
    "key",
    "cost",
    "within",
    "due",
    "allowed",
    "remaining",
    "retry",
    "reset",
    "rule",
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Answer(NamedTuple):
    """What is expected or was answered; microseconds, with `retry` NEVER where it never fits."""

    allowed: bool
    remaining: int
    retry: int
    reset: int
    rule: str | None = None


class Row(NamedTuple):
    """One act of a case; times in microseconds, `within` and `due` NEVER where unbounded."""

    place: str
    at: int
    do: str
    key: str
    cost: int
    within: int
    due: int
    answer: Answer | None


class Case(NamedTuple):
    """One table: what it shows, the limits it is about, and what happens."""

    place: str
    title: str
    limits: tuple[Limit, ...]
    rows: tuple[Row, ...]


class CaseError(ValueError):
    """A table is not written as the format wants it; says where and what would be right."""


def cases() -> list[Case]:
    """Every case that ships with Headgate, algorithm by algorithm."""
    folder = resources.files("headgate.testing") / "cases"
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    return [
        case
        for file in files
        if file.name.endswith(".txt")
        for case in parse(file.read_text("utf-8"), file.name)
    ]


def parse(text: str, name: str = "cases") -> list[Case]:
    """The cases in `text`; `name` is what errors call it."""
    lines = [(f"{name}:{number}", line) for number, line in enumerate(text.splitlines(), 1)]
    return [case(paragraph) for paragraph in paragraphs(lines) if not prose(paragraph)]


def paragraphs(lines: list[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """The lines between empty lines."""
    paragraph: list[tuple[str, str]] = []
    for line in [*lines, ("", "")]:
        if line[1].strip():
            paragraph.append(line)
        elif paragraph:
            yield paragraph
            paragraph = []


def prose(paragraph: list[tuple[str, str]]) -> bool:
    """Whether a paragraph has no table: it introduces those that follow."""
    return all(line.startswith("#") for _, line in paragraph)


def case(paragraph: list[tuple[str, str]]) -> Case:
    """The case that a paragraph spells."""
    comments = [(place, line[1:].strip()) for place, line in paragraph if line.startswith("#")]
    place, header = paragraph[len(comments)]
    if len(comments) < 2:
        raise CaseError(f"{place}: say above the table what it shows, then its limits")
    columns = header.split()
    unknown = [word for word in columns if word not in COLUMNS]
    if unknown:
        raise CaseError(f'{place}: unknown column "{unknown[0]}"; there are {", ".join(COLUMNS)}')
    rows = tuple(row(where, columns, line) for where, line in paragraph[len(comments) + 1 :])
    title = " ".join(words for _, words in comments[:-1])
    return Case(place, title, limits(*comments[-1]), rows)


def limits(place: str, spelling: str) -> tuple[Limit, ...]:
    """The limits that a line types, read and not run."""
    try:
        tree = ast.parse(spelling, mode="eval").body
        calls = tree.elts if isinstance(tree, ast.Tuple) else [tree]
        return tuple(build(call) for call in calls)
    except (SyntaxError, KeyError, TypeError, ValueError) as problem:
        known = ", ".join(KINDS)
        raise CaseError(
            f"{place}: {spelling!r} is no limit ({problem}); type one or more of {known}"
        ) from problem


def build(call: ast.expr) -> Limit:
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise TypeError("not a call")
    arguments = [ast.literal_eval(argument) for argument in call.args]
    options = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    return KINDS[call.func.id](*arguments, **options)


def row(place: str, columns: list[str], line: str) -> Row:
    """The act that a line of a table spells."""
    words = line.partition("#")[0].split()
    if len(words) != len(columns):
        raise CaseError(
            f"{place}: {len(words)} words in {len(columns)} columns ({' '.join(columns)})"
        )
    said = dict(zip(columns, words, strict=True))
    do = said.get("do", "take")
    if do not in VERBS:
        raise CaseError(f'{place}: unknown act "{do}"; there are {", ".join(VERBS)}')
    try:
        return Row(
            place,
            moment(said["at"]),
            do,
            said.get("key", ""),
            0 if do == "reset" else int(said["cost"]),
            never(said.get("within", "-")),
            NEVER if said.get("due", "-") == "-" else moment(said["due"]),
            None if do == "reset" else answer(said),
        )
    except (KeyError, ValueError) as problem:
        raise CaseError(f"{place}: cannot read this row ({problem})") from None


def answer(said: dict[str, str]) -> Answer:
    if said["allowed"] not in ("yes", "no"):
        raise ValueError(f'allowed is yes or no, not "{said["allowed"]}"')
    # A name may have blanks, and words may not: they are joined by underscores.
    rule = said["rule"].replace("_", " ") if "rule" in said else None
    return Answer(
        said["allowed"] == "yes",
        int(said["remaining"]),
        NEVER if said["retry"] == "inf" else duration(said["retry"]),
        duration(said["reset"]),
        rule,
    )


def never(word: str) -> int:
    return NEVER if word == "-" else duration(word)


def moment(word: str) -> int:
    """Microseconds since 1970 of a duration, a time of day or a date and time."""
    if "T" in word:
        return (datetime.fromisoformat(word).replace(tzinfo=UTC) - EPOCH) // timedelta(
            microseconds=1
        )
    if ":" in word:
        return moment(f"1970-01-01T{word}")
    return duration(word)


def duration(word: str) -> int:
    """Microseconds of `90s`, `1.5h` or `1min12s`; `-` is none."""
    if word == "-":
        return 0
    pieces = re.findall(r"([0-9.]+)([a-z]+)", word)
    if "".join(number + unit for number, unit in pieces) != word:
        raise ValueError(f'"{word}" is no duration; try 90s, 250ms or 1min12s')
    total = 0
    for number, unit in pieces:
        whole, _, part = number.partition(".")
        total += int(whole + part) * UNITS[unit] // 10 ** len(part)
    return total
