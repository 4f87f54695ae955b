"""Throttle: limits that each command brings along, as redis-cell and throttlecrab take them.

    CL.THROTTLE key max_burst count period [quantity]    0 or 1 if limited, limit, remaining,
                                                         retry after, reset after
    THROTTLE key max_burst count period [quantity]       1 or 0 if limited, limit, remaining,
                                                         reset after, retry after

The first lets `max_burst` in at once and one more, the second `max_burst`. Times are whole seconds,
rounded up. In the first, who need not come back, or need never, is told to do so after -1 seconds.

There, a key has one arrival time, whatever numbers it comes with. Here each set of numbers keeps
its own, so that its arithmetic is exact; when a key comes with others than last time, what it still
has to wait until all is as new goes along, in whole units, rounded up. That is remembered of the
latest `KNOWN` keys, in each process for itself.
"""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from typing import Any

from headgate.algorithms.gcra import GCRA
from headgate.decision import Decision
from headgate.drive import Flow, adrive, drive
from headgate.limiter import Limiter
from headgate.measures import MILLION
from headgate.rate import Rate
from headgate.service.resp.numbers import brief, whole
from headgate.service.resp.spoken import celled, crabbed, denied

KNOWN = 100_000
MOST = 1 << 50
# No number of the protocol is larger.
GREATEST = (1 << 63) - 1
ZERO = "zero rates are not supported; count and period are 1 or more"

# A key with its numbers: which of the two, and max_burst, count and period as they were said.
Word = tuple[str, bytes, bytes, bytes]


class Throttle:
    """Answers both, for all who ask a hall."""

    def __init__(self, hall: Any) -> None:
        self.hall = hall
        self._last: dict[tuple[str, bytes], Word] = {}

    def cell(self, guest: Any, words: list[bytes]) -> bytes | Awaitable[bytes]:
        """`CL.THROTTLE`."""
        return self._ask("cl.throttle", guest, words)

    def crab(self, guest: Any, words: list[bytes]) -> bytes | Awaitable[bytes]:
        """`THROTTLE`."""
        return self._ask("throttle", guest, words)

    def _ask(self, verb: str, guest: Any, words: list[bytes]) -> bytes | Awaitable[bytes]:
        if guest.caller is not None and not guest.caller.may(verb):
            return denied(guest.caller, verb)
        word = (verb, words[2], words[3], words[4])
        cost = whole(words[5], 0, MOST, "quantity") if len(words) > 5 else 1
        limiter = self._limiter(word)
        key = words[1].decode("utf-8", "surrogateescape")
        mark = (verb, brief(words[1]))
        before = self._last.get(mark)
        if before == word:
            answer = limiter.take(key, cost)
        else:
            self._note(mark, word)
            answer = self._move(before or word, limiter, key, cost)
        if isinstance(answer, Decision):
            return self._told(answer, word, cost)
        return self._later(answer, word, cost)

    def _limiter(self, word: Word) -> Any:
        return self.hall.teller.sets.seek(word, partial(meant, word), word[0])

    def _note(self, key: tuple[str, bytes], word: Word) -> None:
        if len(self._last) >= KNOWN and key not in self._last:
            del self._last[next(iter(self._last))]
        self._last[key] = word

    def _move(self, before: Word, limiter: Any, key: str, cost: int) -> Any:
        old = self._limiter(before)
        if old is limiter:
            return limiter.take(key, cost)
        flow = moved(old, limiter, key, cost)
        if isinstance(limiter, Limiter):
            return drive(flow, perform)
        return adrive(flow, perform)

    def _told(self, decision: Decision, word: Word, cost: int) -> bytes:
        if not decision.allowed:
            self.hall.refused += 1
        if word[0] == "cl.throttle":
            return celled(decision)
        # How long it takes until so much has come, whether or not there is room for it.
        enough = -(-cost * int(word[3]) // int(word[2]))
        return crabbed(decision, min(enough, GREATEST))

    async def _later(self, answer: Awaitable[Decision], word: Word, cost: int) -> bytes:
        return self._told(await answer, word, cost)


def perform(effect: Any) -> Any:
    """Do one thing with a limiter, or give it to be awaited."""
    verb, *said = effect
    return verb(*said)


def moved(old: Any, new: Any, key: str, cost: int) -> Flow[Decision]:
    """Take from one limiter what was asked, once it knows what a key owes another."""
    seen: Decision = yield old.peek, key, 0
    if seen.reset_after:
        yield old.reset, key
        limit = new.limits[0]
        owed = seen.reset_after * MILLION * limit.rate.count
        units = -(-round(owed) // limit.rate.period)
        yield new.debit, key, min(units, limit.heaviest)
    decision: Decision = yield new.take, key, cost
    return decision


def meant(word: Word) -> tuple[GCRA]:
    """The limit that the numbers of a command mean."""
    verb, burst, count, period = word
    most = whole(burst, 0, MOST, "max_burst") + (verb == "cl.throttle")
    units, seconds = whole(count, 0, MOST, "count"), whole(period, 0, MOST, "period")
    if not units or not seconds:
        raise ValueError(ZERO)
    if not most:
        raise ValueError("max_burst is 1 or more, or nothing would ever be let in")
    return (GCRA(Rate.of(units, seconds * MILLION, most)),)
