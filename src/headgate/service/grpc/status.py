"""Status: how a call ends, by gRPC's numbers, and the headers that say so."""

from __future__ import annotations

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16

# So much is said of what went wrong.
LONGEST = 1024
# Bytes that are sent as they are; of others their number is.
PLAIN = frozenset(range(0x20, 0x7F)) - {0x25}
SPELLED = [bytes((byte,)) if byte in PLAIN else b"%%%02X" % byte for byte in range(256)]

# Headers without a place in a table, the name and the value each after its length.
CODE = b"\x00\x0bgrpc-status"
MESSAGE = b"\x00\x0cgrpc-message"
ACCEPTED = b"\x00\x14grpc-accept-encoding\x15identity,gzip,deflate"


class Status(Exception):
    """Raised by a method, it is how the call ends."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Foreign(Status):
    """A message is compressed in a way not known here; the client is told which ways are."""


def trailers(code: int, message: str = "") -> bytes:
    """The headers that end a call."""
    told = b"%d" % code
    block = CODE + bytes((len(told),)) + told
    if message:
        said = spell(message)
        block += MESSAGE + measure(len(said)) + said
    return block


def spell(message: str) -> bytes:
    """A message as it may stand in a header, and no more of it than is kept by everybody."""
    parts = [SPELLED[byte] for byte in message.encode("utf-8", "replace")[:LONGEST]]
    return b"".join(parts)


def measure(size: int) -> bytes:
    """The length of a header's value, as HPACK writes it."""
    if size < 127:
        return bytes((size,))
    parts = [127]
    size -= 127
    while size > 127:
        parts.append(size & 127 | 128)
        size >>= 7
    parts.append(size)
    return bytes(parts)
