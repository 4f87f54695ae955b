"""TOML with places: `tomllib` says what it means, and a walk of its own finds where it stands.

The walk goes first and is bounded, so that `tomllib`, which is not, meets nothing that is nested
too deep or too long. It believes that the text is TOML; where that is not so it loses its way and
ends, and as `tomllib` comes no further than that, it is the one to say why.
"""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress

from headgate.errors import RulesError
from headgate.rules.documents.page import (
    DEEPEST,
    HALF,
    MOST_VALUES,
    Found,
    Mark,
    Marks,
    Page,
    Path,
)

BLANK = re.compile(r"[ \t]*+")
GAP = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
END = re.compile(r"[ \t]*+(?:#[^\r\n]*+)?(?:\r?\n|\Z)")
BASIC = r'(?!""")"(?:[^"\\\n]++|\\[^\n])*+"'
LITERAL = r"(?!''')'[^'\n]*+'"
# A long string may end in two quotes of its own before the three that close it.
LONG_BASIC = r'"""(?:[^"\\]++|\\[\s\S]|"{1,2}(?!"))*+"{3,5}'
LONG_LITERAL = r"'''(?:[^']++|'{1,2}(?!'))*+'{3,5}"
STRING = re.compile(f"{LONG_BASIC}|{LONG_LITERAL}|{BASIC}|{LITERAL}")
PART = re.compile(f"[A-Za-z0-9_-]++|{BASIC}|{LITERAL}")
WORD = re.compile(r"[^\s,\[\]{}\"'#=]++")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}|[0-9]{2}:[0-9]{2}")
NUMBER = re.compile(
    r"[-+]?[0-9][0-9_]*+(?:\.[0-9_]++)?(?:[eE][-+]?[0-9_]++)?"
    r"|0x[0-9a-fA-F_]++|0o[0-7_]++|0b[01_]++"
)
ENDLESS = re.compile(r"[-+]?(?:inf|nan)")
PLACE = re.compile(r"(.*) \(at (?:line ([0-9]+), column ([0-9]+)|end of document)\)", re.DOTALL)
UNCLOSED = "this text is never closed; end it with the quotes it begins with"
ESCAPE = "this is no escape; write \\\\ for a backslash, or use single quotes"
KEY = "no key stands here; it is of letters, digits, - and _, or in quotes"
# The walk is lost where a text that is never closed begins.
SAID = (
    ("Expected '=' after a key", "here", '"=" and a value are missing after the key'),
    ("Expected ']'", "here", 'a "]" is missing after the name of the table'),
    ("Expected ']]'", "here", 'a "]]" is missing after the name of the table'),
    (
        "Expected newline",
        "here",
        "something follows the value; begin a new line, or put the text in quotes",
    ),
    ("Expected \"'|Unterminated string", "start", UNCLOSED),
    (r"Illegal character '\\n'", "start", UNCLOSED),
    (
        "Illegal|invalid character",
        "here",
        "this character cannot stand here; take it out, or write an escape",
    ),
    ("Unescaped", "escape", ESCAPE),
    ("Invalid hex value", "escape", "this escape lacks digits; write four, as in \\u00e9"),
    ("Escaped character", "escape", HALF),
    ("Invalid value", "here", "no value stands here; put a text in double quotes"),
    ("Invalid (statement|initial)", "here", KEY),
    ("Unclosed array", "here", 'a "," or "]" is missing'),
    ("Unclosed inline table", "here", 'a "," or "}" is missing'),
    (
        "Cannot (declare|overwrite|mutate|redefine)",
        "here",
        "this table or value is complete, above; write all of it in one place",
    ),
)


def read(page: Page) -> Found:
    """The data of a TOML text, with its places."""
    walk = _Walk(page)
    with suppress(_Lost):
        walk.document()
    try:
        data = tomllib.loads(page.text)
    except tomllib.TOMLDecodeError as error:
        raise _explain(page, str(error), walk.place) from None
    return data or None, walk.values, walk.keys


class _Lost(Exception):
    """The text is no TOML from here on."""


