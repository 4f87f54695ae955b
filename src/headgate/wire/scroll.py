"""Scroll: bytes that are gathered, to be sent in one piece.

What goes over a connection is put together from dozens of small parts. Compiled, they are copied
into one page, which is used again and again; interpreted, joining a list is faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

if cython.compiled:
    from cython.cimports.headgate.wire.ink import enter, inscribe, read

# How long a page is at first. It grows with what is written on it, and stays as long.
PAGE = 2048


class Scroll:
    """Bytes in the order in which they are added; `size` is how many."""

    __slots__ = ("page", "parts", "size")

    def __init__(self) -> None:
        self.page = bytearray(PAGE) if cython.compiled else bytearray()
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, part: bytes) -> None:
        """Add a part."""
        if cython.compiled:
            self.size = inscribe(self.page, self.size, part)
        else:
            self.parts.append(part)
            self.size += len(part)

    def line(self, name: bytes, value: bytes) -> None:
        """Add a header."""
        if cython.compiled:
            self.size = enter(self.page, self.size, name, value)
        else:
            self.parts += (name, b": ", value, b"\r\n")
            self.size += len(name) + len(value) + 4

    def take(self) -> bytes:
        """All of it; nothing is left."""
        if self.size == 0:
            return b""
        if cython.compiled:
            found: bytes = read(self.page, self.size)
        else:
            found = b"".join(self.parts)
            self.parts.clear()
        self.size = 0
        return found
