"""Kept: bookings and places that callers hold by an id, of rules by their names.

    HG.RESERVE rule key cost [timeout] [PLAN plan]    eight parts, the id, microseconds to wait
    HG.COMMIT id [cost]                               eight parts; and so HG.CANCEL id
    HG.HOLD rule key [ttl] [PLAN plan]                eight parts, the id, microseconds it is for
    HG.RENEW id [ttl]                                 1, or 0 if it was lost; and so HG.RELEASE id
    HG.INSIDE rule key [PLAN plan]                    how many places are held

Timeouts and ttls are seconds, as in 2.5. The eight parts are those of `spoken.decided`; who is
refused is given an empty id.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf
from typing import Any

from headgate.service.holds import USUAL
from headgate.service.resp.numbers import Wrong, seconds, whole
from headgate.service.resp.ruled import MOST, PLAN, named
from headgate.service.resp.spoken import bulk, decided, denied, spoken

Answer = bytes | Awaitable[bytes]


class Kept:
    """Answers for what is held of the rules of a hall."""

    def __init__(self, hall: Any) -> None:
        self.hall = hall

    def reserve(self, guest: Any, words: list[bytes]) -> Answer:
        """`HG.RESERVE`."""
        rule, key = named(words)
        if not allowed(guest, rule):
            return denied(guest.caller, rule)
        cost = whole(words[3], 0, MOST, "cost")
        span, plan = terms(words[4:])
        timeout = inf if span is None else seconds(span, "timeout")
        given = self.hall.teller.reserve(rule, key, cost, timeout, plan)
        return now_or_later(given, lambda ticket: self._told(ticket, ticket.wait))

    def commit(self, guest: Any, words: list[bytes]) -> Answer:
        """`HG.COMMIT`."""
        name = words[1].decode("ascii", "replace")
        rule = self.hall.teller.tickets.rule(name)
        if not allowed(guest, rule):
            return denied(guest.caller, rule)
        cost = whole(words[2], 0, MOST, "cost") if len(words) > 2 else None
        return now_or_later(self.hall.teller.commit(name, cost), decided)

    def cancel(self, guest: Any, words: list[bytes]) -> Answer:
        """`HG.CANCEL`."""
        name = words[1].decode("ascii", "replace")
        rule = self.hall.teller.tickets.rule(name)
        if not allowed(guest, rule):
            return denied(guest.caller, rule)
        return now_or_later(self.hall.teller.cancel(name), decided)

    def hold(self, guest: Any, words: list[bytes]) -> Answer:
        """`HG.HOLD`."""
        rule, key = named(words)
        if not allowed(guest, rule):
            return denied(guest.caller, rule)
        span, plan = terms(words[3:])
        ttl = USUAL if span is None else seconds(span, "ttl")
        given = self.hall.teller.hold(rule, key, ttl, plan)
        return now_or_later(given, lambda hold: self._told(hold, hold.ttl))

    def renew(self, guest: Any, words: list[bytes]) -> Answer:
        """`HG.RENEW`."""
        name = words[1].decode("ascii", "replace")
        rule = self.hall.teller.holds.rule(name)
        if not allowed(guest, rule):
            return denied(guest.caller, rule)
        ttl = seconds(words[2], "ttl") if len(words) > 2 else 0.0
        return now_or_later(self.hall.teller.renew(name, ttl), spoken)

    def release(self, guest: Any, words: list[bytes]) -> Answer:
        """`HG.RELEASE`."""
        name = words[1].decode("ascii", "replace")
        rule = self.hall.teller.holds.rule(name)
        if not allowed(guest, rule):
            return denied(guest.caller, rule)
        return now_or_later(self.hall.teller.release(name), spoken)

    def inside(self, guest: Any, words: list[bytes]) -> Answer:
        """`HG.INSIDE`."""
        rule, key = named(words)
        if not allowed(guest, rule):
            return denied(guest.caller, rule)
        span, plan = terms(words[3:])
        if span is not None:
            raise Wrong("after the key comes PLAN and a plan, or nothing")
        return now_or_later(self.hall.teller.inside(rule, key, plan), spoken)

    def _told(self, given: Any, span: float) -> bytes:
        # What was given, under which name, and how long it is until then, or for how long.
        decision = given.decision
        if not decision:
            self.hall.refused += 1
        rest = 0 if span == inf else round(span * 1e6)
        return b"*10" + decided(decision)[2:] + bulk(given.id.encode()) + b":%d\r\n" % rest


def allowed(guest: Any, rule: str) -> bool:
    """Whether whoever asks may ask that rule."""
    return guest.caller is None or bool(guest.caller.may(rule))


def terms(words: list[bytes]) -> tuple[bytes | None, str]:
    """A number of seconds and a plan, as far as they are said."""
    span = None
    if words and len(words) != 2:
        span, *words = words
    if not words:
        return span, ""
    if len(words) != 2 or words[0].upper() != PLAN:
        raise Wrong("what may follow is a number of seconds, then PLAN and a plan")
    return span, words[1].decode("utf-8", "surrogateescape")


def now_or_later(given: Any, tell: Callable[[Any], bytes]) -> Answer:
    """What is said of something, now or when it is there."""
    return later(given, tell) if hasattr(given, "__await__") else tell(given)


async def later(given: Awaitable[Any], tell: Callable[[Any], bytes]) -> bytes:
    """What is said of something when it is there."""
    return tell(await given)
