"""Frames of SPOP 2.0, in which HAProxy asks and an agent answers: bytes in, bytes out.

A frame is its length in four bytes, then a byte for its kind, four for its flags, the numbers of
the stream and of the frame, and what it carries: terms for a greeting or a farewell, messages for a
question, actions for an answer. Nothing is read past the end of a frame, whatever it says; what is
no frame is a `Flaw`, and nothing else is ever raised by what somebody sent.

Texts are bytes that look like Latin-1, as WSGI has them, so that none is lost; addresses are texts.
"""

from __future__ import annotations

from socket import AF_INET, AF_INET6, inet_ntop, inet_pton

Value = None | bool | int | str | bytes
Terms = dict[str, Value]

# Kinds of frames: HAProxy's, then an agent's.
PROXY_HELLO = 1
PROXY_DISCONNECT = 2
NOTIFY = 3
AGENT_HELLO = 101
AGENT_DISCONNECT = 102
ACK = 103

# What a value is; the flag is the truth of a boolean.
NULL = 0
BOOL = 1
INT32 = 2
UINT32 = 3
INT64 = 4
UINT64 = 5
IPV4 = 6
IPV6 = 7
STRING = 8
BINARY = 9
TRUE = 16

# Why a conversation ends, as the protocol numbers it.
NORMAL = 0
LATE = 2
BIG = 3
INVALID = 4
NO_VERSION = 5
NO_SIZE = 6
NO_CAPABILITIES = 7
OTHER_VERSION = 8
BAD_SIZE = 9
FRAGMENT = 10
FAILED = 99

# The frame is whole: no other flag means anything to us.
FIN = b"\0\0\0\1"
# That of frames which are about no stream.
UNMARKED = b"\0\0"
# No frame is shorter: a kind, flags and two numbers.
LEAST = 7
# So many messages are answered together; HAProxy sends one for each that is configured.
MESSAGES = 16
# The first number that takes more than a byte, those before it, and the largest there is.
LONG = 240
SHORT = [bytes([number]) for number in range(LONG)]
TOP = (1 << 64) - 1
RANGES = {
    INT32: (-(1 << 31), (1 << 31) - 1),
    UINT32: (0, (1 << 32) - 1),
    INT64: (-(1 << 63), (1 << 63) - 1),
    UINT64: (0, TOP),
}


