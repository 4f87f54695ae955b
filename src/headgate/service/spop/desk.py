"""Desk: what is answered to messages, whichever connection they come over.

A message with an argument `rule` asks that rule by its name. Any other describes a request, which
goes through all rules that it meets. HAProxy does not say how a request ends, so each is taken to
have ended well as soon as it is let in.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Sequence
from typing import Any

from headgate.adapters.arrivals import Reception
from headgate.decision import Decision
from headgate.errors import HeadgateError
from headgate.rules.live.entry import Entry
from headgate.service.hall import Hall
from headgate.service.spop.asked import Asked, plan, text, user, words
from headgate.service.spop.frames import FAILED, Terms, Value
from headgate.service.spop.verdict import Verdict, admitted, stricter, taken
from headgate.service.teller import Unknown
from headgate.wire.bell import Bell

logger = logging.getLogger("headgate.service")

# Beyond what the protocol numbers: what was asked has no answer, or is not for whoever asks; they
# ask more than they may.
WRONG = 100
BUSY = 101
# What callers are bound to who may have all rules asked.
ALL = "*"
# Nothing costs more than that.
DIGITS = 15
UNREADABLE = Verdict(status=400, reason="malformed")


class Desk:
    """Asks the rules for all connections of a hall."""

    def __init__(self, hall: Hall) -> None:
        self.hall = hall
        self.reception = Reception(hall.keeper, user, plan)
        self.bell = Bell(logging.WARNING, hall.house)

    def answer(self, messages: Sequence[Terms], caller: Any) -> bytes | Awaitable[bytes]:
        """The actions with which messages are answered, or what is to be awaited for them.

        They are about one request: the first no is the answer, and what comes after it is not
        asked. Else it is that of whoever has the least left.
        """
        best: Verdict | None = None
        for place, args in enumerate(messages):
            found = self.ask(args, caller)
            if type(found) is not Verdict:
                return self._answer(best, found, messages[place + 1 :], caller)
            best = stricter(best, found)
            if best.final:
                break
        return self.seal(best)

    async def _answer(
        self, best: Verdict | None, found: Any, rest: Sequence[Terms], caller: Any
    ) -> bytes:
        best = stricter(best, await self.settle(found))
        for args in rest:
            if best.final:
                break
            found = self.ask(args, caller)
            if type(found) is not Verdict:
                found = await self.settle(found)
            best = stricter(best, found)
        return self.seal(best)

    def seal(self, verdict: Verdict | None) -> bytes:
        """A verdict that is told."""
        if verdict is None:
            return b""
        self.hall.refused += verdict.limited
        return verdict.actions()

    def ask(self, args: Terms, caller: Any) -> Any:
        """The verdict about one message, or what is to be awaited for it."""
        self.hall.asked += 1
        self.hall.meters["spop"].note(0, -1)
        try:
            rule = words(args["rule"]) if "rule" in args else ""
            if caller is not None and not caller.may(rule or ALL):
                said = 'the caller "%s" at a port of HAProxy\'s has no business with "%s"'
                return self.complain(WRONG, said, caller.name, rule or ALL)
            if caller is not None and not caller.take(1):
                said = 'the caller "%s" at a port of HAProxy\'s asks too much'
                return self.complain(BUSY, said, caller.name)
            return self.take(rule, args) if "rule" in args else self.enter(args)
        except Exception as problem:
            return self.fail(problem)

    def enter(self, args: Terms) -> Any:
        """Have a request go through the rules."""
        try:
            request = Asked(args, self.reception.manners)
        except ValueError:
            return UNREADABLE
        found = self.hall.keeper.glance(request)
        if type(found) is Entry and not found.owing:
            return admitted(found)
        return self._enter(found)

    async def _enter(self, found: Any) -> Verdict:
        entry = found if type(found) is Entry else await found
        try:
            await self.hall.keeper.leave(entry, 200)
        except Exception:
            # It is let in all the same.
            logger.exception("a request that was let in could not be settled")
        return admitted(entry)

    def take(self, rule: str, args: Terms) -> Any:
        """Ask one rule."""
        cost = units(args.get("cost"))
        if cost is not None and cost < 0:
            return self.complain(WRONG, "a message has a cost that is none")
        key = words(args.get("key"))
        found = self.hall.teller.take(rule, key, cost, plan(args))
        if not isinstance(found, Decision):
            return self._take(rule, found)
        return taken(rule, found)

    async def _take(self, rule: str, found: Awaitable[Decision]) -> Verdict:
        decision = await found
        return taken(rule, decision)

    async def settle(self, found: Awaitable[Verdict]) -> Verdict:
        """The verdict, whatever goes wrong on the way to it."""
        try:
            return await found
        except Exception as problem:
            return self.fail(problem)

    def fail(self, problem: Exception) -> Verdict:
        """There is no answer: whether that is a yes is for HAProxy's configuration to say."""
        if isinstance(problem, (Unknown, ValueError)):
            return self.complain(WRONG, "a message of HAProxy's cannot be answered: %s", problem)
        if isinstance(problem, HeadgateError):
            return self.complain(FAILED, "a message of HAProxy's was not answered: %s", problem)
        logger.error("a message of HAProxy's was not answered", exc_info=problem)
        return Verdict(error=FAILED)

    def complain(self, error: int, said: str, *particulars: object) -> Verdict:
        """An error, and a line about it in the log."""
        self.bell.ring(said, *particulars)
        return Verdict(error=error)


def units(value: Value) -> int | None:
    """What a message costs; None is what its rule says, and less than nothing is no cost."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    said = text(value)
    return int(said) if said.isascii() and said.isdigit() and len(said) <= DIGITS else -1


def reached(hall: Hall) -> Desk:
    """The desk of a hall."""
    found: Desk | None = hall.things.get("spop")
    if found is None:
        found = hall.things["spop"] = Desk(hall)
    return found
