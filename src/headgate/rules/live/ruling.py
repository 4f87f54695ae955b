"""Ruling: a rule made ready. Readers instead of facts, limiters instead of limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

from headgate.algorithms.limit import Limit
from headgate.algorithms.token_bucket import TokenBucket
from headgate.bulkheads.bulkhead import Bulkhead
from headgate.fork import follow
from headgate.rules.live.assay import Assay
from headgate.rules.live.entry import Refusal
from headgate.rules.live.fees import Fee, fee
from headgate.rules.live.ferry import Ferry
from headgate.rules.live.larder import Larder
from headgate.rules.live.shelf import Shelf
from headgate.rules.live.tally import Tally
from headgate.rules.live.turnstile import Turnstile
from headgate.rules.matching.facts import composer, tidy
from headgate.rules.matching.request import Request
from headgate.rules.model.charge import statuses
from headgate.rules.model.over import Degrade, Redirect, Wait
from headgate.rules.model.rule import Rule
from headgate.rules.model.terms import UNLIMITED

MILLION = 1_000_000


class Lane:
    """What the keys of a rule meet under one set of terms.

    `limits` are those its limiter goes by, for whoever tells of them; `told` is a place for what
    they have worked out about it.
    """

    __slots__ = ("bandwidth", "bulkhead", "limiter", "limits", "most", "told")

    def __init__(
        self, limiter: Any, limits: tuple[Limit, ...], bulkhead: Any, most: int, bandwidth: Any
    ) -> None:
        self.limiter = limiter
        self.limits = limits
        self.bulkhead = bulkhead
        self.most = most
        self.bandwidth = bandwidth
        self.told: Any = None


class Crowd:
    """How many wait for the limits of a rule, in this process."""

    __slots__ = ("__weakref__", "waiting")

    def __init__(self) -> None:
        self._begin()
        follow(self, Crowd._begin)

    def _begin(self) -> None:
        # Those who wait in a parent do not wait in its children.
        self.waiting = 0


class Ruling:
    """One rule, ready to be asked about requests."""

    turnstile: Turnstile | None
    ferry: Ferry | None
    # Who is told of those that would have been refused, while the rule is only tried.
    trial: Any = None

    def __init__(self, rule: Rule, plans: Mapping[str, Any], shelf: Shelf, era: int) -> None:
        self.rule = rule
        self.name: str = rule.name
        self._shelf = shelf
        self._era = era
        # None if all are counted together.
        self.key: Callable[[Request], str] | None = (
            composer(rule.key, rule.match.paths) if rule.key else None
        )
        self.plans = {name: terms for name, terms in plans.items() if relevant(rule, terms)}
        self._overrides = {tidy(key): terms for key, terms in rule.overrides.items()}
        self.fee: Fee = fee(rule.cost)
        self.counted = None if rule.counts is None else statuses(rule.counts.status)
        self.patience = rule.over.timeout if isinstance(rule.over, Wait) else 0.0
        self.queue = rule.over.queue if isinstance(rule.over, Wait) else 0
        # The status that the rule will have for a no; 0 if it does not say.
        self.status = 0 if isinstance(rule.over, (Degrade, Redirect)) else int(rule.over.status)
        self.crowd: Crowd | None = None
        if isinstance(rule.over, Wait):
            self.crowd = shelf.thing(era, "crowd", rule.name, None, Crowd)
        self.failures = statuses(rule.breaker.status) if rule.breaker else frozenset()
        # Whether the last good answer is kept, to be given to those who are refused.
        self.larder: Larder | None = None
        if isinstance(rule.over, Degrade) and rule.over.stale > 0.0:
            self.larder = shelf.thing(era, "larder", rule.name, None, lambda: Larder(shelf.clock))
        self.afterwards = self.counted is not None or self.fee.later or self.larder is not None
        self._enforced = round(rule.rollout * 10_000) if rule.mode == "enforce" else 0
        self._lanes: dict[str, Lane] = {}
        self.simple = self._simple()
        # The short way in, where there is one, and the same if what counts is far away.
        self.turnstile = self.ferry = None
        self.tally: Tally = shelf.thing(era, "tally", rule.name, None, shelf.tally)
        # Where every key goes, once it is known, if neither plans nor overrides tell them apart.
        self.main: Lane | None = None
        # What a request without a key is told.
        self.keyless = Refusal("key", rule, rule.empty_key_status)

    def lane(self, plan: str, key: str) -> Lane | None:
        """Where the key goes under its plan; None if it may do as it likes."""
        terms, name = self.terms(plan, key)
        if terms == UNLIMITED:
            return None
        found = self._lanes.get(name)
        return self._open(name, terms) if found is None else found

    def terms(self, plan: str, key: str) -> tuple[Any, str]:
        """What a key may under its plan, None if no more than all, and what that is called."""
        if key in self._overrides:
            return self._overrides[key], f"@key:{key}"
        if plan in self.plans:
            chosen = self.plans[plan]
            return chosen if chosen == UNLIMITED else chosen[self.name], f"@plan:{plan}"
        return None, ""

    def enforced(self, key: str) -> bool:
        """Whether a no is a no for this key: a share of keys, always the same ones."""
        if self._enforced >= MILLION or self._enforced <= 0:
            return self._enforced > 0
        said = f"{self.name}\0{key}".encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(said, digest_size=8).digest()) % MILLION < self._enforced

    def bar(self, key: str) -> Refusal | None:
        """Why a request of this key is refused without counting: it is banned, or has no key."""
        rule = self.rule
        if rule.deny is not None:
            return Refusal("denied", rule, rule.deny.status)
        return None if rule.empty_key != "deny" or self.counts(key) else self.keyless

    def counts(self, key: str) -> bool:
        """Whether this is a key, or who has none counts as one of those."""
        return bool(key) or self.key is None or self.rule.empty_key == "share"

    def wait(self, key: str) -> float:
        """How long this key may be made to wait; who only tries a rule out waits for nobody."""
        return self.patience if self.patience and self.enforced(key) else 0.0

    def guards(self) -> list[tuple[Any, str]]:
        """What else there is to hold: a bulkhead that finds its limit, and what it is called."""
        if self.rule.adaptive is None:
            return []
        terms = self.rule.adaptive
        found = self._shelf.thing(
            self._era, "adaptive", self.name, (terms, self.queue), self._adaptive
        )
        return [(found, "")]

    def bulkheads(self) -> list[Any]:
        """All that hold places for it by now."""
        own = [lane.bulkhead for lane in [*self._lanes.values()] if lane.bulkhead is not None]
        return [*own, *(bulkhead for bulkhead, _ in self.guards())]

    def breaker(self) -> Any:
        """The breaker, or None."""
        terms = self.rule.breaker
        if terms is None:
            return None
        make = lambda: terms.breaker(self.name, self._shelf.clock)  # noqa: E731 - said once
        return self._shelf.thing(self._era, "breaker", self.name, terms, make)

    def spare(self, lane: Lane) -> Bulkhead:
        """Places of this process alone, for when those on a server cannot be asked for."""
        make = lambda: Bulkhead(lane.most, queue=self.queue, clock=self._shelf.clock)  # noqa: E731
        title = f"{self.name}@{lane.most}"
        terms = (lane.most, self.queue)
        return self._shelf.thing(self._era, "spare", title, terms, make)  # type: ignore[no-any-return]

    def _simple(self) -> bool:
        # Whether to count is all there is to do, here and now.
        rule = self.rule
        other = rule.concurrent or rule.bandwidth or rule.adaptive or rule.breaker or rule.deny
        return (
            bool(rule.limit) and not other and not self.patience and not self.afterwards
            and self._enforced >= MILLION
        )  # fmt: skip

    def _adaptive(self) -> Bulkhead:
        limit = self.rule.adaptive.limit()
        return Bulkhead(limit, queue=self.queue, name=self.name, clock=self._shelf.clock)

    def _open(self, name: str, terms: Any) -> Lane:
        rule, shelf = self.rule, self._shelf
        title = f"{self.name}{name}"
        allowances = terms.limit if terms is not None and terms.limit else rule.limit
        bandwidth = rule.bandwidth if terms is None else terms.bandwidth or rule.bandwidth
        if rule.bandwidth and not rule.limit and terms is not None and terms.limit:
            # A rate says what is meant where there is but one thing to mean.
            bandwidth, allowances = terms.limit[0].rate, ()
        limits = rule.limits(allowances)
        most = terms.concurrent if terms is not None and terms.concurrent else rule.concurrent
        alone = self.key is None or name.startswith("@key:")
        mode = rule.when_unavailable
        lane = Lane(
            shelf.limiter(self._era, title, limits, mode, alone) if limits else None,
            limits,
            shelf.bulkhead(self._era, title, most, self.queue) if most else None,
            most,
            self._pipe(title, bandwidth, alone) if bandwidth else None,
        )
        self._lanes[name] = lane
        if not self.plans and not self._overrides:
            self.main = lane
            self._assay(limits)
        return lane

    def _assay(self, limits: tuple[Limit, ...]) -> None:
        # Only where all that a key asks is seen here can be said whether a no was right.
        tally, shelf = self.tally, self._shelf
        here = tally.keyed and shelf.url.startswith("memory:")
        if not here or self._era < shelf.era:
            return
        if tally.assay is None or tally.assay.limits != limits:
            assay = Assay(limits, tally.assay is None)
            tally.assay = assay if assay.awake else None

    def _pipe(self, title: str, rate: Any, alone: bool) -> Any:
        if rate.unlimited:
            return None
        limit = TokenBucket(rate, name=self.name)
        mode = self.rule.when_unavailable
        return self._shelf.limiter(self._era, f"{title}@bytes", (limit,), mode, alone)


def relevant(rule: Rule, terms: Any) -> bool:
    """Whether a plan says anything about the rule."""
    measured = rule.limit or rule.concurrent or rule.bandwidth
    return bool(measured) and (terms == UNLIMITED or rule.name in terms)
