"""Trouble: problems as people read them, each with its line of the file and a mark under it.

A line of a rule file may hold a password, and anything else that a terminal would obey: neither is
shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from headgate.errors import Problem, spelled

# As much of a line as is shown around the place.
WIDTH = 100
SECRET = re.compile(r"([a-z+]+://)(?:(?!://).)*@")
OPTIONS = re.compile(r"((?:redis|valkey|unix|headgate)[a-z+]*://[^\s\"'?]*\?)[^\s\"']*")
# What stands after the name of a secret, in any of the three forms, also where it is a list.
HIDDEN = ("token", "secret", "keys")
# What follows the host of a webhook is one, too.
HOOK = re.compile(r"(https?://[^\s/\"'?,}\]]+[/?])[^\s\"',}\]]+")
HOOKED = re.compile(r"\b(webhook|url)\b")
ONE = r"""(?:"(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s"',}\]]+)"""
TOKEN = re.compile(rf"""(\b(?:{"|".join(HIDDEN)})["']?\s*[:=]\s*)(?:\[[^\]]*\]?|{ONE})""")


def lines(file: str, problems: tuple[Problem, ...]) -> Iterator[str]:
    """What to say, line by line."""
    sources: dict[str, list[str]] = {}
    for problem in problems:
        yield masked(f"{'warning: ' if problem.warning else ''}{problem}")
        # It may be wrong with a file that the rules name.
        place = problem.file or file
        source = sources[place] = sources.get(place) or text(place)
        if 0 < problem.line <= len(source):
            line = source[problem.line - 1]
            # A secret may stand on a line by itself.
            alone = any(word in problem.path for word in (*HIDDEN, "webhook"))
            if not alone or TOKEN.search(line) or HOOKED.search(line):
                yield from pointed(line, problem.column)


def plainly(problem: Problem) -> dict[str, Any]:
    """A problem as plain data."""
    return {
        "message": masked(problem.message),
        "file": problem.file,
        "path": spelled(problem.path),
        "line": problem.line,
        "column": problem.column,
    }


def text(file: str) -> list[str]:
    """The lines of the file, as far as it can be read."""
    try:
        with open(file, encoding="utf-8-sig", errors="replace", newline="") as opened:
            return re.split(r"\r\n|\r|\n", opened.read(1 << 20))
    except (OSError, ValueError):
        return []


def pointed(line: str, column: int) -> Iterator[str]:
    """The line, and a caret under the column; of a long line only what is around it."""
    plain, before = harmless(hushed(line)), harmless(hushed(line[: column - 1]))
    # What was masked may have begun before the place and ended after it.
    sure = plain.startswith(before)
    start = max(0, len(before) - WIDTH * 3 // 4) if sure else 0
    begun = "..." if start else ""
    yield f"  {begun}{plain[start : start + WIDTH]}".rstrip()
    if sure:
        yield f"  {' ' * (len(begun) + len(before) - start)}^"


def masked(line: str) -> str:
    """The line without what nobody else may know."""
    return OPTIONS.sub(r"\1***", SECRET.sub(r"\1***@", line))


def hushed(line: str) -> str:
    """A line of the file without that, and without secrets, which a message never tells."""
    plain = HOOK.sub(r"\1***", line) if HOOKED.search(line) else line
    return TOKEN.sub(r"\1***", masked(plain))


def harmless(line: str) -> str:
    """The line with nothing in it that moves a cursor."""
    return "".join(one if one.isprintable() else " " if one == "\t" else "?" for one in line)
