"""Frames: the pieces HTTP/2 is cut into, by the numbers that RFC 9113 has for them."""

from __future__ import annotations

from struct import Struct

# What a client says before anything else.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

# Kinds.
DATA = 0
HEADERS = 1
PRIORITY = 2
RST_STREAM = 3
SETTINGS = 4
PUSH_PROMISE = 5
PING = 6
GOAWAY = 7
WINDOW_UPDATE = 8
CONTINUATION = 9

# Flags.
END_STREAM = 0x1
ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
WEIGHED = 0x20

# Errors.
NO_ERROR = 0
PROTOCOL_ERROR = 1
FLOW_CONTROL_ERROR = 3
STREAM_CLOSED = 5
FRAME_SIZE_ERROR = 6
REFUSED_STREAM = 7
CANCEL = 8
COMPRESSION_ERROR = 9
ENHANCE_YOUR_CALM = 11

# Settings.
HEADER_TABLE_SIZE = 1
ENABLE_PUSH = 2
MAX_CONCURRENT_STREAMS = 3
INITIAL_WINDOW_SIZE = 4
MAX_FRAME_SIZE = 5
MAX_HEADER_LIST_SIZE = 6

# The first bytes of a frame, and the number of a stream or of an increment at most.
HEAD = 9
MOST = (1 << 31) - 1
# So large are frames and windows unless it is said otherwise.
FRAME = 16_384
WINDOW = 65_535

PARTED = Struct(">HBBBI")


class Broken(Exception):
    """A connection cannot go on: the number of the error, and why, for whoever looks for it."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """A frame."""
    size = len(payload)
    return PARTED.pack(size >> 8, size & 0xFF, kind, flags, stream) + payload


def number(value: int) -> bytes:
    """Four bytes, as numbers are in frames."""
    return value.to_bytes(4, "big")


def reset(stream: int, code: int) -> bytes:
    """The end of a stream that has gone wrong, or of which no more is wanted."""
    return frame(RST_STREAM, 0, stream, number(code))


def widening(stream: int, size: int) -> bytes:
    """So much more may be sent on a stream, or on a connection, which is stream 0."""
    return frame(WINDOW_UPDATE, 0, stream, number(size))


def goaway(last: int, code: int, why: str = "") -> bytes:
    """The end of a connection: streams up to `last` have been heard."""
    return frame(GOAWAY, 0, 0, number(last) + number(code) + why.encode())


def setting(*pairs: tuple[int, int]) -> bytes:
    """Settings."""
    said = [name.to_bytes(2, "big") + number(value) for name, value in pairs]
    return frame(SETTINGS, 0, 0, b"".join(said))
