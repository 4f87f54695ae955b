"""Contestants: each library's fastest idiomatic way to decide, in one uniform shape.

A contestant is a few objects and the statement a user would write with them. The statement is kept
as source, so that every contestant is timed in the same loop, with no adapter between the loop and
the library. Every builder takes the limit, its period in seconds and the number of keys it is to
remember, so each library is told to hold as many as it is asked about.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

OURS = "headgate token bucket"
FLOOR = "floor: empty method call"
LOOP = "floor: empty loop"
CLOCK = "floor: C clock read"


@dataclass(frozen=True)
class Contestant:
    """One library's way to decide: what to build, what to write, how to read the answer."""

    name: str
    package: str
    build: Callable[[int, int, int], dict[str, Any]]
    call: str
    answers: str = "bool"
    admitted: Callable[[Any], bool] = bool
    keyed: bool = True

    @property
    def version(self) -> str:
        """The installed version; raises PackageNotFoundError where there is none."""
        return metadata.version(self.package)


def contestants() -> list[Contestant]:
    """Those that answer at once, ours first."""
    return [
        *(_headgate(kind) for kind in ("TokenBucket", "GCRA", "FixedWindow", "SlidingWindow")),
        _limits("limits fixed window", "FixedWindowRateLimiter"),
        _limits("limits sliding counter", "SlidingWindowCounterRateLimiter"),
        *(_throttled(kind) for kind in ("fixed_window", "token_bucket", "gcra")),
        _pyrate("pyrate-limiter log", _pyrate_log, keyed=False),
        _pyrate("pyrate-limiter gcra", _pyrate_gcra, keyed=True),
        Contestant("token-bucket", "token-bucket", _token_bucket, "limiter.consume(key)"),
        Contestant("rust-py-rate-limit allow()", "rust-py-rate-limit", _rust, "limiter.allow(key)"),
        Contestant(
            "rust-py-rate-limit check()",
            "rust-py-rate-limit",
            _rust,
            "limiter.check(key)",
            "dict",
            lambda answer: bool(answer["allowed"]),
        ),
        Contestant("flowguard", "flowguard", _flowguard, "limiter.acquire()", keyed=False),
    ]


def awaited() -> list[Contestant]:
    """Those that are awaited; a row's name is that of the same algorithm above, if there is one."""
    return [
        Contestant(OURS, "headgate", _headgate_async, "limiter.take(key)", "Decision"),
        Contestant("limits fixed window", "limits", _limits_async, "limiter.hit(item, key)"),
        Contestant(
            "throttled-py token bucket",
            "throttled-py",
            _throttled_async,
            "limiter.limit(key)",
            "result",
            lambda answer: not answer.limited,
        ),
        Contestant(
            "pyrate-limiter gcra",
            "pyrate-limiter",
            _pyrate_gcra,
            "limiter.try_acquire_async(key, blocking=False)",
        ),
        Contestant(
            "aiolimiter",
            "aiolimiter",
            _aiolimiter,
            "limiter.acquire()",
            "nothing",
            lambda answer: answer is None,
            keyed=False,
        ),
        Contestant("flowguard", "flowguard", _flowguard_async, "limiter.acquire()", keyed=False),
    ]


def floors(method: str) -> list[Contestant]:
    """What no limiter written for Python can go below: the loop, and a call that does nothing."""
    return [
        Contestant(LOOP, "", lambda *_: {}, "", ""),
        Contestant(FLOOR, "", lambda *_: {"subject": Subject()}, f"subject.{method}(key)", ""),
    ]


class Subject:
    """Something with methods that do nothing."""

    def method(self, key: str) -> None:
        """Return."""

    async def awaitable(self, key: str) -> None:
        """Return, once awaited."""


def _headgate(kind: str) -> Contestant:
    def build(limit: int, period: int, keys: int) -> dict[str, Any]:
        import headgate

        rule = getattr(headgate, kind)(headgate.Rate.of(limit, period * 1_000_000))
        return {"limiter": headgate.Limiter(rule, store=_headgate_store(keys))}

    words = "".join(f" {c.lower()}" if c.isupper() else c for c in kind).split()
    name = "headgate " + ("gcra" if kind == "GCRA" else " ".join(words))
    return Contestant(name, "headgate", build, "limiter.take(key)", "Decision")


def _headgate_async(limit: int, period: int, keys: int) -> dict[str, Any]:
    from headgate import AsyncLimiter, Rate, TokenBucket

    rule = TokenBucket(Rate.of(limit, period * 1_000_000))
    return {"limiter": AsyncLimiter(rule, store=_headgate_store(keys))}


