"""Pages: a text with its name, in bounds and well encoded, that knows where its characters stand.

What all formats refuse alike is refused here, in the same words.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from typing import Any, NamedTuple

from headgate.errors import Problem, RulesError

Path = tuple[str | int, ...]
Mark = tuple[int, int]
Marks = dict[Path, Mark]
# The data, where each value begins, and where each key stands.
Found = tuple[Any, Marks, Marks]
# What a library says, as a pattern; where one would mend it: "here", at the "start" of what is
# wrong, or at the "escape" before; and what is said instead, with LINE for the line of the start.
Said = tuple[tuple[str, str, str], ...]

MOST_BYTES = 1 << 20
DEEPEST = 32
MOST_VALUES = 200_000
LONGEST_NUMBER = 100
LONGEST_SHOWN = 40
HALF = "an escape stands for no whole character; write the character itself"
BREAK = re.compile(r"\r\n|\r|\n")
LEADING = re.compile(r"([-+]?)0+(?=[0-9])")
INTEGER = re.compile(r"[-+]?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+|0b[01]+")


class Page(NamedTuple):
    """A text, the file it comes from, and where each of its lines begins."""

    text: str
    file: str
    lines: list[int]

    def mark(self, place: int) -> Mark:
        """Line and column, from 1, of the character at `place`."""
        line = bisect_right(self.lines, place)
        return line, place - self.lines[line - 1] + 1

    def wrong(self, message: str, mark: Mark) -> RulesError:
        """What is wrong at `mark`."""
        return RulesError((Problem(message, (), self.file, *mark),))

    def explain(self, said: Said, problem: str, place: int, start: int) -> RulesError:
        """What a library found wrong at `place`, inside what begins at `start`."""
        places = {"here": place, "start": start, "escape": self.text.rfind("\\", 0, place + 1)}
        for pattern, where, message in said:
            if re.search(pattern, problem):
                line = f"line {self.mark(start)[0]}"
                return self.wrong(message.replace("LINE", line), self.mark(places[where]))
        return self.wrong(f"this cannot be read: {problem}", self.mark(place))

    def twice(self, name: str, mark: Mark, first: Mark) -> RulesError:
        """A key that stood before."""
        said = f"{quoted(name)} stands twice, first in line {first[0]}; keep one of them"
        return self.wrong(said, mark)

    def deep(self, mark: Mark) -> RulesError:
        """One bracket, indent or dot too many."""
        return self.wrong(f"more than {DEEPEST} levels deep; write it flatter", mark)

    def many(self, mark: Mark) -> RulesError:
        """One value too many."""
        return self.wrong(f"more than {MOST_VALUES:,} values; use several files", mark)

    def endless(self, spelled: str, mark: Mark) -> RulesError:
        """A number that is none, or infinite."""
        return self.wrong(f"{spelled} is not a finite number; write one that is", mark)

    def number(self, spelled: str, mark: Mark) -> int | float:
        """The number that is spelled here, in digits or after 0x, 0o or 0b."""
        if len(spelled) > LONGEST_NUMBER:
            said = f"a number of {len(spelled):,} characters; at most {LONGEST_NUMBER} are read"
            raise self.wrong(said, mark)
        if LEADING.match(spelled):
            shorter = LEADING.sub(r"\1", spelled, count=1)
            said = f'{spelled} has a leading zero; write {shorter}, or "{spelled}" for a text'
            raise self.wrong(said, mark)
        if INTEGER.fullmatch(spelled):
            return int(spelled, 0)
        value = float(spelled)
        if not math.isfinite(value):
            raise self.endless(spelled, mark)
        return value

    def string(self, value: str, mark: Mark) -> str:
        """The text that is spelled here, if all of its characters are whole."""
        try:
            value.encode()
        except UnicodeEncodeError:
            raise self.wrong(HALF, mark) from None
        return value


def admit(text: str | bytes, file: str) -> Page:
    """The page of a text that is neither too long nor garbled."""
    size = len(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    if size > MOST_BYTES:
        said = f"{size:,} bytes are too many; a file of rules has at most {MOST_BYTES:,}"
        raise _page("", file).wrong(said, (1, 1))
    page = _page(_decode(text, file).removeprefix("\ufeff"), file)
    nul = page.text.find("\0")
    if nul >= 0:
        raise page.wrong(
            "a NUL character stands here; take it out, or save the file as UTF-8", page.mark(nul)
        )
    return page


def quoted(text: str) -> str:
    """The text in quotes, as much of it as a message bears."""
    return f'"{text}"' if len(text) <= LONGEST_SHOWN else f'"{text[:LONGEST_SHOWN]}..."'


def _decode(text: str | bytes, file: str) -> str:
    try:
        return text.decode() if isinstance(text, bytes) else text.encode().decode()
    except UnicodeDecodeError as error:
        before = _page(error.object[: error.start].decode().removeprefix("\ufeff"), file)
        said = f"the byte 0x{error.object[error.start]:02x} is not UTF-8; save the file as UTF-8"
    except UnicodeEncodeError as error:
        before = _page(error.object[: error.start].removeprefix("\ufeff"), file)
        half = ord(error.object[error.start])
        said = f"U+{half:04X} is half of a character; save the file as UTF-8"
    raise before.wrong(said, before.mark(len(before.text)))


def _page(text: str, file: str) -> Page:
    return Page(text, file, [0, *(found.end() for found in BREAK.finditer(text))])
