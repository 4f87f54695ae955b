"""Scribe: writes answers as protobuf would, without making a message first.

Nearly all answers are of one shape, some numbers about each descriptor. They are written here in
the order of their fields, and what is zero is left out.
"""

from __future__ import annotations

# A no, as Envoy numbers it.
OVER = 2
# The most that a field of 32 bits holds.
LARGEST = (1 << 32) - 1
MILLION = 1_000_000
# A duration of no length is there all the same.
LASTING = b'"\x00'
LEFT = b"\x18"
# Seven bits of a number: the last ones, and those that others follow.
LAST: list[bytes] = [bytes((number,)) for number in range(128)]
MORE: list[bytes] = [bytes((number | 128,)) for number in range(128)]


def varint(number: int) -> bytes:
    """A number of any size as it stands on the wire."""
    told = b""
    while number > 127:
        told += MORE[number & 127]
        number >>= 7
    return told + LAST[number] if told else LAST[number]


def limited(count: int, unit: int, name: str) -> bytes:
    """The limit that a status tells of; none says that there is one, of which nothing is known."""
    told = b"" if not count else b"\x08" + varint(min(count, LARGEST))
    told += b"" if not unit else b"\x10" + varint(unit)
    raw = name.encode("utf-8", "replace")
    told += b"" if not raw else b"\x1a" + varint(len(raw)) + raw
    return b"\x12" + varint(len(told)) + told


def status(code: int, limit: bytes, remaining: int, wait: int) -> bytes:
    """What became of one descriptor; `wait` are microseconds, told in whole seconds rounded up."""
    told = b"\x08\x02" if code == OVER else b"\x08\x01"
    told += limit
    if remaining > 0:
        told += LEFT + varint(min(remaining, LARGEST))
    if limit:
        seconds = (wait + MILLION - 1) // MILLION
        length = varint(seconds)
        told += b'"' + varint(1 + len(length)) + b"\x08" + length if seconds > 0 else LASTING
    return b"\x12" + varint(len(told)) + told


def answer(code: int, statuses: bytes) -> bytes:
    """The whole answer, where there is no more to say."""
    return (b"\x08\x02" if code == OVER else b"\x08\x01") + statuses