def _headgate_store(keys: int) -> Any:
    from headgate import MemoryStore

    return MemoryStore(capacity=max(keys, 100_000))


def _limits(name: str, strategy: str) -> Contestant:
    def build(limit: int, period: int, _keys: int) -> dict[str, Any]:
        from limits import RateLimitItemPerSecond, storage, strategies

        limiter = getattr(strategies, strategy)(storage.MemoryStorage())
        return {"limiter": limiter, "item": RateLimitItemPerSecond(limit, period)}

    return Contestant(name, "limits", build, "limiter.hit(item, key)")


def _limits_async(limit: int, period: int, _keys: int) -> dict[str, Any]:
    from limits import RateLimitItemPerSecond
    from limits.aio import storage, strategies

    limiter = strategies.FixedWindowRateLimiter(storage.MemoryStorage())
    return {"limiter": limiter, "item": RateLimitItemPerSecond(limit, period)}


def _throttled(kind: str) -> Contestant:
    def build(limit: int, period: int, keys: int) -> dict[str, Any]:
        from throttled import MemoryStore, Throttled

        # Its store forgets all but the last 1,024 keys unless it is told otherwise.
        store = MemoryStore(options={"MAX_SIZE": max(keys, 1024)})
        return {"limiter": Throttled(using=kind, quota=_quota(limit, period), store=store)}

    return Contestant(
        f"throttled-py {kind.replace('_', ' ')}",
        "throttled-py",
        build,
        "limiter.limit(key)",
        "result",
        lambda answer: not answer.limited,
    )


def _throttled_async(limit: int, period: int, keys: int) -> dict[str, Any]:
    from throttled.asyncio import MemoryStore, Throttled

    store = MemoryStore(options={"MAX_SIZE": max(keys, 1024)})
    return {"limiter": Throttled(using="token_bucket", quota=_quota(limit, period), store=store)}


def _quota(limit: int, period: int) -> Any:
    from throttled import per_duration

    return per_duration(timedelta(seconds=period), limit, burst=limit)


def _pyrate(name: str, build: Callable[[int, int, int], dict[str, Any]], keyed: bool) -> Contestant:
    call = "limiter.try_acquire(key, blocking=False)"
    return Contestant(name, "pyrate-limiter", build, call, keyed=keyed)


def _pyrate_log(limit: int, period: int, _keys: int) -> dict[str, Any]:
    from pyrate_limiter import InMemoryBucket, Limiter, Rate

    return {"limiter": Limiter(InMemoryBucket([Rate(limit, period * 1000)]))}


def _pyrate_gcra(limit: int, period: int, keys: int) -> dict[str, Any]:
    from pyrate_limiter import BucketFactory, Limiter, MonotonicClock, Rate, RateItem, StateBucket

    rate = Rate(limit, period * 1000)
    if keys == 1:
        return {"limiter": Limiter(StateBucket([rate]))}

    # One bucket a key is the user's to route, as its README shows.
    class PerName(BucketFactory):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            self.clock = MonotonicClock()
            self.buckets: dict[str, StateBucket] = {}

        def wrap_item(self, name: str, weight: int = 1) -> RateItem:
            return RateItem(name, self.clock.now(), weight=weight)

        def get(self, item: RateItem) -> StateBucket:
            if item.name not in self.buckets:
                self.buckets[item.name] = StateBucket([rate])
            return self.buckets[item.name]

    return {"limiter": Limiter(PerName())}


def _token_bucket(limit: int, period: int, _keys: int) -> dict[str, Any]:
    from token_bucket import Limiter, MemoryStorage

    return {"limiter": Limiter(limit / period, limit, MemoryStorage())}


def _rust(limit: int, period: int, _keys: int) -> dict[str, Any]:
    from rust_py_rate_limit import RateLimiter

    return {"limiter": RateLimiter(limit=limit, window_seconds=period)}


def _flowguard(limit: int, period: int, _keys: int) -> dict[str, Any]:
    from flowguard import RateLimiter

    return {"limiter": RateLimiter(sec=limit, sec_window=period, blocking=False)}


def _flowguard_async(limit: int, period: int, _keys: int) -> dict[str, Any]:
    from flowguard import AsyncRateLimiter

    return {"limiter": AsyncRateLimiter(sec=limit, sec_window=period, blocking=False)}


def _aiolimiter(limit: int, period: int, _keys: int) -> dict[str, Any]:
    from aiolimiter import AsyncLimiter

    return {"limiter": AsyncLimiter(limit, period)}
