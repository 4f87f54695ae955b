"""Contestants on Redis: each library's idiomatic way to decide on a server, in one shape.

As in contestants.py a contestant is a few objects and the statement its users write. All limits are
so many an hour, so that no key is forgotten between two rounds and none is used up. Every library
gets as many connections as there are callers; Headgate takes one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Build = Callable[[str, int, int], dict[str, Any]]

OURS = "headgate token bucket"
PERIOD = 3600


@dataclass(frozen=True)
class Caller:
    """One library's way to decide: what to build, what to write, how to read the answer.

    `build` takes the server's URL, the limit an hour and the number of connections. `command` is
    the one the server is sent for each decision; its own count of them is held against ours.
    """

    name: str
    package: str
    build: Build
    call: str
    admitted: Callable[[Any], bool] = bool
    command: str = "evalsha"


def callers() -> list[Caller]:
    """Those that block, ours first."""
    return [
        Caller(OURS, "headgate", _headgate, "limiter.take(key)"),
        _limits("fixed window", "FixedWindowRateLimiter"),
        _limits("sliding counter", "SlidingWindowCounterRateLimiter"),
        *(_throttled(kind) for kind in ("token_bucket", "gcra")),
        Caller(
            "pyrate-limiter gcra",
            "pyrate-limiter",
            _pyrate,
            "limiter.try_acquire(key, blocking=False)",
        ),
    ]


def awaited() -> list[Caller]:
    """Those that are awaited, ours first."""
    return [
        Caller(OURS, "headgate", _headgate_async, "limiter.take(key)"),
        _limits_async("fixed window", "FixedWindowRateLimiter", "redispy"),
        _limits_async("sliding counter", "SlidingWindowCounterRateLimiter", "redispy"),
        _limits_async("fixed window", "FixedWindowRateLimiter", "coredis"),
        *(_throttled_async(kind) for kind in ("token_bucket", "gcra")),
        Caller(
            "pyrate-limiter gcra",
            "pyrate-limiter",
            _pyrate_async,
            "limiter.try_acquire_async(key, blocking=False)",
        ),
        # What its README shows for event loops lets one task in at a time. This one does not.
        Caller(
            "pyrate-limiter gcra, no lock",
            "pyrate-limiter",
            _pyrate_async,
            "limiter.try_acquire(key, blocking=False)",
        ),
    ]


def rule(limit: int) -> Any:
    """Headgate's limit of so many an hour."""
    from headgate import Rate, TokenBucket

    return TokenBucket(Rate.of(limit, PERIOD * 1_000_000))


def _headgate(url: str, limit: int, _lines: int) -> dict[str, Any]:
    from headgate import Limiter

    return {"limiter": Limiter(rule(limit), store=url)}


def _headgate_async(url: str, limit: int, _lines: int) -> dict[str, Any]:
    from headgate import AsyncLimiter

    return {"limiter": AsyncLimiter(rule(limit), store=url)}


def _limits(kind: str, strategy: str) -> Caller:
    def build(url: str, limit: int, _lines: int) -> dict[str, Any]:
        from limits import RateLimitItemPerSecond, storage, strategies

        limiter = getattr(strategies, strategy)(storage.RedisStorage(url))
        return {"limiter": limiter, "item": RateLimitItemPerSecond(limit, PERIOD)}

    return Caller(f"limits {kind}", "limits", build, "limiter.hit(item, key)")


def _limits_async(kind: str, strategy: str, client: Any) -> Caller:
    def build(url: str, limit: int, lines: int) -> dict[str, Any]:
        from limits import RateLimitItemPerSecond
        from limits.aio import storage, strategies

        store = storage.RedisStorage(f"async+{url}", implementation=client, max_connections=lines)
        limiter = getattr(strategies, strategy)(store)
        return {"limiter": limiter, "item": RateLimitItemPerSecond(limit, PERIOD)}

    # With coredis the fixed window is a plain INCRBY; its EXPIRE follows in another journey.
    command = "incrby" if client == "coredis" else "evalsha"
    call = "limiter.hit(item, key)"
    return Caller(f"limits {kind}, {client}", "limits", build, call, command=command)


def _throttled(kind: str) -> Caller:
    def build(url: str, limit: int, _lines: int) -> dict[str, Any]:
        from throttled import RedisStore, Throttled

        return {"limiter": Throttled(using=kind, quota=_quota(limit), store=RedisStore(url))}

    return _throttled_caller(kind, build)


def _throttled_async(kind: str) -> Caller:
    def build(url: str, limit: int, lines: int) -> dict[str, Any]:
        from throttled.asyncio import RedisStore, Throttled

        store = RedisStore(url, options={"CONNECTION_POOL_KWARGS": {"max_connections": lines}})
        return {"limiter": Throttled(using=kind, quota=_quota(limit), store=store)}

    return _throttled_caller(kind, build)


def _throttled_caller(kind: str, build: Build) -> Caller:
    name = f"throttled-py {kind.replace('_', ' ')}"
    return Caller(
        name, "throttled-py", build, "limiter.limit(key)", lambda answer: not answer.limited
    )


def _quota(limit: int) -> Any:
    from throttled import per_duration

    return per_duration(timedelta(seconds=PERIOD), limit, burst=limit)


def _pyrate(url: str, limit: int, _lines: int) -> dict[str, Any]:
    import redis

    return {"limiter": _routed(redis.Redis.from_url(url), limit)}


def _pyrate_async(url: str, limit: int, lines: int) -> dict[str, Any]:
    import redis.asyncio

    return {"limiter": _routed(redis.asyncio.Redis.from_url(url, max_connections=lines), limit)}


def _routed(client: Any, limit: int) -> Any:
    """One bucket a key is the user's to route, as its README shows."""
    from pyrate_limiter import (
        BucketFactory,
        Limiter,
        Rate,
        RateItem,
        RedisStateStore,
        StateBucket,
        WallClock,
    )

    rate = Rate(limit, PERIOD * 1000)

    class PerName(BucketFactory):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            self.clock = WallClock()
            self.buckets: dict[str, StateBucket] = {}

        def wrap_item(self, name: str, weight: int = 1) -> RateItem:
            return RateItem(name, self.clock.now(), weight=weight)

        def get(self, item: RateItem) -> StateBucket:
            if item.name not in self.buckets:
                store = RedisStateStore(client, f"pyrate:{limit}:{item.name}")
                self.buckets[item.name] = StateBucket([rate], store=store)
            return self.buckets[item.name]

    return Limiter(PerName())
