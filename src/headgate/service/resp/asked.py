"""Asked: limits of programs that keep their state here, see `stores/remote/tongue.py`.

What a program does not say again is remembered: limits by their handles, bookings by their tickets.
All of that is bounded, and what was forgotten is told anew, or done as well as it can be.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Awaitable
from typing import Any

from headgate.clock import microseconds
from headgate.decision import Decision
from headgate.measures import MILLION
from headgate.service.resp.lending import lend
from headgate.service.resp.numbers import Wrong, brief, whole
from headgate.service.resp.spoken import bulk, denied, error, verdict
from headgate.stores.leases.lease import Lease
from headgate.stores.remote.spelling import Spelled, read
from headgate.stores.remote.tongue import MOMENT, TICKET, handle
from headgate.stores.store import FAR

# So many limits are known by their handles, so many bookings by their tickets, and so many
# processes by their signs of life, which last for so many microseconds.
KNOWN, TICKETS, ALIVE = 10_000, 10_000, 10_000
LASTING = 15 * MILLION
MOST = 1 << 50
# Bookings lie up to a hundred years ahead of `now`, which is FAR at most; all steps, in Lua too,
# are exact for integers up to here.
LATEST_DUE = 1 << 53
TIMES = 1000
NONCE = 64
UNHEARD = error("these limits are not known by that name; tell them in full", "NOSCRIPT")


class Asked:
    """Answers the stores of programs, for all who ask a hall."""

    def __init__(self, hall: Any) -> None:
        self.hall = hall
        self._known: OrderedDict[bytes, Spelled] = OrderedDict()
        self._tickets: OrderedDict[bytes, tuple[Any, Any]] = OrderedDict()
        self._alive: OrderedDict[bytes, int] = OrderedDict()

    def open(self, guest: Any, words: list[bytes]) -> bytes | Awaitable[bytes]:
        """`HG.OPEN`: the limits are told in full."""
        spelled = read(words[1])
        words[1] = handle(words[1])
        self._known[words[1]] = spelled
        if len(self._known) > KNOWN:
            self._known.popitem(last=False)
        return self.ask(guest, words)

    def ask(self, guest: Any, words: list[bytes]) -> bytes | Awaitable[bytes]:
        """`HG.ASK`."""
        spelled = self._known.get(words[1])
        if spelled is None:
            return UNHEARD
        if guest.caller is not None and not guest.caller.may(spelled.name):
            return denied(guest.caller, spelled.name)
        if len(words[3]) > NONCE:
            raise Wrong(f"a nonce has at most {NONCE} bytes")
        limiter = self.hall.teller.sets.seek(words[1], spelled.open, spelled.name)
        # The one within, if it is one for event loops.
        plain = getattr(limiter, "_limiter", limiter)
        now = plain.clock.now()
        if len(words) <= 6:
            return self._take(plain.ledger, now, words)
        if len(words) != 11:
            raise Wrong("after a nonce come a cost and how often, or a verb and six words")
        return Question(self, plain.ledger, spelled, now, words).answer()

    def beat(self, guest: Any, words: list[bytes]) -> bytes:
        """`HG.BEAT`: how many have given a sign of life lately."""
        now, alive = self.hall.house.now, self._alive
        alive[words[1][:NONCE]] = now
        alive.move_to_end(words[1][:NONCE])
        while len(alive) > ALIVE or next(iter(alive.values())) <= now - LASTING:
            alive.popitem(last=False)
        return bulk(words[2][:NONCE] + MOMENT.pack(len(alive)))

    def _take(self, found: Any, now: int, words: list[bytes]) -> bytes | Awaitable[bytes]:
        key = words[2].decode("utf-8", "surrogateescape")
        cost = whole(words[4], 1, MOST, "cost")
        if len(words) == 5:
            answer = found.take(key, cost, now, 0)
            if isinstance(answer, Decision):
                return bulk(words[3] + self.tell(answer, found.limits))
            return self._later([answer], found.limits, words[3])
        times = whole(words[5], 1, TIMES, "times")
        answers = [found.take(key, cost, now, 0) for _ in range(times)]
        if isinstance(answers[0], Decision):
            return bulk(words[3] + b"".join([self.tell(one, found.limits) for one in answers]))
        return self._later(answers, found.limits, words[3])

    async def _later(self, answers: list[Any], limits: Any, nonce: bytes) -> bytes:
        found = await asyncio.gather(*answers)
        return bulk(nonce + b"".join(self.tell(one, limits) for one in found))

    def tell(self, decision: Decision, limits: Any, units: int = 0) -> bytes:
        """A decision on the wire; in place of the wait, how many units were lent."""
        if not decision.allowed:
            self.hall.refused += 1
        return verdict(decision, number(decision, limits), units)

    def keep(self, memo: Any, terms: Any) -> bytes:
        """A ticket for a booking."""
        ticket = os.urandom(TICKET)
        self._tickets[ticket] = (memo, terms)
        if len(self._tickets) > TICKETS:
            self._tickets.popitem(last=False)
        return ticket

    def claim(self, ticket: bytes, terms: Any) -> Any:
        """What is known of a booking, once; None if that was forgotten, or is another's."""
        memo, kept = self._tickets.get(ticket, (None, None))
        if kept != terms:
            return None
        del self._tickets[ticket]
        return memo


