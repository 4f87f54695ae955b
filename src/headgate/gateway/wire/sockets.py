"""Sockets: what interpreted code asks of them; compiled code asks the system itself.

A number is answered: of bytes, or below zero that of the error.
"""

from __future__ import annotations

import os
from collections.abc import Sequence


def receive(number: int, basin: bytearray) -> int:
    """Have a basin filled with what has come."""
    try:
        return os.readv(number, [basin])
    except OSError as problem:
        return -(problem.errno or 1)


def read(basin: bytearray, size: int) -> bytes:
    """What is in a basin."""
    return bytes(memoryview(basin)[:size])


def pour(number: int, parts: Sequence[bytes | memoryview]) -> int:
    """Send parts, as far as there is room for them."""
    try:
        return os.writev(number, parts)
    except OSError as problem:
        return -(problem.errno or 1)
