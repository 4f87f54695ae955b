"""Seal: turns keys into fingerprints that all processes of a store agree on.

Python's own string hash is keyed anew in every process. Here the key is the seed of the store, and
whoever does not know it cannot choose keys that collide. Compiled, it is SipHash-1-3, the same that
Python uses for strings; interpreted, BLAKE2, since arithmetic on 64 bits is slow there. The two
never meet: a file is used in one of the forms only.
"""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

if cython.compiled:
    from cython.cimports.headgate.stores.flat.text import utf8


class Seal:
    """Marks keys under a `seed` of 16 bytes."""

    __slots__ = ("a", "b", "c", "d", "seed")

    seed: bytes
    a: int
    b: int
    c: int
    d: int

    def __init__(self, seed: bytes) -> None:
        self.seed = seed
        first, second = struct.unpack("<QQ", seed)
        # The four words that SipHash begins with, as its authors chose and named them.
        self.a = first ^ 0x736F6D6570736575
        self.b = second ^ 0x646F72616E646F6D
        self.c = first ^ 0x6C7967656E657261
        self.d = second ^ 0x7465646279746573

    def mark(self, key: str) -> int:
        """The key as a number; never 0, which marks a row without one."""
        if cython.compiled:
            size = -1
            text = utf8(key, cython.address(size))
            if size < 0:
                spare = key.encode("utf-8", "surrogatepass")
                text = spare
                size = len(spare)
            mark = self.digest(text, size)
        else:
            data = key.encode("utf-8", "surrogatepass")
            digest = hashlib.blake2b(data, digest_size=8, key=self.seed).digest()
            mark = int.from_bytes(digest, "little", signed=True)
        return 1 if mark == 0 else mark

    def digest(self, text: bytes, size: int) -> int:
        # SipHash with one round a word and three at the end, as its authors write it. Compiled
        # only: sums and shifts are those of 64 bits.
        a = self.a
        b = self.b
        c = self.c
        d = self.d
        place = 0
        while place + 8 <= size:
            word = gather(text, place, 8)
            a, b, c, d = mix(a, b, c, d ^ word)
            a ^= word
            place += 8
        word = size
        word = gather(text, place, size - place) | word << 56
        a, b, c, d = mix(a, b, c, d ^ word)
        a, b, c, d = mix(a ^ word, b, c ^ 0xFF, d)
        a, b, c, d = mix(a, b, c, d)
        a, b, c, d = mix(a, b, c, d)
        return a ^ b ^ c ^ d


def gather(text: bytes, place: int, count: int) -> int:
    # Up to eight bytes as a number, the first one lowest.
    word = 0
    while count > 0:
        count -= 1
        word = word << 8 | text[place + count]
    return word


def mix(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    # One round.
    a += b
    c += d
    b = (b << 13 | b >> 51) ^ a
    d = (d << 16 | d >> 48) ^ c
    a = (a << 32 | a >> 32) + d
    c += b
    d = (d << 21 | d >> 43) ^ a
    b = (b << 17 | b >> 47) ^ c
    return a, b, c << 32 | c >> 32, d
