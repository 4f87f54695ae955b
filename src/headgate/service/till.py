"""Till: where one rule is asked by whoever says the key itself, and not what a request looks like.

What it answers is what a request of that key would be answered by the rule's limit, and it is told
to tallies and listeners as that is. A key is tidied up as those of requests are, so both are one;
and a rule that has no key counts all together here as well, whatever key they say.
"""

from __future__ import annotations

from collections.abc import Awaitable
from math import inf
from typing import TYPE_CHECKING, Any

from headgate.decision import Decision
from headgate.limiter import Limiter
from headgate.rules.live.entry import Entry, Pass, Refusal
from headgate.rules.live.tally import LET_IN, TRIED, TURNED, Tally
from headgate.rules.live.turnstile import refusal
from headgate.rules.matching.facts import tidy

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

# So many keys no longer than this are remembered: strangers choose them.
KNOWN = 10_000
LONGEST = 128

Answer = Decision | Awaitable[Decision]


class Till:
    """One ruling, ready to be asked by name; `lodge` is where it is in force."""

    __slots__ = (
        "banned", "enforced", "fixed", "keyless", "known", "limited", "limiter", "lodge", "ruling",
        "tally", "together", "version",
    )  # fmt: skip

    limiter: Limiter | None
    tally: Tally

    def __init__(self, ruling: Any, lodge: Any, version: str) -> None:
        rule = ruling.rule
        self.ruling = ruling
        self.lodge = lodge
        self.version = version
        self.tally = ruling.tally
        self.limited = bool(rule.limit)
        # What somebody spends who does not say how much.
        self.fixed = max(ruling.fee.fixed, 0) if ruling.fee.fixed != -1 else 1
        self.banned = rule.deny is not None
        # Whether all count as one, and else what becomes of those without a key.
        self.together = ruling.key is None
        self.keyless = "share" if self.together else rule.empty_key
        # Whether a no is a no for every key.
        self.enforced = rule.mode == "enforce" and rule.rollout >= 100
        # Where every key goes, once it is known, if neither plans nor overrides tell them apart.
        self.limiter = None
        # Keys as they were said, and what they are when tidied up.
        self.known: dict[str, str] = {}

    def take(self, key: str, cost: int | None, plan: str) -> Answer:
        """Spend `cost` now, or say no and spend nothing."""
        key = self.name(key)
        units = self.units(cost)
        limiter = self.limiter
        if limiter is None or (not key and not self.together):
            return self._visit(key, units, plan)
        if cython.compiled:
            # Past `take`, to stay in C.
            now = limiter.time()
            decision = limiter.ask(key, units, 0, now)
        else:
            now = self.lodge.clock.now()
            decision = limiter.take(key, units)
        if decision.allowed and not self.lodge.listeners:
            self.tally.count(LET_IN, key, units, decision, 0, now)
            return decision
        return self.settle(decision, key, units, plan)

    def peek(self, key: str, cost: int | None, plan: str) -> Answer:
        """What `take` would say; nothing is spent, and nobody is told."""
        key = self.name(key)
        barred = self.bar(key)
        if barred is not None:
            return self.judge(key, barred)
        limiter = self.find(key, plan)
        if limiter is None:
            return Decision(True)
        answer = limiter.peek(key, self.units(cost))
        return self.judge(key, answer) if isinstance(answer, Decision) else self._judge(key, answer)

    def charge(self, key: str, cost: int | None, plan: str, sign: int) -> Answer:
        """Spend `cost` although it may not be there, or give it back where `sign` is -1."""
        key = self.name(key)
        barred = self.bar(key)
        if barred is not None:
            return self.judge(key, barred)
        limiter = self.find(key, plan)
        if limiter is None:
            return Decision(True)
        units = self.units(cost)
        answer: Answer = limiter.debit(key, units) if sign > 0 else limiter.refund(key, units)
        return answer

    def reset(self, key: str, plan: str) -> Awaitable[None] | None:
        """Forget the key."""
        key = self.name(key)
        limiter = self.find(key, plan) if self.bar(key) is None else None
        return None if limiter is None else limiter.reset(key)

    def name(self, key: str) -> str:
        """The key that counts."""
        if self.together:
            return ""
        found = self.known.get(key)
        return self._learn(key) if found is None else found

    def units(self, cost: int | None) -> int:
        """What it costs; what the rule says, if nobody else does."""
        return self.fixed if cost is None else cost

    def find(self, key: str, plan: str) -> Any:
        """The limiter that a tidy key meets under its plan; None if it may do as it likes."""
        ruling = self.ruling
        if not key and self.keyless == "allow":
            return None
        lane = ruling.lane(plan, key)
        if lane is None:
            return None
        if ruling.main is not None and not self.banned and isinstance(lane.limiter, Limiter):
            self.limiter = lane.limiter
        return lane.limiter

    def bar(self, key: str) -> Decision | None:
        """The no that a key is told without counting: it is banned, or there is none."""
        if self.banned or (not key and self.keyless == "deny"):
            return Decision(False, 0, 0, inf, rule=self.ruling.name)
        return None

    def settle(self, decision: Decision, key: str, cost: int, plan: str) -> Decision:
        """Tell of a decision whoever counts and listens; what becomes of it."""
        kept = self.count(decision, key, cost)
        if self.lodge.listeners:
            self.lodge.tell(self._entry(decision, key, cost, plan))
        return decision if kept else waived(decision)

    def count(self, decision: Decision, key: str, cost: int) -> bool:
        """Count a decision; whether it stands, for the rule may only be tried out."""
        kept = decision.allowed or self.enforced or self.ruling.enforced(key)
        verdict = LET_IN if decision.allowed else TURNED if kept else TRIED
        # Who is barred was not refused by a limit.
        asked = decision if decision.allowed or decision.limit > 0 else None
        self.tally.count(verdict, key, cost, asked, 0, self.lodge.clock.now())
        if not decision.allowed and self.lodge.docket is not None:
            self.lodge.docket.note(self.ruling.name, key, decision, not kept)
        return bool(kept)

    def judge(self, key: str, decision: Decision) -> Decision:
        """What becomes of a decision that nobody is told of."""
        kept = decision.allowed or self.enforced or self.ruling.enforced(key)
        return decision if kept else waived(decision)

    def _learn(self, key: str) -> str:
        if not isinstance(key, str):
            raise TypeError(f"a key is a str, not {key!r}")
        found = tidy(key)
        if len(key) <= LONGEST:
            if len(self.known) >= KNOWN:
                self.known.clear()
            self.known[key] = found
        return found

    def _visit(self, key: str, cost: int, plan: str) -> Answer:
        barred = self.bar(key)
        if barred is not None:
            return self.settle(barred, key, cost, plan)
        limiter = self.find(key, plan)
        if limiter is None:
            return self.settle(Decision(True), key, cost, plan)
        answer = limiter.take(key, cost)
        if isinstance(answer, Decision):
            return self.settle(answer, key, cost, plan)
        return self._settle(answer, key, cost, plan)

    async def _settle(
        self, answer: Awaitable[Decision], key: str, cost: int, plan: str
    ) -> Decision:
        return self.settle(await answer, key, cost, plan)

    async def _judge(self, key: str, answer: Awaitable[Decision]) -> Decision:
        return self.judge(key, await answer)

    def _entry(self, decision: Decision, key: str, cost: int, plan: str) -> Entry:
        # What those who listen are told of a request, without one.
        ruling, entry = self.ruling, Entry(self.version)
        barred = self.bar(key) is not None
        lane = None if barred else ruling.lane(plan, key)
        if lane is not None and lane.limiter is not None and not barred:
            entry.passes = (Pass(ruling, lane, key, cost, decision, None),)
        if decision.allowed:
            return entry
        if not (self.enforced or ruling.enforced(key)):
            entry.shadowed = (ruling.rule,)
        elif self.banned:
            entry.refusal = Refusal("denied", ruling.rule, ruling.rule.deny.status)
        else:
            entry.refusal = ruling.keyless if barred else refusal(ruling, decision)
        return entry


def waived(decision: Decision) -> Decision:
    """The same, let in: a rule that is only tried out refuses nobody."""
    return Decision(
        True,
        decision.limit,
        decision.remaining,
        0.0,
        decision.reset_after,
        decision.rule,
        decision.degraded,
    )
