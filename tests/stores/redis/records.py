"""Records: what a server keeps for a key, read as the layout in the docs says and no other way."""

from __future__ import annotations

import struct
from typing import NamedTuple

from headgate import Limit
from headgate.stores.redis.names import prefix, tag
from tests.servers.wire import Wire


class Record(NamedTuple):
    """A record as it stands: when it was written and until when it is kept (microseconds)."""

    written: int
    until: int
    cells: list[int]


def read(wire: Wire, place: bytes) -> Record | None:
    """The record at `place`, if there is one."""
    raw = value(wire, place)
    if raw is None:
        return None
    version, written, *cells = struct.unpack(f"<B{(len(raw) - 1) // 8}q", raw)
    assert version == 1
    return Record(written, wire.ask("PEXPIRETIME", place) * 1000, cells)


def value(wire: Wire, place: bytes) -> bytes | None:
    """The bytes at `place`."""
    text = wire.ask("GET", place)
    return None if text is None else text.encode("utf-8", "surrogateescape")


def place(limits: tuple[Limit, ...], name: str, key: str) -> bytes:
    """Where the record of a key is kept."""
    return prefix(limits, name) + tag(key)


def moment(wire: Wire) -> int:
    """What time the server has, in microseconds."""
    seconds, rest = wire.ask("TIME")
    return int(seconds) * 1_000_000 + int(rest)