class _Walk:
    """Goes through the text once and notes the place of each table, key and value."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.values: Marks = {(): (1, 1)}
        self.keys: Marks = {}
        self.place = 0
        self._table: Path = ()
        self._tables: set[Path] = set()
        self._settled: set[Path] = set()
        self._sizes: dict[Path, int] = {}

    def document(self) -> None:
        while self._ahead():
            if self._ahead() == "[":
                self._header()
            else:
                self._entry(self._table)
            self._take(END)

    def _header(self) -> None:
        """Take `[name]` or `[[name]]`; the entries below it are its own."""
        begun = self._mark()
        width = 2 if self.page.text.startswith("[[", self.place) else 1
        self._pass("[" * width)
        *above, (name, mark) = self._key()
        self._pass("]" * width)
        path: Path = ()
        for part, where in above:
            path = self._nest((*path, part), where, begun)
        path = (*path, name)
        if path in self._tables:
            raise self.page.twice(name, mark, self.keys[path])
        if width == 2:
            self._sizes[path] = self._sizes.get(path, 0) + 1
        else:
            self._tables.add(path)
        self._table = self._nest(path, mark, begun)

    def _entry(self, table: Path) -> None:
        """Take a key, dotted or not, and its value."""
        *above, (name, mark) = self._key()
        path = table
        for part, where in above:
            path = self._nest((*path, part), where, where)
        path = (*path, name)
        if path in self.values:
            raise self.page.twice(name, mark, self.keys[path])
        self.keys[path] = mark
        self._settled.add(path)
        self._pass("=")
        self._take(BLANK)
        self._value(path)

    def _key(self) -> list[tuple[str, Mark]]:
        """Take the parts of a key, each with its place."""
        parts: list[tuple[str, Mark]] = []
        dotted = True
        while dotted:
            self._take(BLANK)
            mark = self._mark()
            if len(parts) == DEEPEST:
                raise self.page.deep(mark)
            parts.append((_name(self._take(PART)), mark))
            self._take(BLANK)
            dotted = self._skip(".")
        return parts

    def _nest(self, path: Path, mark: Mark, begun: Mark) -> Path:
        """Go into the table at `path`, or into the last one if there are several."""
        if path in self._settled:
            raise self.page.twice(str(path[-1]), mark, self.keys[path])
        self.keys.setdefault(path, mark)
        self._note(path, begun)
        if path in self._sizes:
            path = (*path, self._sizes[path] - 1)
            self._note(path, begun)
        self._descend(path, mark)
        return path

    def _value(self, path: Path) -> None:
        mark = self._mark()
        self._note(path, mark)
        character = self._ahead()
        if character == "[":
            self._descend(path, mark)
            self._array(path)
        elif character == "{":
            self._descend(path, mark)
            self._inline(path)
        elif character in {'"', "'"}:
            self._take(STRING)
        else:
            self._judge(self._take(WORD), mark)

    def _array(self, path: Path) -> None:
        self._pass("[")
        size = 0
        while self._ahead() != "]":
            self._value((*path, size))
            size += 1
            if self._ahead() != "]":
                self._pass(",")
        self._pass("]")

    def _inline(self, path: Path) -> None:
        self._pass("{")
        while self._ahead() != "}":
            self._entry(path)
            if self._ahead() != "}":
                self._pass(",")
        self._pass("}")

    def _judge(self, word: str, mark: Mark) -> None:
        """Refuse what TOML knows and the other formats do not, and numbers that are too long."""
        if DATE.match(word):
            raise self.page.wrong("a date or time is not read here; put it in quotes", mark)
        if ENDLESS.fullmatch(word):
            raise self.page.endless(word, mark)
        if NUMBER.fullmatch(word):
            self.page.number(word.replace("_", ""), mark)

    def _note(self, path: Path, mark: Mark) -> None:
        self.values.setdefault(path, mark)
        if len(self.values) > MOST_VALUES:
            raise self.page.many(mark)

    def _descend(self, path: Path, mark: Mark) -> None:
        if len(path) >= DEEPEST:
            raise self.page.deep(mark)

    def _ahead(self) -> str:
        """The next character that is neither blank nor in a comment; none at the end."""
        self._take(GAP)
        return self.page.text[self.place : self.place + 1]

    def _pass(self, expected: str) -> None:
        if not self._skip(expected):
            raise _Lost

    def _skip(self, expected: str) -> bool:
        found = self.page.text.startswith(expected, self.place)
        self.place += len(expected) if found else 0
        return found

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.page.text, self.place)
        if not found:
            raise _Lost
        self.place = found.end()
        return found[0]

    def _mark(self) -> Mark:
        return self.page.mark(self.place)


def _name(part: str) -> str:
    """What a part of a key says, out of its quotes."""
    if part[0] not in "\"'":
        return part
    if "\\" not in part or part[0] == "'":
        return part[1:-1]
    try:
        return str(tomllib.loads(f"name = {part}")["name"])
    except tomllib.TOMLDecodeError:
        raise _Lost from None


def _explain(page: Page, error: str, lost: int) -> RulesError:
    """What `tomllib` found wrong, in the words of the house."""
    found = PLACE.fullmatch(error)
    problem, line, column = found.groups() if found else (error, None, None)
    place = len(page.text)
    if line and column:
        place = page.lines[int(line) - 1] + int(column) - 1
    return page.explain(SAID, problem, place, lost)
