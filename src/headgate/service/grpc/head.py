"""Head: what the headers of a call say, looked through once however often they are sent."""

from __future__ import annotations

import re

from headgate.measures import FOREVER
from headgate.service.grpc.inflate import ALIEN, CODINGS
from headgate.service.grpc.status import DEADLINE_EXCEEDED, INTERNAL, trailers

Lines = list[tuple[bytes, bytes]]

NAME = re.compile(rb":?[!#$%&'*+.^_`|~0-9a-z-]+")
VALUE = re.compile(rb"(?:[^\0\r\n \t](?:[^\0\r\n]*[^\0\r\n \t])?)?")
PSEUDO = {b":method", b":scheme", b":authority", b":path"}
# Headers that say something of one connection have no place in HTTP/2.
TIES = {b"connection", b"proxy-connection", b"keep-alive", b"transfer-encoding", b"upgrade"}
# What a body is of which we know how to read it.
TYPE = re.compile(rb"application/grpc(?:\+proto)?(?:[ \t]*;.*)?", re.IGNORECASE)
TIMEOUT = re.compile(rb"([0-9]{1,8})([HMSmun])")
# Of each unit, how many nanoseconds it has.
UNITS = {
    b"H": 3_600_000_000_000,
    b"M": 60_000_000_000,
    b"S": 1_000_000_000,
    b"m": 1_000_000,
    b"u": 1_000,
    b"n": 1,
}

# Bytes that a header takes besides what it says.
EACH = 100

# Headers, each by its place in the table everybody has.
FINE = b"\x88"
GRPC = FINE + b"\x0f\x10\x10application/grpc"
EMPTY = b"\x0f\x0d\x010"
ONLY_POST = b"\x08\x03405\x0f\x07\x04POST" + EMPTY
OTHER_TYPE = b"\x08\x03415" + EMPTY


class Head:
    """The headers of a call.

    `sound` says that they may begin a call, `bare` that they may end what a client has to say. A
    call that is none of ours is answered with `refusal`. `timeout` is in microseconds, `length`
    that of the body or below zero, `coding` how messages are compressed. `weight` is about how much
    memory it takes: a header that is one byte on the wire may stand in every call.
    """

    __slots__ = (
        "bare", "coding", "length", "lines", "path", "refusal", "sound", "timeout", "token",
        "weight",
    )  # fmt: skip

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.weight = sum([EACH + len(name) + len(value) for name, value in lines])
        said = pseudo(lines) if clean(lines) else None
        self.bare = said is not None and not said
        self.sound = bool(said) and valid(said or {}, self)
        self.path = said.get(b":path", b"") if said else b""
        self.length = -1
        self.coding = 0
        self.timeout = FOREVER
        self.refusal = self.token = b""
        if self.sound and said:
            read(self, said[b":method"])

    def all(self, name: bytes) -> list[bytes]:
        """What is said under a name."""
        return [value for word, value in self.lines if word == name]

    def one(self, name: bytes) -> bytes:
        """What is said first under a name; nothing where there is none."""
        for word, value in self.lines:
            if word == name:
                return value
        return b""


def clean(lines: Lines) -> bool:
    """Whether every header is one, and has a place in HTTP/2."""
    for name, value in lines:
        if not NAME.fullmatch(name) or not VALUE.fullmatch(value) or name in TIES:
            return False
        if name == b"te" and value.lower() != b"trailers":
            return False
    return True


def pseudo(lines: Lines) -> dict[bytes, bytes] | None:
    """What comes before the headers proper; None where it is not as it has to be."""
    found: dict[bytes, bytes] = {}
    proper = False
    for name, value in lines:
        if not name.startswith(b":"):
            proper = True
        elif proper or name in found or name not in PSEUDO:
            return None
        else:
            found[name] = value
    return found


def valid(said: dict[bytes, bytes], head: Head) -> bool:
    """Whether what comes before the headers proper makes a request."""
    host = head.one(b"host")
    if host and said.get(b":authority", host) != host:
        return False
    lengths = set(head.all(b"content-length"))
    if len(lengths) > 1 or any(not one.isdigit() or len(one) > 18 for one in lengths):
        return False
    path = said.get(b":path", b"")
    if said.get(b":method") == b"CONNECT":
        return said.keys() == {b":method", b":authority"}
    if not said.get(b":method") or not said.get(b":scheme"):
        return False
    return path.startswith(b"/") or (path == b"*" and said[b":method"] == b"OPTIONS")


def read(head: Head, method: bytes) -> None:
    """Take out of a sound head what everybody wants to know."""
    head.length = int(head.one(b"content-length") or -1)
    head.coding = CODINGS.get(head.one(b"grpc-encoding"), ALIEN)
    scheme, _, word = head.one(b"authorization").partition(b" ")
    head.token = word.strip() if scheme.lower() == b"bearer" else head.one(b"x-headgate-token")
    if method != b"POST":
        head.refusal = ONLY_POST
    elif not TYPE.fullmatch(head.one(b"content-type")):
        head.refusal = OTHER_TYPE
    else:
        limit(head, head.one(b"grpc-timeout"))


def limit(head: Head, said: bytes) -> None:
    """Take in how long a client will wait."""
    if not said:
        return
    told = TIMEOUT.fullmatch(said)
    if told is None:
        head.refusal = GRPC + trailers(INTERNAL, "grpc-timeout is up to 8 digits and a unit")
        return
    spell = int(told[1]) * UNITS[told[2]]
    head.timeout = spell // 1_000
    if spell == 0:
        head.refusal = GRPC + trailers(DEADLINE_EXCEEDED, "the deadline is over")
