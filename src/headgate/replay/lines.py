"""Lines: the hits of a log, from the bytes it is read in. What is none is counted and shown."""

from __future__ import annotations

from typing import Any

from headgate.replay.hits import Hit
from headgate.replay.scan import Scanner

# So many broken lines are shown, and so much of each.
SHOWN = 5
LONGEST = 200
# What is longer than this is no line.
ENDLESS = 1 << 20


class Lines:
    """Takes bytes in and gives hits back, as they come. `newest` is the latest moment so far."""

    __slots__ = (
        "asides", "broken", "disordered", "examples", "newest", "number", "reader", "scanner",
        "skipping", "tail",
    )  # fmt: skip

    reader: Any
    scanner: Scanner | None
    examples: list[tuple[int, str]]

    def __init__(self, reader: Any) -> None:
        self.reader = reader
        self.scanner = reader if isinstance(reader, Scanner) else None
        # How many lines there were, how many were none, and how many were about no request.
        self.number = self.broken = self.asides = 0
        self.examples = []
        self.newest = -1
        # Whether one was earlier than one before it.
        self.disordered = False
        self.tail = b""
        self.skipping = False

    def feed(self, data: bytes) -> list[Hit]:
        """The hits of all lines that end in what is known by now."""
        if self.tail:
            data = self.tail + data
            self.tail = b""
        hits: list[Hit] = []
        at = self.gather(data, hits)
        if at < len(data):
            self.keep(data[at:])
        return hits

    def close(self) -> list[Hit]:
        """The hit of a last line that nothing ends."""
        hits: list[Hit] = []
        if self.tail and not self.skipping:
            self.take(self.tail, 0, len(self.tail), hits)
        self.tail = b""
        return hits

    def gather(self, data: bytes, hits: list[Hit]) -> int:
        # All whole lines; answers where the rest begins.
        at = 0
        size = len(data)
        while at < size:
            end = until(data, at, size)
            if end < 0:
                return at
            if self.skipping:
                self.skipping = False
            else:
                self.take(data, at, end, hits)
            at = end + 1
        return at

    def keep(self, rest: bytes) -> None:
        if len(rest) <= ENDLESS:
            self.tail = rest
        elif not self.skipping:
            self.number += 1
            self.blame(rest)
            self.skipping = True

    def take(self, data: bytes, at: int, end: int, hits: list[Hit]) -> None:
        self.number += 1
        if end > at and data[end - 1] == 13:
            end -= 1
        if end == at:
            return
        if self.scanner is not None:
            hit = self.scanner.read(data, at, end)
        else:
            hit = self.reader.read(data, at, end)
        if hit is None:
            self.blame(data[at:end])
        elif not hit.spot.asked:
            self.asides += 1
        else:
            if hit.at >= self.newest:
                self.newest = hit.at
            else:
                self.disordered = True
            hits.append(hit)

    def blame(self, line: bytes) -> None:
        self.broken += 1
        if len(self.examples) < SHOWN:
            self.examples.append((self.number, line[:LONGEST].decode("utf-8", "replace")))


def until(data: bytes, at: int, size: int) -> int:
    """Where the line ends that begins at `at`; -1 if it does not."""
    return data.find(b"\n", at, size)
