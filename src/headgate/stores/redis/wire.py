"""The wire: how questions are written to a Redis server, and what its refusals mean.

Every question to a script carries a nonce of eight bytes, and the answer begins with it: a reply
that belongs to another question is noticed, and the connection it came on is given up.
"""

from __future__ import annotations

import struct
from typing import Any

from headgate.errors import MissingExtra, StoreUnavailable
from headgate.stores.redis.script import Script

# How long a question's nonce is, and a decision in a reply.
NONCE = 8
DECISION = 25
WIDE = struct.Struct("<Q").pack
# What dialling may raise: names that cannot be names are no OSError.
TROUBLE = (OSError, UnicodeError, OverflowError, ValueError)
# What reading nonsense raises.
STRANGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error)
# How a script of one key is called: by its name, or with its text.
EVALSHA = b"*%d\r\n$7\r\nEVALSHA\r\n$40\r\n%b\r\n$1\r\n1\r\n"
EVAL = b"*%d\r\n$4\r\nEVAL\r\n$%d\r\n%b\r\n$1\r\n1\r\n"
ASKING = b"*1\r\n$6\r\nASKING\r\n"


class Unsent(StoreUnavailable):
    """The question never left: it may be asked elsewhere without being charged twice."""


class Call:
    """How a script is called with so many arguments after its key: by its name, or in full."""

    __slots__ = ("full", "quick")

    def __init__(
        self, script: Script, arguments: int, quick: bytes = EVALSHA, full: bytes = EVAL
    ) -> None:
        count = arguments + 4
        self.quick = quick % (count, script.sha)
        self.full = full % (count, len(script.text), script.text)


class Question:
    """A call about a key: what stands on the wire before the nonce, by name or in full, and after.

    `slot` is the key as the server knows it, which tells where in a cluster it is. One that can be
    put several times at once begins with `joint` then, and ends with `along` and how often.
    """

    __slots__ = ("along", "call", "joint", "quick", "rest", "slot")

    def __init__(
        self, call: Call, slot: bytes, quick: bytes, rest: bytes, joint: bytes = b"",
        along: bytes = b"",
    ) -> None:  # fmt: skip
        self.call = call
        self.slot = slot
        self.quick = quick
        self.rest = rest
        self.joint = joint
        self.along = along

    @property
    def full(self) -> bytes:
        """The same with the whole script."""
        return self.call.full + self.quick.removeprefix(self.call.quick)


def bulk(text: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(text), text)


def command(*words: bytes | str | int) -> bytes:
    """A plain command as the server reads it."""
    told = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(told) + b"".join(map(bulk, told))


def nonces(number: int) -> bytes:
    """The nonce of the question with that number."""
    return WIDE(number & 0xFFFF_FFFF_FFFF_FFFF)


def reader() -> Any:
    """A reader of replies, which gives errors as values."""
    try:
        import hiredis  # noqa: PLC0415 - only those who keep state on Redis need it
    except ImportError:
        raise MissingExtra("redis") from None
    return hiredis.Reader(replyError=Refusal, protocolError=Garbled)


class Refusal(Exception):
    """The server's own no; its first word says which."""

    @property
    def word(self) -> str:
        """The first word of it."""
        return str(self).partition(" ")[0]


class Garbled(Exception):
    """Bytes that are not the protocol."""


def belongs(reply: Any, nonce: bytes) -> bool:
    """Whether a reply answers the question with that nonce."""
    if type(reply) is bytes:
        return reply.startswith(nonce)
    return isinstance(reply, Refusal)


def refused(refusal: Refusal, where: object) -> StoreUnavailable:
    """A server's refusal as our own error; it names the server and no key."""
    return StoreUnavailable(f"{where} refuses: {refusal}", refusal.word.lower(), False)


def foreign(where: object) -> StoreUnavailable:
    """A reply came that belongs to no question, or to another one."""
    return StoreUnavailable(f"{where} sent a reply that answers another question", "protocol")


def late(where: object, budget: float) -> StoreUnavailable:
    """No answer within the budget."""
    return StoreUnavailable(f"{where} did not answer within {budget:g} s", "timeout")


def lost(where: object, problem: object) -> StoreUnavailable:
    """The connection broke while questions were on their way."""
    return StoreUnavailable(f"the connection to {where} broke: {problem}", "connection")


def unreached(where: object, problem: object) -> StoreUnavailable:
    """There is no connection; nothing was sent."""
    return Unsent(f"{where} cannot be reached: {problem}", "connection", False)


def crowded(where: object, most: int) -> StoreUnavailable:
    """Too many wait for a server already."""
    return StoreUnavailable(f"{most:,} questions wait for {where} already", "crowded", False)


def again(problem: StoreUnavailable) -> StoreUnavailable:
    """The same problem for another caller: an exception keeps the traces of all who raise it."""
    return type(problem)(*problem.args)
