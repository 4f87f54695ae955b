"""Ledgers on Redis: the verbs of a limiter as questions to a script, and its replies as decisions.

Time is the server's, in microseconds, unless the limiter has a clock of its own making: then the
clock's time goes along with every question, so that tests move it as they move any other.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from headgate.algorithms.calendar import frame
from headgate.algorithms.fixed_window import DATED, FixedWindow
from headgate.algorithms.limit import Limit
from headgate.decision import Decision
from headgate.stores.flat.rows import MOST
from headgate.stores.leases.lease import Lease
from headgate.stores.redis import script
from headgate.stores.redis.names import prefix, tag
from headgate.stores.redis.wire import DECISION, NONCE, Call, Question, bulk
from headgate.stores.store import FAR

ANSWER = struct.Struct("<Bqqq").unpack_from
MOMENT = struct.Struct("<q").unpack_from
LENGTH = struct.Struct("<I").unpack_from
# Where the server's time stands in a reply, and where what a booking changed begins.
TIME = NONCE + DECISION
CHANGED = TIME + 8
# The reply of a script that has the wrong page of the calendar.
TURNED = 255
# The last of the verdicts that a script gives: yes, not now, never.
LAST = 2
# No number in a reply is greater, so that what is added to it is a number still.
GREATEST = 1 << 62
OPEN = b"$8\r\n"
CLOSE = b"\r\n"

# So many names of keys no longer than this are remembered: strangers choose them.
KNOWN = 10_000
LONGEST = 128

# Puts what a phrase says of its arguments to a server, and reads the reply.
Ask = Callable[..., Any]


class Memo(NamedTuple):
    """What a booking changed on the server, and the moment it is due by the server's time."""

    due: int
    before: bytes
    after: bytes


class Tongue:
    """How a set of limits is spoken of to a server: questions out, decisions in."""

    def __init__(self, limits: tuple[Limit, ...], name: str, given: bool) -> None:
        if not 1 <= len(limits) <= MOST:
            raise ValueError(f"a limiter has from 1 to {MOST} limits, not {len(limits)}")
        self.limits = limits
        self.given = given
        self.prefix = prefix(limits, name)
        self.known: dict[str, tuple[bytes, bytes, bytes]] = {}
        short = script.take(limits)
        self.short = None if short is None else Call(short, 2)
        self.timed = None if short is None else Call(short, 4)
        self.often = None if short is None else Call(short, 5)
        self.calendars = [
            limit for limit in limits if isinstance(limit, FixedWindow) and limit.calendar
        ]
        self.pages: list[bytes] = [b""] * len(self.calendars)
        long = script.verbs(limits)
        self.long = Call(long, 6 if not self.calendars else 8 + len(self.calendars))
        self.longest = Call(long, 8 + len(self.calendars))
        if self.calendars:
            self.turn(0)

    def take(self, key: str, cost: int, now: int, patience: int) -> Question:
        """Spend if it may enter in time."""
        if self.short is None or self.timed is None or cost == 0:
            return self.verb("take" if cost else "peek", key, cost, now, patience)
        if not self.given and not patience:
            place, quick, joint = self.known.get(key) or self.name(key)
            if cost == 1:
                return Question(self.short, place, quick, ONE, joint, AGAIN)
            return Question(self.short, place, quick, CLOSE + number(cost))
        if not self.given:
            return self.verb("take", key, cost, now, patience)
        place, _, joint = self.known.get(key) or self.name(key)
        rest = CLOSE + number(cost) + number(patience) + number(now)
        return Question(self.timed, place, self.timed.quick + bulk(place) + OPEN, rest, joint, rest)

    def verb(
        self, verb: str, key: str, cost: int, now: int, patience: int = 0, due: int = 0,
        memo: Memo | None = None,
    ) -> Question:  # fmt: skip
        """Any verb: what is asked, for when, and what it is about."""
        place, _, _ = self.known.get(key) or self.name(key)
        words = [bulk(verb.encode()), number(cost), number(patience)]
        words += [number(now) if self.given else bulk(b""), number(due)]
        call = self.long
        if memo is not None or self.calendars:
            before, after = (memo.before, memo.after) if memo else (b"", b"")
            words += [bulk(before), bulk(after), *self.pages]
            call = self.longest
        quick = call.quick + bulk(place) + OPEN
        return Question(call, place, quick, CLOSE + b"".join(words))

    def name(self, key: str) -> tuple[bytes, bytes, bytes]:
        """The key as the server knows it, and how a short take of it begins, or several at once.

        It is remembered a while.
        """
        place = self.prefix + tag(key)
        opened = bulk(place) + OPEN
        quick = self.short.quick + opened if self.short else b""
        named = place, quick, self.often.quick + opened if self.often else b""
        if len(key) <= LONGEST:
            if len(self.known) >= KNOWN:
                self.known.clear()
            self.known[key] = named
        return named

    def decision(self, reply: bytes) -> Decision:
        """What a reply says."""
        code, wait, remaining, reset = ANSWER(reply, NONCE)
        # Asked here, because compiled nobody else asks, and a server may say anything.
        known = code & 15 < len(self.limits) and code >> 4 <= LAST
        if not known or min(wait, reset) < 0 or max(wait, remaining, reset) > GREATEST:
            raise ValueError("no script of ours answers so")
        limit = self.limits[code & 15]
        decision = Decision.__new__(Decision)
        decision.fill(code >> 4, limit.limit, max(0, remaining), wait, reset, limit)
        return decision

    def nothing(self, reply: bytes) -> None:
        """A reply that says no more than that it was done."""

    def booking(self, reply: bytes) -> tuple[Decision, Memo]:
        """What a reply to a booking says, and how to undo it."""
        decision = self.decision(reply)
        wait = ANSWER(reply, NONCE)[1]
        size = LENGTH(reply, CHANGED)[0]
        changed = reply[CHANGED + 4 :]
        due = MOMENT(reply, TIME)[0] + wait
        return decision, Memo(due, changed[:size], changed[size:])

    def lease(self, reply: bytes) -> Lease:
        """What a reply to a lease says."""
        code, units, remaining, reset = ANSWER(reply, NONCE)
        decision, moment = self.decision(reply), MOMENT(reply, TIME)[0]
        if code >> 4:
            if code >> 4 == LAST:
                raise ValueError("what can never fit is not leased")
            return Lease(0, decision, moment)
        if not 1 <= units <= FAR:
            raise ValueError("no lease of ours is so large, or so small")
        decision.fill(0, decision.limit, max(0, remaining), 0, reset, self.limits[code & 15])
        return Lease(units, decision, moment)

    def turned(self, reply: bytes) -> bool:
        """Whether the reply says no more than that the calendar's page has turned; ours is then."""
        if not self.calendars or reply[NONCE] != TURNED:
            return False
        self.turn(MOMENT(reply, TIME)[0])
        return True

    def turn(self, now: int) -> None:
        """Write out where the windows around `now` begin and end, for the server to go by."""
        for place, limit in enumerate(self.calendars):
            first, begin, end = frame(now, limit.calendar, limit.zone)
            ends = [end]
            while len(ends) < DATED:
                end = frame(end, limit.calendar, limit.zone)[2]
                ends.append(end)
            self.pages[place] = bulk(struct.pack(f"<{DATED + 2}q", first, begin, *ends))


