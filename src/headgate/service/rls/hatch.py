"""Hatch: where the commonest calls are answered: one descriptor, one limit, here and now.

What such a call asks is known once its bytes were seen before, so a decision and a few numbers are
all there is to it. Compiled, that is one call from top to bottom. What it answers is what a `Case`
answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headgate.decision import Decision
from headgate.limiter import Limiter
from headgate.rules.live.tally import LET_IN, TURNED, Tally
from headgate.rules.live.turnstile import Turnstile
from headgate.service.rls.leaf import rest, said, sayings
from headgate.service.rls.messages import OK, OVER_LIMIT
from headgate.service.rls.scribe import answer, status

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython


class Hatch:
    """Answers one call about a limit of a file."""

    __slots__ = ("cost", "key", "leaf", "limiter", "only", "tally")

    limiter: Limiter
    tally: Tally

    def __init__(self, leaf: Any, limiter: Limiter, key: str, cost: int) -> None:
        self.leaf = leaf
        self.limiter = limiter
        self.key = key
        self.cost = cost
        self.tally = leaf.tally
        self.only: bytes = said(leaf.sayings, Decision(True)) if len(leaf.sayings) == 1 else b""

    def answer(self) -> bytes:
        """The answer to the same call once more."""
        limiter = self.limiter
        if cython.compiled:
            # Past `take`, to stay in C.
            now = limiter.time()
            decision = limiter.ask(self.key, self.cost, 0, now)
        else:
            now = limiter.clock.now()
            decision = limiter.take(self.key, self.cost)
        verdict = LET_IN if decision.allowed else TURNED
        self.tally.count(verdict, self.key, self.cost, decision, 0, now)
        limit = self.only or said(self.leaf.sayings, decision)
        return told(decision, limit, self.leaf.limits, limiter)


class Sign:
    """Answers calls that nothing is counted of."""

    __slots__ = ("_said",)

    def __init__(self, said: bytes) -> None:
        self._said = said

    def answer(self) -> bytes:
        """The answer to the same call once more."""
        return self._said


class Wicket:
    """Answers one call about a rule that only counts, while that rule is in force."""

    __slots__ = ("gate", "key", "limit", "limits", "lodge", "request")

    gate: Turnstile

    def __init__(self, lodge: Any, gate: Turnstile, key: str, request: Any) -> None:
        self.lodge = lodge
        self.gate = gate
        self.key = key
        self.request = request
        self.limits: Any = None
        self.limit = b""

    def answer(self) -> bytes:
        """The answer to the same call once more."""
        lodge = self.lodge
        entry = self.gate.weigh(self.key, self.request)
        if lodge.listeners:
            lodge.tell(entry)
        if not entry.passes:
            return answer(OK, status(OK, b"", 0, 0))
        one = entry.passes[0]
        limits = one.lane.limits
        if limits is not self.limits:
            self.limits = limits
            self.limit = said(sayings(limits, ""), one.decision) if len(limits) == 1 else b""
        limit = self.limit or said(sayings(limits, ""), one.decision)
        return told(one.decision, limit, limits, one.lane.limiter)


def told(decision: Decision, limit: bytes, limits: Any, limiter: Any) -> bytes:
    """A decision as the answer to a call of one descriptor."""
    code, wait = OVER_LIMIT, decision.retry
    if decision.allowed:
        code, wait = OK, decision.reset
    if wait == 0:
        wait = rest(limits, limiter.clock.now())
    return answer(code, status(code, limit, decision.remaining, wait))
