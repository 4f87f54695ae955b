"""Quotas: Envoy's quota service. Envoys report what they let in, and are told what they may.

A bucket is a descriptor of its domain: its entries in the order of their keys. It meets the limit
of a file that such a descriptor meets (see `tree`), and counts under the same key, so calls of the
rate limit service and quotas of one descriptor share one limit.

    a limit                       a token bucket, as `share` works it out
    unlimited, or only tried out  all may go in, and so they may while no rules are asked
    0                             nothing may go in
    no limit at all               all may go in, as with a call
    a limit that is gone          the bucket is to be forgotten
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

from google.protobuf.message import DecodeError

from headgate.drive import Flow, adrive, drive
from headgate.errors import StoreUnavailable
from headgate.rules.live.gatekeeper import aperform, perform
from headgate.service.grpc.status import (
    INVALID_ARGUMENT,
    OK,
    RESOURCE_EXHAUSTED,
    UNAVAILABLE,
    Status,
)
from headgate.service.rls.actions import Name, address, assign
from headgate.service.rls.count import DOWN
from headgate.service.rls.leaf import Leaf
from headgate.service.rls.messages import ALLOW_ALL, DENY_ALL, Reports
from headgate.service.rls.messages import Quotas as Told
from headgate.service.rls.query import ENTRIES
from headgate.service.rls.ratelimit import RateLimit
from headgate.service.rls.scribe import MILLION
from headgate.service.rls.share import Share

METHOD = "/envoy.service.rate_limit_quota.v3.RateLimitQuotaService/StreamRateLimitQuotas"
# Buckets that one Envoy may have, and may report at once, and reports that may wait to be read.
BUCKETS, WAITING = 1000, 100
# Bytes of the entries of a bucket; those that are kept of all Envoys, and what else of a bucket is.
NAMED, HELD, EACH = 8192, 67_108_864, 1000
# What holds for all is told for so long, and again when half of that is over.
LONG = 120 * MILLION
# After so long without a report it is not known any more what an Envoy had; how often that is seen.
GONE, PACE = 600 * MILLION, 60 * MILLION


class Quotas:
    """The Envoys that report, and what each of them may. `hall` has the loop they are heard in."""

    def __init__(self, limit: RateLimit, hall: Any) -> None:
        self.limit = limit
        self.hall = hall
        self.shares: dict[Name, dict[Stream, Share]] = {}
        self._streams: set[Stream] = set()
        # How much is kept of what Envoys say.
        self._held = 0
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

    def hold(self, size: int) -> None:
        """Keep so much more of what an Envoy says, or less; raises Status where it is too much."""
        if size > 0 and self._held + size > HELD:
            raise Status(RESOURCE_EXHAUSTED, "too many buckets of all together; use fewer")
        self._held += size

    def sweep(self, now: int) -> None:
        """Forget what an Envoy had that has not reported it for long."""
        if now < self._swept + PACE:
            return
        self._swept = now
        for stream in self._streams:
            stream.sweep(now)

    def close(self) -> None:
        """Hear of nobody any more."""
        for stream in [*self._streams]:
            stream.cancel()

    def drop(self, stream: Stream) -> None:
        """An Envoy has gone; what it was given is over when its round is."""
        self._streams.discard(stream)

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
        self._reports: deque[bytes] = deque()
        self._task: Any = None
        # It will report no more.
        self._ended = False
        # When what holds for all was told of a bucket, and what.
        self._told: dict[Name, tuple[int, int]] = {}
        # What each bucket met when it was last reported, and when that was.
        self._met: dict[Name, tuple[Leaf | None, int]] = {}

    def receive(self, message: bytes) -> None:
        """It has reported."""
        if not self._quotas.limit.far:
            self._send(drive(self._answer(message), perform))
            return
        if len(self._reports) >= WAITING:
            raise Status(RESOURCE_EXHAUSTED, "too many reports at once; send fewer")
        self._quotas.hold(len(message))
        self._reports.append(message)
        if self._task is None:
            self._task = self._quotas.hall.loop.create_task(self._work())

    def end(self) -> None:
        """It will report no more; what it has reported is answered."""
        self._ended = True
        if self._task is None:
            self._leave()
            self._call.finish()

    def cancel(self) -> None:
        """It has gone."""
        self._leave()
        if self._task is not None:
            self._task.cancel()

    def abandon(self) -> None:
        """Have it forget the buckets whose limit is gone."""
        told = Told()
        for name, (leaf, _) in [*self._met.items()]:
            self._told.pop(name, None)
            if leaf is None or self._quotas.limit.find(*name)[0] is not None:
                continue
            self._forget(name)
            address(told, name).abandon_action.SetInParent()
        self._send(told)

    def sweep(self, now: int) -> None:
        """Forget buckets that it has not reported for long."""
        for name in [name for name, (_, since) in self._met.items() if since + GONE < now]:
            self._forget(name)

    def _forget(self, name: Name) -> None:
        del self._met[name]
        self._told.pop(name, None)
        self._quotas.leave(name, self)
        self._quotas.hold(-weight(name))

    def _leave(self) -> None:
        for name in [*self._met]:
            self._forget(name)
        self._quotas.hold(-sum(map(len, self._reports)))
        self._reports.clear()
        self._quotas.drop(self)

    async def _work(self) -> None:
        code, said = OK, ""
        try:
            while self._reports:
                message = self._reports.popleft()
                self._quotas.hold(-len(message))
                self._send(await adrive(self._answer(message), aperform))
        except Status as problem:
            code, said, self._ended = problem.code, problem.message, True
        finally:
            self._task = None
        if self._ended:
            self._leave()
            self._call.finish(code, said)

    def _answer(self, message: bytes) -> Flow[Any]:
        reports = read(message)
        self._domain = self._domain or reports.domain
        if not self._domain:
            raise Status(INVALID_ARGUMENT, "the domain is empty; name one in the first message")
        if len(self._domain) > NAMED:
            raise Status(INVALID_ARGUMENT, f"the domain has at most {NAMED:,} characters")
        if len(reports.bucket_quota_usages) > BUCKETS:
            raise Status(RESOURCE_EXHAUSTED, f"more than {BUCKETS:,} buckets at once; use fewer")
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
        if name not in self._met:
            quotas.hold(weight(name))
        allowed, denied = usage.num_requests_allowed, usage.num_requests_denied
        quotas.count(leaf, allowed, denied)
        self._met[name] = leaf, now
        if leaf is None or leaf.free or leaf.shadow or leaf.banned or not quotas.limit.strict:
            quotas.leave(name, self)
            barred = leaf is not None and leaf.banned and not leaf.shadow and quotas.limit.strict
            self._blanket(told, name, DENY_ALL if barred else ALLOW_ALL, now)
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
        if weight(name) > EACH + NAMED:
            raise Status(INVALID_ARGUMENT, f"a bucket's name has at most {NAMED:,} bytes in all")
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


def read(message: bytes) -> Any:
    """The reports of a message; raises a `Status` where it has none."""
    try:
        return Reports.FromString(bytes(message))
    except DecodeError as problem:
        said = f"the message is no RateLimitQuotaUsageReports: {problem}"
        raise Status(INVALID_ARGUMENT, said) from None


def weight(name: Name) -> int:
    """About how many bytes are kept of a bucket, and of where it counts."""
    texts = (name.domain, *(text for entry in name.entries for text in entry))
    return EACH + sum(len(text.encode()) for text in texts)