class RedisLedger:
    """A ledger on Redis. Its verbs answer as the store that opened it does: at once, or awaited.

    `ask` carries a question to the server and reads the reply; it is all that has a colour.
    """

    def __init__(
        self, tongue: Tongue, ask: Ask, forget: Callable[[bytes], Any], call: Any = None
    ) -> None:
        self.tongue = tongue
        self._ask = ask
        self._forget = forget
        self._call = call
        # Whether `call` can be used: what goes by the calendar may take two journeys.
        self.direct = call is not None and not tongue.calendars

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The limits it goes by."""
        return self.tongue.limits

    def take(self, key: str, cost: int, now: int, patience: int) -> Any:
        """Spend `cost` if it may enter within `patience` microseconds; all limits or none."""
        tongue = self.tongue
        return self._ask(tongue, tongue.decision, tongue.take, key, cost, now, patience)

    def call(self, key: str, cost: int, now: int, reply: Any) -> None:
        """`take`, and `reply` is told as a future is."""
        self._call(self.tongue.take(key, cost, now, 0), self.tongue.decision, reply)

    def take_many(self, keys: Sequence[str], cost: int, now: int) -> Any:
        """Decide for each key in turn, all in one journey."""
        tongue = self.tongue
        return self._ask(tongue, tongue.decision, tongue.take, list(keys), cost, now, 0)

    def peek(self, key: str, cost: int, now: int) -> Any:
        """What `take` would answer; nothing is spent."""
        return self._verb(self.tongue.decision, "peek", key, cost, now)

    def charge(self, key: str, cost: int, now: int, due: int) -> Any:
        """Spend `cost` whatever is left, or give it back if negative."""
        return self._verb(self.tongue.decision, "charge", key, cost, now, 0, due)

    def book(self, key: str, cost: int, now: int, patience: int) -> Any:
        """`take`, and a memo by which `release` can undo it."""
        return self._verb(self.tongue.booking, "book", key, cost, now, patience)

    def release(self, key: str, cost: int, now: int, due: int, memo: Memo) -> Any:
        """Undo a booking, to the letter if nothing came after it and its state is kept whole."""
        when = due if self.tongue.given else memo.due
        return self._verb(self.tongue.nothing, "release", key, cost, now, 0, when, memo)

    def lease(
        self, key: str, cost: int, now: int, want: int, least: int, back: int = 0, moment: int = 0
    ) -> Any:
        """Take up to `want` units, at least `least`, to be spent elsewhere.

        `back` units of a lease taken at `moment` are given back first.
        """
        memo = Memo(0, b"%d" % back, b"%d" % moment) if back else None
        return self._verb(self.tongue.lease, "lease", key, cost, now, want, least, memo)

    def forget(self, key: str) -> Any:
        """Make `key` as if it had never been seen."""
        return self._forget(self.tongue.prefix + tag(key))

    def _verb(self, read: Callable[[bytes], Any], *said: Any) -> Any:
        return self._ask(self.tongue, read, self.tongue.verb, *said)


def number(value: int) -> bytes:
    return bulk(b"%d" % value)


ONE = CLOSE + number(1)
# The same with no patience, at the server's time; how often follows.
AGAIN = ONE + number(0) + bulk(b"")
