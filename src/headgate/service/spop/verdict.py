"""Verdict: what becomes of a message, as variables that HAProxy's configuration can ask about.

Each is set or left without a value every time, so that nothing stays of what was asked before.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, inf
from typing import Any

from headgate.adapters.http import problem
from headgate.adapters.http.herald import KINDS
from headgate.decision import Decision
from headgate.rules.live.entry import Entry, Pass
from headgate.service.spop.frames import BOOL, INT64, STRING, setting, typed, unsetting, varint

# What a limiter's no is called where no rule says what its status is.
STATUSES = {"limit": 429, "never": 429, "unavailable": 503}
# `option set-on-error` adds as much to what the protocol numbers.
ERRORS = 256

SETTING = {
    name: setting(name) + bytes([INT64])
    for name in ("error", "limit", "remaining", "reset", "retry_after", "status")
}
UNSETTING = {
    name: unsetting(name)
    for name in ("limit", "reason", "remaining", "reset", "retry_after", "rule", "status")
}
FLAGS = {
    (name, value): setting(name) + typed(BOOL, value)
    for name in ("degraded", "limited")
    for value in (False, True)
}
# What is always the same: nobody is refused, nothing was counted, nobody knows.
FINE = FLAGS["limited", False] + b"".join(
    UNSETTING[name] for name in ("status", "retry_after", "reason")
)
UNCOUNTED = b"".join(UNSETTING[name] for name in ("limit", "remaining", "reset"))
UNDECIDED = b"".join([*UNSETTING.values(), unsetting("limited"), unsetting("degraded")])


class Verdict:
    """What is said to a message: yes, no, or with an `error` that it could not be decided."""

    __slots__ = ("decision", "error", "limited", "reason", "retry_after", "rule", "status")

    def __init__(
        self,
        rule: str = "",
        decision: Decision | None = None,
        status: int = 0,
        reason: str = "",
        retry_after: float = inf,
        error: int = 0,
    ) -> None:
        self.rule = rule
        self.decision = decision
        self.limited = bool(reason)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after
        self.error = error

    @property
    def final(self) -> bool:
        """Whether nothing that is asked besides would change it."""
        return self.limited or self.error > 0

    @property
    def left(self) -> float:
        """How much is left of what was asked for; infinite if nothing was counted."""
        return inf if self.decision is None else self.decision.remaining

    def actions(self) -> bytes:
        """What HAProxy is to do: set these variables, and leave those without a value."""
        if self.error:
            return UNDECIDED + SETTING["error"] + varint(ERRORS + self.error)
        decision = self.decision
        said = [self._refusal() if self.limited else FINE]
        said.append(tagged("rule", self.rule) if self.rule else UNSETTING["rule"])
        if decision is None:
            said += (UNCOUNTED, FLAGS["degraded", False])
            return b"".join(said)
        said += (
            SETTING["limit"], varint(decision.limit),
            SETTING["remaining"], varint(max(0, decision.remaining)),
            SETTING["reset"], varint(ceil(decision.reset_after)),
            FLAGS["degraded", decision.degraded],
        )  # fmt: skip
        return b"".join(said)

    def _refusal(self) -> bytes:
        wait = self.retry_after
        if wait == inf:
            later = UNSETTING["retry_after"]
        else:
            later = SETTING["retry_after"] + varint(problem.seconds(wait))
        status = SETTING["status"] + varint(self.status)
        return FLAGS["limited", True] + status + later + tagged("reason", self.reason)


@lru_cache(1000)
def tagged(name: str, text: str) -> bytes:
    """What sets a variable to a text."""
    return setting(name) + typed(STRING, text)


def admitted(entry: Entry) -> Verdict:
    """What is said where all rules that a request meets were asked."""
    refusal = entry.refusal
    passes = entry.passes
    if refusal is None:
        if not passes:
            return Verdict()
        one = passes[0] if len(passes) == 1 else tightest(entry)
        return Verdict(one.ruling.name, one.decision)
    rule = refusal.rule
    decision = next((one.decision for one in passes if one.ruling.rule is rule), None)
    wait = refusal.retry_after
    if refusal.kind in ("denied", "key") and wait == 0.0:
        wait = inf
    status = refusal.status or problem.status(KINDS[refusal.kind], wait)
    return Verdict(rule.name, decision, status, refusal.kind, wait)


def tightest(entry: Entry) -> Pass:
    """Of those who let a request in, whoever has the least left; a rule on trial comes last."""
    passes: Sequence[Pass] = entry.passes
    tried: Sequence[Any] = entry.shadowed
    return min(passes, key=lambda one: (one.ruling.rule in tried, one.decision.remaining))


def taken(rule: str, decision: Decision) -> Verdict:
    """What is said where one rule was asked by its name."""
    if decision:
        return Verdict(rule, decision)
    reason = decision.reason
    return Verdict(rule, decision, STATUSES[reason], reason, decision.retry_after)


def stricter(one: Verdict | None, other: Verdict) -> Verdict:
    """Of two verdicts about one request the one that counts: a no, or what has less left."""
    if one is None or other.final:
        return other
    return one if one.left <= other.left else other
