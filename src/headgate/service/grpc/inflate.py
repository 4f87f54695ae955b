"""Inflate: messages that were compressed, up to so many bytes and no further."""

from __future__ import annotations

import zlib

from headgate.service.grpc.status import (
    INTERNAL,
    RESOURCE_EXHAUSTED,
    UNIMPLEMENTED,
    Foreign,
    Status,
)

# What a call says its messages are compressed with, if any are.
PLAIN = 0
GZIP = 1
DEFLATE = 2
ALIEN = 3
CODINGS = {b"": PLAIN, b"identity": PLAIN, b"gzip": GZIP, b"deflate": DEFLATE}
# How wide zlib's window is, and what else it is to look for, by its own numbers.
WINDOWS = {GZIP: zlib.MAX_WBITS | 16, DEFLATE: zlib.MAX_WBITS}


def inflate(data: bytes, coding: int, most: int) -> bytes:
    """A message as it was before; raises Status if it cannot be had, or is too large."""
    if coding == PLAIN:
        raise Status(INTERNAL, "a message is compressed, but grpc-encoding does not say how")
    if coding == ALIEN:
        raise Foreign(UNIMPLEMENTED, "messages are compressed with gzip or deflate, or not at all")
    machine = zlib.decompressobj(WINDOWS[coding])
    try:
        message = machine.decompress(data, most + 1)
    except zlib.error:
        raise Status(INTERNAL, "a compressed message is damaged") from None
    if len(message) > most:
        raise Status(RESOURCE_EXHAUSTED, f"a message has at most {most} bytes")
    if not machine.eof or machine.unused_data:
        raise Status(INTERNAL, "a compressed message is damaged")
    return message
