"""How a set of limits is spoken of to a service: questions out, decisions in.

    HG.ASK handle key nonce cost [times]                                take, as often as that
    HG.ASK handle key nonce verb cost patience now due what more        any verb
    HG.OPEN limits key nonce ...                                        the same, limits in full
    HG.BEAT name nonce                                                  a sign of life

The handle is a digest of the limits as they are spelled. A service that does not know it refuses
with NOSCRIPT, as a Redis does that does not know a script; then the limits are spelled in full. An
answer begins with the nonce. Then comes what was decided: a byte whose low half is the number of
the limit and whose high half is what it said, and three numbers, the wait, what is left, and the
time until all is as new; of a verb, the moment by the service's time; of a booking, its ticket.
"""

from __future__ import annotations

import hashlib
import os
import struct
import uuid
from math import inf
from typing import NamedTuple

from headgate.algorithms.limit import Limit
from headgate.decision import Decision
from headgate.stores.leases.lease import Lease
from headgate.stores.redis.ledger import CLOSE, GREATEST, ONE, OPEN, number
from headgate.stores.redis.names import digest
from headgate.stores.redis.pulse import MOST
from headgate.stores.redis.script import Script
from headgate.stores.redis.wire import NONCE, Call, Question, bulk
from headgate.stores.remote.spelling import spell
from headgate.stores.store import FAR

ASK = b"*%d\r\n$6\r\nHG.ASK\r\n$40\r\n%b\r\n"
FULL = b"*%d\r\n$7\r\nHG.OPEN\r\n$%d\r\n%b\r\n"
BEAT = b"*%d\r\n$7\r\nHG.BEAT\r\n$32\r\n%b\r\n"
AGAIN = b"*%d\r\n$7\r\nHG.BEAT\r\n$%d\r\n%b\r\n"

VERDICT = struct.Struct("<Bqqq")
MOMENT = struct.Struct("<q")
TICKET = 16
# Where the time stands in an answer, and where a ticket begins.
TIME = NONCE + VERDICT.size
END = TIME + MOMENT.size
# What is said in the high half of the first byte: yes, not now, never, and that the store behind
# the service could not be asked; beside it, whether that was decided without that store.
YES, NOT_NOW, NEVER, UNKNOWN = range(4)
DEGRADED = 64

# A key no longer than this is told as it is, a longer one by its digest.
LONGEST = 512


class Memo(NamedTuple):
    """When a booking is due by the service's time, and the service's name for it."""

    due: int
    ticket: bytes


def handle(text: bytes) -> bytes:
    """What limits spelled so are called, in forty characters."""
    return hashlib.blake2b(text, digest_size=20).hexdigest().encode()


class Tongue:
    """Writes the questions about a set of limits and reads the answers.

    With `told`, each question brings the time at which it is asked.
    """

    # A service looks into the calendar itself.
    calendars = ()

    def __init__(self, limits: tuple[Limit, ...], name: str, told: bool) -> None:
        self.limits = limits
        self.told = told
        text = spell(limits, name, told)
        self.script = Script(text, handle(text))
        # A call says what a script's does but for the number of keys, and has a word less.
        self.short = self._call(1)
        self.often = self._call(2)
        self.long = self._call(7)

    def _call(self, arguments: int) -> Call:
        return Call(self.script, arguments, ASK, FULL)

    def take(self, key: str, cost: int, now: int, patience: int) -> Question:
        """Spend if it may enter in time."""
        if cost == 0 or patience or self.told:
            return self.verb("take", key, cost, now, patience)
        named = bulk(called(key))
        slot = self.script.sha + named
        if cost > 1:
            return Question(self.short, slot, self.short.quick + named + OPEN, CLOSE + number(cost))
        head, joint = self.short.quick + named + OPEN, self.often.quick + named + OPEN
        return Question(self.short, slot, head, ONE, joint, ONE)

    def verb(
        self, verb: str, key: str, cost: int, now: int, patience: int = 0, due: int = 0,
        what: bytes = b"", more: bytes = b"",
    ) -> Question:  # fmt: skip
        """Any verb: what is asked, for when, and what it is about."""
        named = bulk(called(key))
        words = [bulk(verb.encode()), number(cost), number(patience)]
        words += [number(now) if self.told else bulk(b""), number(due), bulk(what), bulk(more)]
        return Question(
            self.long, self.script.sha + named, self.long.quick + named + OPEN,
            CLOSE + b"".join(words),
        )  # fmt: skip

    def decision(self, reply: bytes) -> Decision:
        """What an answer says."""
        code, wait, remaining, reset = VERDICT.unpack_from(reply, NONCE)
        verdict = code >> 4 & 3
        # A service may say anything.
        sound = code < 2 * DEGRADED and code & 15 < len(self.limits)
        if not sound or min(wait, reset) < 0 or max(wait, remaining, reset) > GREATEST:
            raise ValueError("no service of ours answers so")
        limit = self.limits[code & 15]
        if code < DEGRADED and verdict != UNKNOWN:
            decision = Decision.__new__(Decision)
            decision.fill(verdict, limit.limit, max(0, remaining), wait, reset, limit)
            return decision
        return Decision(
            verdict == YES,
            limit.limit,
            max(0, remaining),
            inf if verdict == NEVER else wait / 1e6,
            reset / 1e6,
            limit.name,
            True,
            "unavailable" if verdict == UNKNOWN else "",
        )

    def nothing(self, reply: bytes) -> None:
        """An answer that says no more than that it was done."""

    def booking(self, reply: bytes) -> tuple[Decision, Memo]:
        """What an answer to a booking says, and how to undo it."""
        decision = self.decision(reply)
        wait = VERDICT.unpack_from(reply, NONCE)[1]
        due = MOMENT.unpack_from(reply, TIME)[0] + wait
        return decision, Memo(due, reply[END : END + TICKET])

    def lease(self, reply: bytes) -> Lease:
        """What an answer to a lease says: in place of the wait, how many units were given."""
        code, units, remaining, reset = VERDICT.unpack_from(reply, NONCE)
        decision, moment = self.decision(reply), MOMENT.unpack_from(reply, TIME)[0]
        if not decision:
            if code >> 4 & 3 == NEVER:
                raise ValueError("what can never fit is not leased")
            return Lease(0, decision, moment)
        if not 1 <= units <= FAR:
            raise ValueError("no lease of ours is so large, or so small")
        if not decision.degraded:
            limit = self.limits[code & 15]
            decision.fill(YES, limit.limit, max(0, remaining), 0, reset, limit)
        return Lease(units, decision, moment)


class Pulse:
    """This process among those that use a service."""

    def __init__(self) -> None:
        self._process = 0

    def sign(self) -> Question:
        """The question that says: I am here. Who else is?"""
        if self._process != os.getpid():
            name = uuid.uuid4().hex.encode()
            # No key and no argument: two words less than a script is called with.
            self._process, self._call = os.getpid(), Call(Script(name, name), -1, BEAT, AGAIN)
        return Question(self._call, b"", self._call.quick + OPEN, CLOSE)

    def read(self, reply: bytes) -> int:
        """How many there are."""
        return min(MOST, max(1, int(MOMENT.unpack_from(reply, NONCE)[0])))


def called(key: str) -> bytes:
    """A key as the service hears it."""
    said = key.encode("utf-8", "surrogatepass")
    return said if len(said) <= LONGEST else digest(key).encode()
