"""Ruled: limits of rules, asked by the name of the rule.

    HG.TAKE rule key [cost] [PLAN plan]          and so HG.PEEK, HG.DEBIT, HG.REFUND
    HG.RESET rule key [PLAN plan]
    HG.RULES

What is decided is told in eight parts, see `spoken.decided`. Without a cost it is what the rule
says it costs.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from headgate.decision import Decision
from headgate.service.resp.numbers import Wrong, whole
from headgate.service.resp.spoken import OK, decided, denied, spoken

MOST = 1 << 50
PLAN = b"PLAN"


class Ruled:
    """Answers for the rules of a hall."""

    def __init__(self, hall: Any) -> None:
        self.hall = hall

    def take(self, guest: Any, words: list[bytes]) -> bytes | Awaitable[bytes]:
        """`HG.TAKE`."""
        rule = words[1].decode("utf-8", "surrogateescape")
        if guest.caller is not None and not guest.caller.may(rule):
            return denied(guest.caller, rule)
        key = words[2].decode("utf-8", "surrogateescape")
        if len(words) == 3:
            answer = self.hall.teller.take(rule, key, None)
        else:
            cost, plan = terms(words)
            answer = self.hall.teller.take(rule, key, cost, plan)
        if isinstance(answer, Decision):
            return self._told(answer)
        return self._later(answer)

    def peek(self, guest: Any, words: list[bytes]) -> bytes | Awaitable[bytes]:
        """`HG.PEEK`."""
        return self._ask(guest, words, self.hall.teller.peek)

    def debit(self, guest: Any, words: list[bytes]) -> bytes | Awaitable[bytes]:
        """`HG.DEBIT`."""
        return self._ask(guest, words, self.hall.teller.debit)

    def refund(self, guest: Any, words: list[bytes]) -> bytes | Awaitable[bytes]:
        """`HG.REFUND`."""
        return self._ask(guest, words, self.hall.teller.refund)

    def reset(self, guest: Any, words: list[bytes]) -> bytes | Awaitable[bytes]:
        """`HG.RESET`."""
        rule, key = named(words)
        if guest.caller is not None and not guest.caller.may(rule):
            return denied(guest.caller, rule)
        if len(words) == 4:
            raise Wrong("after the key comes PLAN and a plan, or nothing")
        done = self.hall.teller.reset(rule, key, terms(words)[1])
        return OK if done is None else forgotten(done)

    def rules(self, guest: Any, words: list[bytes]) -> bytes:
        """`HG.RULES`: their names, of those that one may ask."""
        names = [rule["name"] for rule in self.hall.teller.rules()]
        caller = guest.caller
        return spoken([name for name in names if caller is None or caller.may(name)])

    def tell(self, answer: Any) -> bytes | Awaitable[bytes]:
        """What was decided, now or when it is."""
        if isinstance(answer, Decision):
            return self._told(answer)
        return self._later(answer)

    def _ask(self, guest: Any, words: list[bytes], verb: Any) -> bytes | Awaitable[bytes]:
        rule, key = named(words)
        if guest.caller is not None and not guest.caller.may(rule):
            return denied(guest.caller, rule)
        return self.tell(verb(rule, key, *terms(words)))

    def _told(self, decision: Decision) -> bytes:
        if not decision.allowed:
            self.hall.refused += 1
        return decided(decision)

    async def _later(self, answer: Awaitable[Decision]) -> bytes:
        return self._told(await answer)


def named(words: list[bytes]) -> tuple[str, str]:
    """The rule and the key of a command."""
    return words[1].decode("utf-8", "surrogateescape"), words[2].decode("utf-8", "surrogateescape")


def terms(words: list[bytes], start: int = 3) -> tuple[int | None, str]:
    """The cost and the plan of a command, as far as it says so."""
    cost = None
    if len(words) > start and len(words) != start + 2:
        cost = whole(words[start], 0, MOST, "cost")
        start += 1
    if len(words) == start:
        return cost, ""
    if len(words) != start + 2 or words[start].upper() != PLAN:
        raise Wrong("what may follow is a cost, then PLAN and a plan")
    return cost, words[start + 1].decode("utf-8", "surrogateescape")


async def forgotten(done: Awaitable[None]) -> bytes:
    """Say so when it is done."""
    await done
    return OK