class Flaw(Exception):
    """What was sent is none of this protocol, by its number there and in words."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message


class Tape:
    """Bytes that are read from one place to another; `at` is how far it has got."""

    __slots__ = ("at", "data", "end")

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data = data
        self.at = at
        self.end = end

    def byte(self) -> int:
        """The next byte."""
        at = self.at
        if at >= self.end:
            raise Flaw(INVALID, "a frame ends too soon")
        self.at = at + 1
        return self.data[at]

    def number(self) -> int:
        """A number of up to 64 bits: a byte, or four bits of it and seven of each that follows."""
        found = self.byte()
        if found < LONG:
            return found
        shift = 4
        while True:
            part = self.byte()
            if shift > 60 or part > (TOP - found) >> shift:
                raise Flaw(INVALID, "a number has more than 64 bits")
            found += part << shift
            if part < 128:
                return found
            shift += 7

    def word(self) -> bytes:
        """As many bytes as are said to follow."""
        size = self.number()
        if size > self.end - self.at:
            raise Flaw(INVALID, "a frame ends too soon")
        return self.cut(size)

    def value(self) -> Value:
        """What is said to be of some type."""
        said = self.byte()
        kind = said & 15
        if kind == STRING:
            return self.word().decode("latin-1")
        if kind == BINARY:
            return self.word()
        if kind == IPV4:
            return inet_ntop(AF_INET, self.cut(4))
        if kind == IPV6:
            return inet_ntop(AF_INET6, self.cut(16))
        if kind == BOOL:
            return said & TRUE != 0
        if kind == NULL:
            return None
        if kind > BINARY:
            raise Flaw(INVALID, f"there is no type {kind}")
        return signed(kind, self.number())

    def cut(self, size: int) -> bytes:
        """The next bytes."""
        at = self.at
        if size > self.end - at:
            raise Flaw(INVALID, "a frame ends too soon")
        self.at = at + size
        return self.data[at : at + size]


def signed(kind: int, number: int) -> int:
    """A number as what it is said to be; those below zero come as if they had 64 bits."""
    least, most = RANGES[kind]
    if least < 0 and number >= 1 << 63:
        number -= 1 << 64
    if not least <= number <= most:
        raise Flaw(INVALID, f"{number} is no number of type {kind}")
    return number


def reach(data: bytes, at: int, most: int) -> int:
    """Where the frame ends that begins at `at`: behind the data, if it is not all there.

    No frame may be longer than `most`; the four bytes that say how long it is are not counted.
    """
    if len(data) - at < 4:
        return at + 4
    size = 0
    for place in range(at, at + 4):
        size = size << 8 | data[place]
    if size > most:
        raise Flaw(BIG, f"a frame has {size} bytes, and {most} are the most")
    if size < LEAST:
        raise Flaw(INVALID, f"a frame of {size} bytes has no head")
    return at + 4 + size


def head(tape: Tape) -> tuple[int, bytes]:
    """The kind of a frame, and its mark: the numbers under which it is answered."""
    kind = tape.byte()
    flags = tape.cut(4)
    if not flags[3] & 1:
        raise Flaw(FRAGMENT, "frames are taken whole, and not in parts")
    at = tape.at
    tape.number()
    tape.number()
    return kind, tape.data[at : tape.at]


def terms(tape: Tape) -> Terms:
    """What a frame says, by names, to its end."""
    found: Terms = {}
    while tape.at < tape.end:
        name = tape.word().decode("latin-1")
        found[name] = tape.value()
    return found


def messages(tape: Tape) -> list[Terms]:
    """The arguments of each message in a frame; what a message is called makes no difference."""
    found: list[Terms] = []
    while tape.at < tape.end:
        if len(found) == MESSAGES:
            raise Flaw(INVALID, f"a frame has more than {MESSAGES} messages")
        tape.word()
        count = tape.byte()
        said: Terms = {}
        while count > 0:
            name = tape.word().decode("latin-1")
            said[name] = tape.value()
            count -= 1
        found.append(said)
    return found


def varint(number: int) -> bytes:
    """A number, as `Tape.number` reads it."""
    if number < LONG:
        return SHORT[number]
    found = bytearray((number & 15 | LONG,))
    number = (number - LONG) >> 4
    while number >= 128:
        found.append(number & 127 | 128)
        number = (number - 128) >> 7
    found.append(number)
    return bytes(found)


def word(text: bytes) -> bytes:
    """Bytes, with how many there are before them."""
    return varint(len(text)) + text


def typed(kind: int, value: Value) -> bytes:
    """A value that says of which type it is."""
    if isinstance(value, bytes):
        return b"%c" % kind + word(value)
    if isinstance(value, str):
        if kind == STRING:
            return b"%c" % kind + word(value.encode("latin-1", "replace"))
        return b"%c" % kind + inet_pton(AF_INET if kind == IPV4 else AF_INET6, value)
    if kind == NULL or value is None:
        return b"\0"
    if kind == BOOL:
        return b"%c" % (BOOL | TRUE if value else BOOL)
    return b"%c" % kind + varint(value & TOP)


def frame(kind: int, mark: bytes, payload: bytes) -> bytes:
    """A whole frame."""
    said = b"%c%b%b%b" % (kind, FIN, mark, payload)
    return len(said).to_bytes(4) + said


def listed(said: dict[bytes, bytes]) -> bytes:
    """Typed values by their names."""
    return b"".join([word(name) + value for name, value in said.items()])


def hello(size: int) -> bytes:
    """The greeting of an agent that takes frames of so many bytes."""
    said = {
        b"version": typed(STRING, "2.0"),
        b"max-frame-size": typed(UINT32, size),
        b"capabilities": typed(STRING, "pipelining"),
    }
    return frame(AGENT_HELLO, UNMARKED, listed(said))


def farewell(status: int, message: str) -> bytes:
    """The last that an agent says."""
    said = {b"status-code": typed(UINT32, status), b"message": typed(STRING, message)}
    return frame(AGENT_DISCONNECT, UNMARKED, listed(said))


def setting(name: str) -> bytes:
    """The beginning of what sets a variable of a transaction; its value follows."""
    return b"\x01\x03\x02" + word(name.encode("ascii"))


def unsetting(name: str) -> bytes:
    """What leaves a variable of a transaction without a value."""
    return b"\x02\x02\x02" + word(name.encode("ascii"))
