"""Sources: the bytes of a log, packed or not, from files or from what stands in front of `|`."""

from __future__ import annotations

import bz2
import itertools
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any

BLOCK = 1 << 18
PIECE = 1 << 13
# How packed files begin, and what unpacks them.
MAGIC: dict[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(31),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ": lzma.LZMADecompressor,
}
STDIN = "-"


class Source:
    """One log: `blocks` are its bytes; `seen` of `size` bytes have been read so far.

    `flaw` says, once all is read, what was wrong with how it was packed; what came before is good.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.title = "standard input" if name == STDIN else name
        # What cannot be told in advance is 0.
        self.size = 0 if name == STDIN else os.stat(name).st_size
        self.seen = 0
        self.flaw = ""

    def blocks(self) -> Iterator[bytes]:
        """Its bytes, unpacked."""
        if self.name == STDIN:
            yield from self._unpacked(sys.stdin.buffer)
            return
        with open(self.name, "rb") as file:
            yield from self._unpacked(file)

    def _unpacked(self, file: IO[bytes]) -> Iterator[bytes]:
        raw = self._raw(file)
        first = next(raw, b"")
        make = next((made for magic, made in MAGIC.items() if first.startswith(magic)), None)
        if make is None:
            yield first
            yield from raw
            return
        try:
            yield from self._opened(first, raw, make)
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as problem:
            self.flaw = f"cannot be unpacked ({problem}); what came before was read"

    def _opened(
        self, block: bytes, raw: Iterator[bytes], make: Callable[[], Any]
    ) -> Iterator[bytes]:
        machine = make()
        for piece in pieces(itertools.chain([block], raw)):
            rest = piece
            while rest:
                if machine.eof:
                    # Packed files may be laid end to end, with zeros behind them.
                    rest = rest.lstrip(b"\0")
                    if not rest:
                        break
                    machine = make()
                yield machine.decompress(rest)
                rest = machine.unused_data if machine.eof else b""
        if not machine.eof:
            self.flaw = "ends in the middle of what was packed; what came before was read"

    def _raw(self, file: IO[bytes]) -> Iterator[bytes]:
        # Whatever is there: who writes slowly to a pipe is not waited for.
        read = getattr(file, "read1", file.read)
        while block := read(BLOCK):
            self.seen += len(block)
            yield block


def pieces(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The same in small pieces: where one is damaged, no more than that is lost."""
    for block in blocks:
        for at in range(0, len(block), PIECE):
            yield block[at : at + PIECE]
