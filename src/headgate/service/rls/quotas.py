"""Quotas: Envoy's quota service. Envoys report what they let in, and are told what they may.

A bucket is a descriptor of its domain: its entries in the order of their keys. It meets the limit
of a file that such a descriptor meets (see `tree`), and counts under the same key, so calls of the
rate limit service and quotas of one descriptor share one limit.

    a limit                       a token bucket, as `share` works it out
    unlimited, or only tried out  all may go in
    0                             nothing may go in
    no limit at all               all may go in, as with a call
    a limit that is gone          the bucket is to be forgotten
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from headgate.drive import Flow, adrive, drive
from headgate.errors import StoreUnavailable
from headgate.rules.live.gatekeeper import aperform, perform
from headgate.service.grpc.status import (
    INVALID_ARGUMENT,
    RESOURCE_EXHAUSTED,
    UNAVAILABLE,
    Status,
)
from headgate.service.rls.count import DOWN
from headgate.service.rls.leaf import Leaf
from headgate.service.rls.messages import ALLOW_ALL, DENY_ALL, Reports
from headgate.service.rls.messages import Quotas as Told
from headgate.service.rls.query import ENTRIES
from headgate.service.rls.ratelimit import RateLimit
from headgate.service.rls.scribe import LARGEST, MILLION
from headgate.service.rls.share import LATE, Grant, Share
from headgate.service.rls.tree import Entry

METHOD = "/envoy.service.rate_limit_quota.v3.RateLimitQuotaService/StreamRateLimitQuotas"
# Buckets that one Envoy may have, and reports that may wait to be read.
BUCKETS, WAITING = 1000, 100
# What holds for all is told for so long, and again when half of that is over.
LONG = 120 * MILLION
# After so long without a report it is not known any more what an Envoy had.
GONE = 600 * MILLION
# A token that comes as rarely is none.
NEVER = 365 * 86_400 * MILLION


class Name(NamedTuple):
    """Which bucket."""

    domain: str
    entries: tuple[Entry, ...]


class Quotas:
    """The Envoys that report, and what each of them may. `hall` has the loop they are heard in."""

    def __init__(self, limit: RateLimit, hall: Any) -> None:
        self.limit = limit
        self.hall = hall
        self.shares: dict[Name, dict[Stream, Share]] = {}
        self._streams: set[Stream] = set()
        self._allowed: Counter[str] = Counter()
        self._denied: Counter[str] = Counter()
        self._swept = 0

    def open(self, call: Any) -> Stream:
        """An Envoy has called."""
        stream = Stream(self, call)
        self._streams.add(stream)
        return stream

    def settle(self) -> None:
        """There are other limits now: have buckets forgotten that have none any more."""
        for stream in [*self._streams]:
            stream.abandon()

    def count(self, leaf: Leaf | None, allowed: int, denied: int) -> None:
        """Take note of what was reported."""
        title = "" if leaf is None else leaf.title
        self._allowed[title] += allowed
        self._denied[title] += denied

    def sweep(self, now: int) -> None:
        """Forget what an Envoy had that has not reported it for long."""
        if now < self._swept + MILLION:
            return
        self._swept = now
        for name, shares in [*self.shares.items()]:
            for stream, share in [*shares.items()]:
                if share.begun + GONE < now:
                    self.leave(name, stream)

    def close(self) -> None:
        """Hear of nobody any more."""
        for stream in [*self._streams]:
            stream.cancel()

    def drop(self, stream: Stream) -> None:
        """An Envoy has gone; what it was given is over when its round is."""
        self._streams.discard(stream)
        for name in [name for name, shares in self.shares.items() if stream in shares]:
            self.leave(name, stream)

    def leave(self, name: Name, stream: Stream) -> None:
        """An Envoy has a bucket no more."""
        shares = self.shares.get(name, {})
        shares.pop(stream, None)
        if not shares:
            self.shares.pop(name, None)

    def status(self) -> dict[str, Any]:
        """What there is to know, for JSON; what has no limit is told under the empty name."""
        return {
            "streams": len(self._streams),
            "buckets": len(self.shares),
            "usage": {
                title: {"allowed": self._allowed[title], "denied": self._denied[title]}
                for title in sorted(self._allowed)
            },
        }


class Stream:
    """One Envoy: it reports, and is answered in the order of its reports."""

    def __init__(self, quotas: Quotas, call: Any) -> None:
        self._quotas = quotas
        self._call = call
        self._domain = ""
        self._reports: deque[Any] = deque()
        self._task: Any = None
        # When what holds for all was told of a bucket, and what.
        self._told: dict[Name, tuple[int, int]] = {}
        # What each bucket met when it was last looked at.
        self._met: dict[Name, Leaf | None] = {}

    def receive(self, message: bytes) -> None:
        """It has reported."""
        try:
            reports = Reports.FromString(bytes(message))
        except DecodeError as problem:
            said = f"the message is no RateLimitQuotaUsageReports: {problem}"
            raise Status(INVALID_ARGUMENT, said) from None
        self._domain = self._domain or reports.domain
        if not self._domain:
            raise Status(INVALID_ARGUMENT, "the domain is empty; name one in the first message")
        if not self._quotas.limit.far:
            self._send(drive(self._answer(reports), perform))
            return
        if len(self._reports) >= WAITING:
            raise Status(RESOURCE_EXHAUSTED, "too many reports at once; send fewer")
        self._reports.append(reports)
        if self._task is None:
            self._task = self._quotas.hall.loop.create_task(self._work())

    def end(self) -> None:
        """It will report no more."""
        self._quotas.drop(self)
        self._call.finish()

    def cancel(self) -> None:
        """It has gone."""
        self._quotas.drop(self)
        if self._task is not None:
            self._task.cancel()

    def abandon(self) -> None:
        """Have it forget the buckets whose limit is gone."""
        told = Told()
        for name, leaf in [*self._met.items()]:
            self._told.pop(name, None)
            if leaf is None or self._quotas.limit.find(*name)[0] is not None:
                continue
            self._met.pop(name)
            self._quotas.leave(name, self)
            address(told, name).abandon_action.SetInParent()
        self._send(told)

    async def _work(self) -> None:
        try:
            while self._reports:
                self._send(await adrive(self._answer(self._reports.popleft()), aperform))
        except Status as problem:
            self._quotas.drop(self)
            self._call.finish(problem.code, problem.message)
        finally:
            self._task = None

    def _answer(self, reports: Any) -> Flow[Any]:
        told, now = Told(), self._quotas.limit.now()
        try:
            for usage in reports.bucket_quota_usages:
                yield from self._heed(usage, told, now)
        except StoreUnavailable:
            raise Status(UNAVAILABLE, DOWN) from None
        return told

    def _heed(self, usage: Any, told: Any, now: int) -> Flow[None]:
        name = self._named(usage)
        quotas = self._quotas
        leaf, key = quotas.limit.find(*name)
        allowed, denied = usage.num_requests_allowed, usage.num_requests_denied
        quotas.count(leaf, allowed, denied)
        self._met[name] = leaf
        if leaf is None or leaf.free or leaf.shadow or leaf.banned:
            quotas.leave(name, self)
            rule = DENY_ALL if leaf is not None and leaf.banned and not leaf.shadow else ALLOW_ALL
            self._blanket(told, name, rule, now)
            return
        self._told.pop(name, None)
        shares = quotas.shares.setdefault(name, {})
        share = shares.setdefault(self, Share())
        elapsed = usage.time_elapsed.seconds * MILLION + usage.time_elapsed.nanos // 1000
        share.learn(allowed + denied, elapsed)
        limiter = quotas.limit.limiter(leaf)
        yield from share.settle(leaf, limiter, key, allowed, now)
        others = [one for stream, one in shares.items() if stream is not self and one.heard(now)]
        grant = yield from share.fund(leaf, limiter, key, others, now)
        if grant is None:
            # What Envoy does without us is Envoy's to say, once its round is over.
            return
        assign(told, name, grant)

    def _named(self, usage: Any) -> Name:
        pairs = usage.bucket_id.bucket
        if not pairs or len(pairs) > ENTRIES:
            said = f"a bucket has from 1 to {ENTRIES} entries, not {len(pairs)}"
            raise Status(INVALID_ARGUMENT, said)
        name = Name(self._domain, tuple(sorted((pair.key, pair.value) for pair in pairs)))
        if name not in self._met and len(self._met) >= BUCKETS:
            raise Status(RESOURCE_EXHAUSTED, f"more than {BUCKETS:,} buckets; use fewer")
        return name

    def _blanket(self, told: Any, name: Name, rule: int, now: int) -> None:
        before, since = self._told.get(name, (-1, 0))
        if before == rule and now - since < LONG // 2:
            return
        self._told[name] = rule, now
        action = address(told, name).quota_assignment_action
        action.assignment_time_to_live.seconds = LONG // MILLION
        action.rate_limit_strategy.blanket_rule = rule

    def _send(self, told: Any) -> None:
        if told.bucket_action:
            self._call.send(told.SerializeToString())


def address(told: Any, name: Name) -> Any:
    """A new action about a bucket."""
    action = told.bucket_action.add()
    for key, value in name.entries:
        action.bucket_id.bucket.add(key=key, value=value)
    return action


def assign(told: Any, name: Name, grant: Grant) -> None:
    """Tell how much may go in until the round is over.

    Envoy fills a new bucket as far as the one before it was filled. So it is told in one breath
    that nothing may go in, which is no bucket, and then of a bucket, which begins full.
    """
    action = address(told, name).quota_assignment_action
    action.assignment_time_to_live.FromMicroseconds(grant.span + LATE)
    action.rate_limit_strategy.blanket_rule = DENY_ALL
    if not grant.tokens:
        return
    action = address(told, name).quota_assignment_action
    action.assignment_time_to_live.FromMicroseconds(grant.span + LATE)
    bucket = action.rate_limit_strategy.token_bucket
    bucket.max_tokens = min(grant.tokens, LARGEST)
    bucket.tokens_per_fill.value = min(max(1, grant.ahead), LARGEST)
    bucket.fill_interval.FromMicroseconds(grant.span if grant.ahead else NEVER)
