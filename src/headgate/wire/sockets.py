"""Sockets: what interpreted code asks of them; compiled code asks the system itself.

A number is answered: of bytes, or below zero that of the error.
"""

from __future__ import annotations

import os
from collections.abc import Sequence


def receive(number: int, basin: bytearray, most: int) -> int:
    """Have a basin filled with what has come, or with so much of it."""
    try:
        return os.readv(number, [memoryview(basin)[:most]])
    except OSError as problem:
        return -(problem.errno or 1)


def read(basin: bytearray, size: int) -> bytes:
    """What is in a basin."""
    return bytes(memoryview(basin)[:size])


def pour(number: int, parts: Sequence[bytes | memoryview], more: bool) -> int:
    """Send parts, as far as there is room for them. That `more` follow only saves packets."""
    try:
        return os.writev(number, parts)
    except OSError as problem:
        return -(problem.errno or 1)


def siphon(source: int, sink: int, size: int) -> int:
    """Have the system pass bytes on; one of both is the end of a tank."""
    try:
        return os.splice(source, sink, size, flags=os.SPLICE_F_MOVE | os.SPLICE_F_NONBLOCK)
    except OSError as problem:
        return -(problem.errno or 1)
