"""Scan: takes the lines of a log apart, by their template, into hits.

Compiled, a line costs a look at each of its bytes and a few objects; names that come again are
remembered as the texts they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headgate.replay.hits import NOWHERE, REMEMBERED, Hit, Spots
from headgate.replay.stamps import Stamps, millionths
from headgate.replay.words import NAMES, plain

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

# As in words.py and hits.py; written as numbers, so that compiled code keeps them in C.
UNKNOWN = -1
SKIP = 0
TIME = 1
REQUEST = 2
METHOD = 3
TARGET = 4
QUERY = 5
HOST = 6
SCHEME = 7
PEER = 8
FORWARDED = 9
STATUS = 10
SIZE = 11
TOOK = 12
USER = 13
HEADER = 14
QUOTE = 34
ESCAPE = 92
MOST = 64
# What is always read.
CORE = frozenset({TIME, REQUEST, METHOD, TARGET, QUERY, PEER, TOOK})
# What a log writes for nothing.
NOTHING = b"-"


class Scanner:
    """Reads lines of one template. It remembers names, so one is for one thread."""

    __slots__ = (
        "count", "ends", "kinds", "known", "lengths", "marks", "method", "names", "query",
        "spots", "stamps", "starts", "target", "units",
    )  # fmt: skip

    kinds: Any
    lengths: Any
    starts: Any
    units: Any
    marks: bytes
    names: list[str]
    method: bytes
    target: bytes
    query: bytes

    def __init__(self, template: Any, wanted: frozenset[str] | None = None) -> None:
        pieces = [needed(piece, wanted) for piece in template.pieces]
        if not any(piece.kind == PEER for piece in pieces):
            # Then what proxies said is all there is to know of a client.
            pieces = [needed(piece, wanted, FORWARDED) for piece in template.pieces]
        while wanted is not None and pieces[len(pieces) - 1].kind == SKIP:
            # What stands behind all that is wanted is not looked at.
            pieces.pop()
        if len(pieces) > MOST:
            raise ValueError(f"format: a line has at most {MOST} values, not {len(pieces)}")
        self.count = len(pieces)
        self.ends = template.ends
        self.stamps = Stamps()
        self.spots = Spots()
        self.known: dict[bytes, str] = {NOTHING: "", b"": ""}
        self.names = [piece.name for piece in pieces]
        if not cython.compiled:
            self.kinds, self.units = [0] * MOST, [0] * MOST
            self.starts, self.lengths = [0] * (MOST + 1), [0] * (MOST + 1)
        self.method = self.target = self.query = b""
        # What each value ends with, one after the other; first, what the line begins with.
        self.marks = template.start + b"".join(piece.mark for piece in pieces)
        self.starts[0], self.lengths[0] = 0, len(template.start)
        for number, piece in enumerate(pieces):
            self.kinds[number], self.units[number] = piece.kind, piece.unit
            self.starts[number + 1] = self.starts[number] + self.lengths[number]
            self.lengths[number + 1] = len(piece.mark)

    def read(self, data: bytes, at: int, end: int) -> Hit | None:
        """The hit of the line that stands there, or None if it is not of this template."""
        if not fits(data, at, end, self.marks, 0, self.lengths[0]):
            return None
        at += self.lengths[0]
        # Made without a constructor, to stay in C when compiled.
        hit = Hit.__new__(Hit)
        self.empty(hit)
        number = 0
        while number < self.count:
            stop = self.stop(data, at, end, number)
            if stop < 0:
                return None
            if self.kinds[number] != SKIP and not self.put(hit, number, data[at:stop]):
                return None
            at = stop + self.lengths[number + 1]
            number += 1
        return self.finish(hit)

    def empty(self, hit: Hit) -> None:
        # What a constructor would do.
        hit.at = hit.took = hit.status = UNKNOWN
        hit.size = 0
        hit.peer = hit.forwarded = hit.host = hit.scheme = hit.user = ""
        hit.headers = None
        hit.spot = NOWHERE

    def stop(self, data: bytes, at: int, end: int, number: int) -> int:
        # Where a value ends: at the text behind it, which does not count behind a backslash.
        length = self.lengths[number + 1]
        if length == 0:
            return end
        start = self.starts[number + 1]
        return seek(data, at, end, self.marks, start, length)

    def put(self, hit: Hit, number: int, text: bytes) -> bool:
        # Take note of one value; whether it can be one.
        kind = self.kinds[number]
        if kind == TIME:
            hit.at = self.stamps.read(text)
            return hit.at >= 0
        if kind == REQUEST:
            hit.spot = self.spots.line(text)
        elif kind == PEER:
            hit.peer = self.name(text)
        elif kind == STATUS:
            hit.status = whole(text)
            return hit.status >= 0 or text == NOTHING
        elif kind == SIZE:
            hit.size = max(0, whole(text))
        elif kind == TOOK:
            hit.took = length(text, self.units[number])
        elif kind == FORWARDED:
            hit.forwarded = self.name(text)
        else:
            self.place(hit, kind, number, text)
        return True

    def place(self, hit: Hit, kind: int, number: int, text: bytes) -> None:
        # What stands in fewer logs.
        if kind == METHOD:
            self.method = text
        elif kind == TARGET:
            self.target = text
        elif kind == QUERY:
            self.query = text
        elif kind == HOST:
            hit.host = self.name(text)
        elif kind == SCHEME:
            hit.scheme = self.name(text)
        elif kind == USER:
            hit.user = self.name(text)
        elif text and text != NOTHING:
            self.head(hit, self.names[number], plain(text).decode("latin-1"))

    def head(self, hit: Hit, name: str, value: str) -> None:
        headers = hit.headers
        if headers is None:
            headers = hit.headers = {}
        if name.startswith("cookie."):
            # A log has single cookies; a request has them in a line.
            before = headers.get("cookie", "")
            value = f"{before}{'; ' if before else ''}{name[7:]}={value}"
            name = "cookie"
        headers[name] = value

    def finish(self, hit: Hit) -> Hit:
        if self.target:
            target = self.target
            if self.query and self.query != NOTHING and b"?" not in target:
                target += b"?" + self.query
            hit.spot = self.spots.pair(self.method or b"GET", target)
            self.method = self.target = self.query = b""
        if self.ends and hit.took > 0:
            # The line was written when all was said.
            hit.at = max(0, hit.at - hit.took)
        return hit

    def name(self, text: bytes) -> str:
        found = self.known.get(text)
        if found is None:
            found = plain(text).decode("latin-1")
            if len(self.known) >= REMEMBERED:
                self.known.clear()
                self.known[NOTHING] = ""
            self.known[text] = found
        return found


def needed(piece: Any, wanted: frozenset[str] | None, always: int = PEER) -> Any:
    """The piece itself, or one that is read over, if it is not among those that are wanted."""
    name = piece.name or NAMES[piece.kind]
    if wanted is None or piece.kind in CORE or piece.kind == always or name in wanted:
        return piece
    return piece if name.startswith("cookie.") and "cookie" in wanted else piece._replace(kind=SKIP)


def fits(data: bytes, at: int, end: int, marks: bytes, start: int, length: int) -> bool:
    """Whether a mark stands there."""
    if at + length > end:
        return False
    same = 0
    while same < length:
        if data[at + same] != marks[start + same]:
            return False
        same += 1
    return True


def seek(data: bytes, at: int, end: int, marks: bytes, start: int, length: int) -> int:
    """Where the next mark stands; -1 if there is none. A quote behind a backslash is none."""
    first = marks[start]
    if not cython.compiled:
        return search(data, at, end, marks[start : start + length])
    quoted = first == QUOTE
    while at < end:
        if data[at] == first:
            if length == 1 or fits(data, at, end, marks, start, length):
                return at
        elif quoted and data[at] == ESCAPE:
            at += 1
        at += 1
    return -1


def search(data: bytes, at: int, end: int, mark: bytes) -> int:
    """`seek` without going from byte to byte, which takes long where it is not compiled."""
    begin = at
    while True:
        found = data.find(mark, at, end)
        if found < 0 or mark[0] != QUOTE:
            return found
        behind = found
        while behind > begin and data[behind - 1] == ESCAPE:
            behind -= 1
        if (found - behind) % 2 == 0:
            return found
        at = found + 1


def whole(text: bytes) -> int:
    """The number that is spelled; -1 if it is none."""
    size = len(text)
    if size == 0 or size > 18:
        return -1
    found = 0
    at = 0
    while at < size:
        digit = text[at] - 48
        if digit < 0 or digit > 9:
            return -1
        found = found * 10 + digit
        at += 1
    return found


def length(text: bytes, unit: int) -> int:
    """The microseconds of a duration, with or without a fraction; -1 if it is none."""
    number, _, rest = text.partition(b".")
    found = whole(number)
    if found < 0 or found > 1_000_000_000_000:
        return -1
    found *= unit
    if rest:
        part = millionths(rest)
        if part < 0:
            return -1
        found += part * unit // 1_000_000
    return found
