"""JSON with places: the standard library reads the strings, and all around them is read here.

Nothing is read that RFC 8259 does not allow, nor what it leaves to the reader: no key twice, no
number that is not finite, no half of a character.
"""

from __future__ import annotations

import json
import re

from headgate.errors import RulesError
from headgate.rules.documents.page import Found, Mark, Page, quoted
from headgate.rules.documents.tree import Tree

BLANK = re.compile(r"[ \t\r\n]*+")
WORD = re.compile(r"[^\s,:\[\]{}\"]*+")
NUMBER = re.compile(r"-?[0-9]++(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?")
WORDS = {"true": True, "false": False, "null": None}
STRANGERS = {"nan", "infinity", "-infinity", "+infinity", "inf", "-inf", "+inf"}
COMMENTS = ("//", "/*", "#")
DECODER = json.JSONDecoder()
# What the standard library says of a string.
SAID = (
    ("Unterminated", "start", "this text is never closed; end it with a double quote"),
    (
        "control character",
        "here",
        "a text cannot hold this character as it is; write an escape such as \\n",
    ),
    ("uXXXX", "escape", "this escape lacks digits; write four, as in \\u00e9"),
    ("escape", "escape", "this is no escape; write \\\\ for a backslash"),
)


def read(page: Page) -> Found:
    """The data of a JSON text, with its places."""
    scanner = _Scanner(page)
    if scanner.ahead():
        scanner.value()
    if scanner.ahead():
        raise scanner.wrong(f"{scanner.next()} follows the end; a file holds one value")
    return scanner.tree.found()


class _Scanner:
    """Goes through the text once, from left to right, and tells the tree what it meets."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.tree = Tree(page)
        self._place = 0

    def ahead(self) -> str:
        """The next character that is no blank; none at the end."""
        blank = BLANK.match(self.page.text, self._place)
        self._place = blank.end() if blank else self._place
        if self.page.text.startswith(COMMENTS, self._place):
            raise self.wrong("JSON has no comments; take it out, or write YAML or TOML")
        return self.page.text[self._place : self._place + 1]

    def next(self) -> str:
        """What comes next, as a message calls it."""
        return quoted(self._word() or self.page.text[self._place]) if self.ahead() else "the end"

    def value(self) -> None:
        """Take any value."""
        character = self.ahead()
        if character == "{":
            self._mapping()
        elif character == "[":
            self._list()
        elif character == '"':
            mark = self._mark()
            self.tree.put(self._string(), mark)
        else:
            self._scalar()

    def wrong(self, message: str) -> RulesError:
        return self.page.wrong(message, self._mark())

    def _mapping(self) -> None:
        begun = self._mark()
        self.tree.open({}, begun)
        going = self._enter("}")
        while going:
            if self.ahead() != '"':
                raise self._missing("a key in double quotes", begun)
            mark = self._mark()
            self.tree.key(self._string(), mark)
            if self.ahead() != ":":
                raise self._missing('":" after the key', begun)
            self._place += 1
            self.value()
            going = self._more("}", begun)
        self.tree.close()

    def _list(self) -> None:
        begun = self._mark()
        self.tree.open([], begun)
        going = self._enter("]")
        while going:
            self.value()
            going = self._more("]", begun)
        self.tree.close()

    def _enter(self, closing: str) -> bool:
        """Pass the opening bracket, and say whether something is inside."""
        self._place += 1
        inside = self.ahead() != closing
        self._place += 0 if inside else 1
        return inside

    def _more(self, closing: str, begun: Mark) -> bool:
        """Pass a comma or the closing bracket, and say whether it was the comma."""
        character = self.ahead()
        if character not in {",", closing}:
            raise self._missing(f'"," or "{closing}"', begun)
        comma = self._mark()
        self._place += 1
        if character == "," and self.ahead() == closing:
            raise self.page.wrong(f'a comma stands before "{closing}"; take it out', comma)
        return character == ","

    def _string(self) -> str:
        """Take the text between two quotes."""
        try:
            value, end = DECODER.raw_decode(self.page.text, self._place)
        except json.JSONDecodeError as error:
            raise self.page.explain(SAID, error.msg, error.pos, self._place) from None
        value = self.page.string(value, self._mark())
        self._place = end
        return value

    def _scalar(self) -> None:
        """Take a number, or true, false or null."""
        word = self._word()
        mark = self._mark()
        if word in WORDS:
            self.tree.put(WORDS[word], mark)
        elif NUMBER.fullmatch(word):
            self.tree.put(self.page.number(word, mark), mark)
        else:
            raise self._strange(word)
        self._place += len(word)

    def _strange(self, word: str) -> RulesError:
        """What is wrong with a word that is no value."""
        if not word:
            return self.wrong(f"expected a value but found {self.next()}")
        if word.lower() in STRANGERS:
            return self.page.endless(word, self._mark())
        if word[0] in "'`":
            return self.wrong("a text stands in double quotes")
        if word.lower() in WORDS:
            return self.wrong(f"{quoted(word)} is no value; write {word.lower()}")
        if word[0] in "+-.0123456789":
            return self.wrong(f"{quoted(word)} is no number; write one such as 10, -0.5 or 1e6")
        return self.wrong(f"{quoted(word)} is no value; put a text in double quotes")

    def _missing(self, wanted: str, begun: Mark) -> RulesError:
        said = f"expected {wanted} but found {self.next()}"
        return self.wrong(f"{said}, inside what begins in line {begun[0]}")

    def _word(self) -> str:
        word = WORD.match(self.page.text, self._place)
        return word[0] if word else ""

    def _mark(self) -> Mark:
        return self.page.mark(self._place)
