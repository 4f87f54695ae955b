"""Turnstile: the way in of a request that meets one rule, which only counts.

By far the commonest way, so it is compiled: what would take a visit a microsecond or two takes a
fraction of one. What it answers is what `visit.enter` answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headgate.decision import Decision
from headgate.limiter import Limiter
from headgate.rules.live.entry import SOON, Entry, Pass, Refusal
from headgate.rules.live.tally import Tally

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

# As `Decision.why` has it.
UNKNOWN = 3
# As in tally.py; written as numbers, so that compiled code keeps them in C.
LET_IN = 0
TURNED = 2
# The key of a rule that counts clients by their addresses.
NEAR = ("client.ip",)


class Turnstile:
    """Lets requests past one ruling, under the rules of one version."""

    __slots__ = (
        "cost", "key", "keyless", "lane", "limiter", "near", "plan", "ruling", "tally", "version",
    )  # fmt: skip

    cost: int
    lane: Any
    limiter: Limiter | None
    tally: Tally

    def __init__(self, ruling: Any, version: str, plan: Callable[[Any], str]) -> None:
        self.ruling = ruling
        self.version = version
        self.plan = plan
        self.key = ruling.key
        self.keyless = ruling.rule.empty_key
        self.cost = ruling.fee.fixed
        self.tally = ruling.tally
        # Whether nothing has to be known of a request but the key of its client.
        self.near: bool = tuple(ruling.rule.key) == NEAR and self.cost >= 0 and not ruling.plans
        # Where every key goes, once it is known, if neither plans nor overrides tell them apart.
        self.lane = None
        self.limiter = None

    def enter(self, request: Any) -> Entry:
        """Decide about a request."""
        return self.weigh("" if self.key is None else self.key(request), request)

    def weigh(self, key: str, request: Any) -> Entry:
        """Decide about a request whose key is known; if it is `near`, it need not be there."""
        # It does not know its request: the two would keep each other alive in a scope.
        entry = Entry.__new__(Entry)
        entry.fill(self.version, None)
        lane = self.lead(entry, key, request)
        if lane is None:
            return entry
        cost = self.cost if self.cost >= 0 else self.ruling.fee.units(request)
        limiter = self.limiter
        if cython.compiled and limiter is not None:
            # Past `take`, to stay in C.
            now = limiter.time()
            return self.judge(entry, lane, key, cost, limiter.ask(key, cost, 0, now), now)
        now = 0 if self.tally.assay is None else lane.limiter.clock.now()
        return self.judge(entry, lane, key, cost, lane.limiter.take(key, cost), now)

    def lead(self, entry: Entry, key: str, request: Any) -> Any:
        """Where a key goes; None if it is decided without counting."""
        if not key and self.key is not None and self.keyless != "share":
            self.turn(entry)
            return None
        if self.lane is not None:
            return self.lane
        lane = self.ruling.lane(self.plan(request) if self.ruling.plans else "", key)
        if lane is None or lane.limiter is None:
            # There is no limit for it.
            self.tally.count(LET_IN, key, 1, None, 0, 0)
            return None
        if self.ruling.main is not None:
            self.lane = lane
            # That of a server is asked in another way.
            self.limiter = lane.limiter if isinstance(lane.limiter, Limiter) else None
        return lane

    def judge(
        self, entry: Entry, lane: Any, key: str, cost: int, decision: Decision, now: int
    ) -> Entry:
        """What becomes of a request that was counted at that moment."""
        one = Pass.__new__(Pass)
        one.fill(self.ruling, lane, key, cost, decision, None)
        entry.passes = (one,)
        if decision.allowed:
            self.tally.count(LET_IN, key, cost, decision, 0, now)
        else:
            entry.refusal = refusal(self.ruling, decision)
            self.tally.count(TURNED, key, cost, decision, 0, now)
        return entry

    def turn(self, entry: Entry) -> None:
        """What becomes of a request without a key, where such are not counted together."""
        if self.keyless == "deny":
            entry.refusal = self.ruling.keyless
            self.tally.count(TURNED, "", 1, None, 0, 0)
        else:
            self.tally.count(LET_IN, "", 1, None, 0, 0)


def refusal(ruling: Any, decision: Decision) -> Refusal:
    """What a limiter's no is called."""
    if decision.why == UNKNOWN:
        return Refusal("unavailable", ruling.rule, 0, SOON)
    return Refusal("limit", ruling.rule, ruling.status, decision.retry_after, decision.rule)
