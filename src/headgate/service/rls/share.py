"""Share: what one Envoy may let in of one limit, paid for before it is told.

A round begins with a report and lasts until the next one, or a second longer if that is late. Units
are taken from the limit as everybody takes them: those that are there now become the tokens that it
begins with, those that are booked for the time until the round ends are what it is filled with. So
several Envoys, and several processes of this service on one store, share a limit without knowing of
each other, and what an Envoy was given that dies is over when its round is.

How much that is follows from what it was asked for lately, a little more, and what is fair among
those who report the same. In any span all of them together let in no more than the limit lets
through in that span and one round before and after it, but for what one lets in while its report
is late, or passes the answer to the one before; that is debited as soon as it is reported. What one
lets in that was assigned nothing, as while nobody could be asked, uses up what is left and is no
debt: hours of it would be answered with a no for days.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import ceil
from typing import Any, NamedTuple

from headgate.algorithms.fixed_window import FixedWindow
from headgate.algorithms.limit import Limit
from headgate.drive import Flow
from headgate.service.rls.count import heaviest
from headgate.service.rls.leaf import Leaf

MILLION = 1_000_000
# Envoy reports every five seconds, whatever it is told, and goes by whole seconds.
SPAN, LONGEST = 5 * MILLION, 60 * MILLION
# So much later a report may come.
LATE = MILLION
# So much more than was asked for lately, in case it becomes more.
MORE = 1.25
# Of whom nothing is known yet may have so many, if they are there; or half of what is, but not more
# than the limit brings in so long: if they go at once, that much is lost until a window is over.
FIRST, SOON = 10, 60 * MILLION
# Requests a second that somebody may have who had none.
LEAST = 0.1
# So many rounds one may say nothing.
SILENT = 3
# So many bookings are made ahead, each of at most what fits at once.
BOOKINGS = 16


class Grant(NamedTuple):
    """What one may let in within a round: tokens to begin with, and those that come meanwhile.

    `span` is how long that is, in microseconds.
    """

    tokens: int
    ahead: int
    span: int = SPAN


NOTHING = Grant(0, 0)


class Share:
    """One Envoy's share of one limit. `rate` is what it was asked for lately, a second."""

    __slots__ = ("begun", "grant", "known", "rate", "span")

    def __init__(self) -> None:
        self.grant = NOTHING
        self.span = SPAN
        self.begun = 0
        self.rate = 0.0
        self.known = False

    def learn(self, asked: int, elapsed: int) -> None:
        """So much was asked for in so many microseconds; the last report counts half."""
        if elapsed < MILLION:
            return
        self.span = min(LONGEST, max(SPAN, -(-elapsed // MILLION) * MILLION))
        rate = asked * MILLION / elapsed
        self.rate = (self.rate + rate) / 2 if self.known else rate
        self.known = True

    def settle(self, leaf: Leaf, limiter: Any, key: str, allowed: int, now: int) -> Flow[None]:
        """Give back what was not used of a round, or pay for what was used beyond it.

        That is at most what is left, and as much again as was assigned.
        """
        grant, self.grant = self.grant, NOTHING
        given = grant.tokens + grant.ahead
        rest = given - allowed
        if rest < 0:
            decision = yield partial(limiter.peek, key, 0)
            due = min(-rest, decision.remaining + given, heaviest(leaf))
            if due > 0 and decision.reason != "unavailable":
                yield partial(limiter.debit, key, due)
        elif rest > 0 and same(leaf.limits, self.begun, now):
            yield partial(limiter.refund, key, min(rest, heaviest(leaf)))

    def fund(
        self, leaf: Leaf, limiter: Any, key: str, others: Sequence[Share], now: int
    ) -> Flow[Grant | None]:
        """Take what the next round may let in from the limit, as far as it is there.

        None where nobody can say how much there is.
        """
        limit = min(leaf.limits, key=lambda one: one.rate.count / one.rate.period)
        decision = yield partial(limiter.peek, key, 1)
        if decision.reason == "unavailable":
            return None
        left = decision.remaining if decision else 0
        # What can be had until the round is over, and has not been had by others.
        ahead = max(0.0, self.span - decision.retry_after * MILLION)
        ample = left + int(limit.rate.count * ahead / limit.rate.period)
        soon = limit.rate.count * SOON // limit.rate.period
        want = self.want(ample, soon, others, now)
        tokens = min(want, left)
        if tokens:
            decision = yield partial(limiter.take, key, tokens)
            if decision.reason == "unavailable":
                return None
            tokens = tokens if decision else 0
        booked = yield from book(limiter, key, want - tokens, limit, self.span)
        # A bucket that holds next to nothing lets next to nothing in, so what comes within a second
        # is there at once; and there is none that holds nothing.
        early = (tokens + booked) * MILLION // self.span - tokens
        early = min(booked, max(early, 0 if tokens else 1))
        self.grant, self.begun = Grant(tokens + early, booked - early, self.span), now
        return self.grant

    def want(self, ample: int, soon: int, others: Sequence[Share], now: int) -> int:
        """How much to ask for, of so much that there may be; `soon` is for who is not known."""
        rates = [one.rate for one in others if one.known]
        usual = sum(rates) / len(rates) if rates else 1.0
        # Nobody is left with nothing: who was asked for nothing may be asked again.
        mine, *theirs = [max(one.rate if one.known else usual, LEAST) for one in (self, *others)]
        # What is to be shared is also what the others have had of it.
        whole = ample + sum(one.left(now) for one in others)
        fair = min(ample, max(1, int(whole * mine / (mine + sum(theirs)))))
        if not self.known:
            return min(fair, max(FIRST, min(soon, ample // 2)))
        return min(fair, ceil(self.rate * MORE * self.span / MILLION) + 1)

    def heard(self, now: int) -> bool:
        """Whether it has reported lately; for who has not there is nothing to be shared."""
        return self.begun + SILENT * self.span >= now

    def left(self, now: int) -> float:
        """About how much of its round is to come."""
        grant = self.grant
        rest = max(0, self.begun + grant.span - now)
        return (grant.tokens + grant.ahead) * rest / grant.span


def book(limiter: Any, key: str, units: int, limit: Limit, span: int) -> Flow[int]:
    """Book so many units for the round, each as soon as it is there; answers how many."""
    booked = 0
    part = min(units, max(1, limit.limit))
    for _ in range(BOOKINGS):
        if part < 1 or booked >= units:
            break
        booking = yield partial(limiter.reserve, key, min(part, units - booked), span / MILLION)
        if booking:
            booked += min(part, units - booked)
        else:
            part //= 2
    return booked


def same(limits: Sequence[Limit], then: int, now: int) -> bool:
    """Whether what was taken then may be given back now: all windows are the same still.

    What comes back bit by bit has come back by itself.
    """
    return bool(limits) and all(
        isinstance(limit, FixedWindow)
        and limit.anchor == "clock"
        and not limit.calendar
        and then // limit.rate.period == now // limit.rate.period
        for limit in limits
    )
