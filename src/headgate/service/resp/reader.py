"""Reader: commands out of the bytes of a connection, as Redis reads them.

A command is an array of bulk strings, or a line of words as somebody types them. What has been
read of one is not read again when more comes, however small the pieces.
"""

from __future__ import annotations

import re

# A command is no longer than this, in bytes and in words.
LONGEST = 65_536
WORDS = 1024
# A line that says how many or how long is no longer than this.
DIGITS = 24

STAR, DOLLAR, MINUS, ZERO, NINE, RETURN, LINE = b"*$-09\r\n"

PIECE = re.compile(
    rb"""\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s"']+))(?=\s|$)""", re.DOTALL
)
ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
MEANT = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"a": b"\a"}


class Garbage(ValueError):
    """What has come is not the protocol; says why, as Redis does."""


class Reader:
    """Reads what is sent over one connection."""

    __slots__ = ("at", "data", "left", "size", "weight", "words")

    def __init__(self) -> None:
        # What has come and is not read yet, from `at` on.
        self.data = b""
        self.at = 0
        # The command that is being read: its words, how many are to come, how long the next one
        # is, -1 while that is not known, and how much of it has been read.
        self.words: list[bytes] = []
        self.left = 0
        self.size = -1
        self.weight = 0

    @property
    def amid(self) -> bool:
        """Whether a command has begun that is not all here."""
        return self.left > 0 or self.at < len(self.data)

    def feed(self, data: bytes | memoryview) -> None:
        """Take in what has come."""
        if self.at >= len(self.data):
            self.data = data if type(data) is bytes else bytes(data)
        else:
            self.data = self.data[self.at :] + data
        self.at = 0

    def take(self) -> list[bytes] | None:
        """The next command, none while it is not all here; one without words is nothing to do.

        Raises `Garbage`, after which nothing more can be read.
        """
        data = self.data
        if self.left == 0:
            if self.at >= len(data):
                return None
            if data[self.at] != STAR:
                return self.line()
            count = self.number(WORDS, "invalid multibulk length", "too big mbulk count string")
            if count == -1:
                return None
            self.weight = 0
            if count <= 0:
                return []
            self.left = count
        while self.left > 0:
            if not self.word():
                return None
        words = self.words
        self.words = []
        return words

    def word(self) -> bool:
        """Read a word of a command, if it is here."""
        data = self.data
        if self.size < 0:
            if self.at >= len(data):
                return False
            if data[self.at] != DOLLAR:
                found = chr(data[self.at]) if 32 <= data[self.at] < 127 else "?"
                raise Garbage(f"expected '$', got '{found}'")
            size = self.number(LONGEST, "invalid bulk length", "too big bulk count string")
            if size == -1:
                return False
            if size < 0:
                raise Garbage("invalid bulk length")
            self.weight += size
            if self.weight > LONGEST:
                raise Garbage(f"a command has at most {LONGEST} bytes")
            self.size = size
        start = self.at
        end = start + self.size
        if end + 2 > len(data):
            return False
        self.words.append(data[start:end])
        self.at = end + 2
        self.size = -1
        self.left -= 1
        return True

    def number(self, most: int, wrong: str, lengthy: str) -> int:
        """What a line says after its sign: -1 if it is not all here, -2 if it is below zero."""
        data = self.data
        start = self.at + 1
        last = min(len(data), start + DIGITS)
        place = start
        found = 0
        below = place < last and data[place] == MINUS
        if below:
            place += 1
        begin = place
        while place < last and ZERO <= data[place] <= NINE:
            found = found * 10 + data[place] - ZERO
            if found > most:
                raise Garbage(wrong)
            place += 1
        if place >= start + DIGITS:
            raise Garbage(lengthy)
        if place + 1 >= len(data):
            if place < len(data) and data[place] != RETURN:
                raise Garbage(wrong)
            return -1
        if place == begin or data[place] != RETURN or data[place + 1] != LINE:
            raise Garbage(wrong)
        self.at = place + 2
        return -2 if below else found

    def line(self) -> list[bytes] | None:
        """The words of a line that somebody has typed."""
        end = self.data.find(b"\n", self.at)
        if end < 0:
            if len(self.data) - self.at > LONGEST:
                raise Garbage("too big inline request")
            return None
        said = self.data[self.at : end]
        self.at = end + 1
        if len(said) > LONGEST:
            raise Garbage("too big inline request")
        words = typed(said)
        if len(words) > WORDS:
            raise Garbage("too many words")
        return words


def typed(line: bytes) -> list[bytes]:
    """The words of a line, some of them in quotes."""
    if b'"' not in line and b"'" not in line:
        return line.split()
    line = line.strip()
    found: list[bytes] = []
    at = 0
    while at < len(line):
        piece = PIECE.match(line, at)
        if piece is None:
            raise Garbage("unbalanced quotes in request")
        double, single, plain = piece.groups()
        if double is not None:
            found.append(ESCAPE.sub(escaped, double))
        else:
            found.append(plain if single is None else single.replace(b"\\'", b"'"))
        at = piece.end()
    return found


def escaped(found: re.Match[bytes]) -> bytes:
    """What stands for a character between double quotes."""
    said = found[1]
    if len(said) == 3:
        return bytes([int(said[1:], 16)])
    return MEANT.get(said, said)