class Question:
    """One verb about one key, with the words that were said of it."""

    __slots__ = (
        "asked", "cost", "due", "key", "ledger", "more", "now", "patience", "verb", "what", "words",
    )  # fmt: skip

    def __init__(
        self, asked: Asked, ledger: Any, spelled: Spelled, now: int, words: list[bytes]
    ) -> None:
        self.asked = asked
        self.ledger = ledger
        self.words = words
        heaviest = min(limit.heaviest for limit in spelled.limits)
        self.key = words[2].decode("utf-8", "surrogateescape")
        self.verb = words[4]
        self.cost = whole(words[5], -heaviest, MOST, "cost")
        self.patience = whole(words[6], 0, FAR, "patience")
        self.now = now
        self.due = whole(words[8], 0, LATEST_DUE, "due")
        self.what, self.more = words[9], words[10]
        if self.verb not in VERBS:
            raise Wrong(f"verb is one of {', '.join(verb.decode() for verb in VERBS)}")
        if self.cost < 0 and self.verb != b"charge":
            raise Wrong("cost is 0 or more; charge gives back")
        if self.verb == b"charge" and self.cost > heaviest:
            raise Wrong(f"cost is at most {heaviest} at once")
        if spelled.told:
            if not hasattr(ledger, "trust"):
                raise Wrong("these limits are kept on another server, which has its own time")
            # Not the time of our clock, which never goes back.
            ledger.trust(None)
            self.now = whole(words[7], 0, FAR, "now")

    def answer(self) -> bytes | Awaitable[bytes]:
        """Do it; what is said then, or will be."""
        done = VERBS[self.verb](self)
        if hasattr(done, "__await__"):
            return self._later(done)
        return self.told(done)

    def told(self, done: Any) -> bytes:
        """What is said when it is done."""
        tell, limits = self.asked.tell, self.ledger.limits
        moment, ticket = self.now, b""
        if isinstance(done, Lease):
            said = tell(done.decision, limits, done.units)
            moment = done.moment
        elif isinstance(done, tuple):
            decision, memo = done
            said = tell(decision, limits)
            if decision and hasattr(memo, "due"):
                # Kept on another server, it is due by the time of that one.
                moment = memo.due - microseconds(decision.retry_after)
            ticket = self.asked.keep(memo, self._terms())
        else:
            said = tell(Decision(True) if done is None else done, limits)
        return bulk(self.words[3] + said + MOMENT.pack(moment) + ticket)

    async def _later(self, done: Awaitable[Any]) -> bytes:
        return self.told(await done)

    def _terms(self) -> tuple[bytes, bytes, int]:
        return self.words[1], brief(self.words[2]), self.cost

    def take(self) -> Any:
        return self.ledger.take(self.key, self.cost, self.now, self.patience)

    def peek(self) -> Any:
        return self.ledger.peek(self.key, self.cost, self.now)

    def charge(self) -> Any:
        return self.ledger.charge(self.key, self.cost, self.now, self.due)

    def book(self) -> Any:
        return self.ledger.book(self.key, self.cost, self.now, self.patience)

    def release(self) -> Any:
        memo = self.asked.claim(self.what, self._terms())
        if memo is None:
            return self.ledger.charge(self.key, -self.cost, self.now, self.due)
        return self.ledger.release(self.key, self.cost, self.now, self.due, memo)

    def forget(self) -> Any:
        return self.ledger.forget(self.key)

    def lease(self) -> Any:
        back = whole(self.what, 0, MOST, "what goes back") if self.what else 0
        moment = whole(self.more, 0, FAR, "moment") if self.more else 0
        terms = self.key, self.cost, self.now, self.patience, self.due
        if hasattr(self.ledger, "lease"):
            return self.ledger.lease(*terms, back, moment)
        if back:
            self.ledger.charge(self.key, -back, self.now, moment)
        key, need, now, want, least = terms
        return lend(self.ledger, key, now, need, want, least)


VERBS = {
    b"take": Question.take,
    b"peek": Question.peek,
    b"charge": Question.charge,
    b"book": Question.book,
    b"release": Question.release,
    b"forget": Question.forget,
    b"lease": Question.lease,
}


def number(decision: Decision, limits: Any) -> int:
    """Which of the limits a decision is about."""
    if len(limits) == 1:
        return 0
    names = [place for place, limit in enumerate(limits) if limit.name == decision.rule]
    for place in names:
        if limits[place].limit == decision.limit:
            return place
    return names[0] if names else 0
