"""Replays: contestants under virtual time, asked one question at a time.

Whoever takes a clock is given one. Whoever asks the `time` module gets, inside its own modules and
for the length of the replay, a stand-in that tells virtual time. A library that reads the clock in
native code can be given neither and is named as such.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Ask = Callable[[], bool]

UNREPLAYED = {
    "rust-py-rate-limit": "reads its own clock in Rust",
    "flowguard": "reads its own clock in Rust",
}


class Moment:
    """The virtual time, in microseconds, told in every form the `time` module has."""

    def __init__(self) -> None:
        self.us = 0

    def time(self) -> float:
        return self.us / 1e6

    def monotonic(self) -> float:
        return self.us / 1e6

    def milliseconds(self) -> int:
        return self.us // 1000


@dataclass(frozen=True)
class Replay:
    """A contestant under virtual time.

    `kind` names the ideal it is held against, `modules` those that ask the `time` module.
    """

    name: str
    package: str
    kind: str
    build: Callable[[Moment, int, int], Ask]
    modules: tuple[str, ...] = ()


def replays() -> list[Replay]:
    """Everyone whose time can be told, ours first."""
    return [
        _headgate("token bucket", "bucket", "TokenBucket"),
        _headgate("gcra", "bucket", "GCRA"),
        _headgate("leaky bucket", "bucket", "LeakyBucket"),
        _headgate("fixed window", "window", "FixedWindow"),
        _headgate("sliding window", "counter", "SlidingWindow"),
        _headgate("sliding window, whole", "counter", "SlidingWindow", oldest="whole"),
        _headgate("sliding log", "log", "SlidingLog"),
        _limits("fixed window", "window from the first", "FixedWindowRateLimiter"),
        _limits("sliding counter", "counter", "SlidingWindowCounterRateLimiter"),
        _limits("moving window", "log", "MovingWindowRateLimiter"),
        _throttled("token_bucket", "bucket"),
        _throttled("gcra", "bucket"),
        _throttled("leaking_bucket", "bucket"),
        _throttled("fixed_window", "window"),
        _throttled("sliding_window", "counter"),
        _pyrate("gcra", "bucket", "StateBucket"),
        _pyrate("log", "log", "InMemoryBucket"),
        Replay("token-bucket", "token-bucket", "bucket", _token_bucket, ("token_bucket.storage",)),
        Replay("aiolimiter", "aiolimiter", "bucket", _aiolimiter),
    ]


def _headgate(name: str, kind: str, limit_class: str, **options: Any) -> Replay:
    def build(moment: Moment, limit: int, period: int) -> Ask:
        import headgate

        clock = headgate.ManualClock()
        rate = headgate.Rate.of(limit, period * 1_000_000)
        rule = getattr(headgate, limit_class)(rate, **options)
        limiter = headgate.Limiter(rule, clock=clock)

        def ask() -> bool:
            clock.set(moment.us / 1e6)
            return bool(limiter.take("one"))

        return ask

    return Replay(f"headgate {name}", "headgate", kind, build)


def _limits(name: str, kind: str, strategy: str) -> Replay:
    def build(_moment: Moment, limit: int, period: int) -> Ask:
        from limits import RateLimitItemPerSecond, storage, strategies

        memory: Any = storage.MemoryStorage()
        memory.timer.join()
        memory.timer = _Awake()
        limiter = getattr(strategies, strategy)(memory)
        item = RateLimitItemPerSecond(limit, period)
        return lambda: bool(limiter.hit(item, "one"))

    modules = ("limits.storage.memory", "limits.strategies")
    return Replay(f"limits {name}", "limits", kind, build, modules)


class _Awake:
    """A timer that is always running, so that no real one is started under virtual time."""

    def is_alive(self) -> bool:
        return True


def _throttled(algorithm: str, kind: str) -> Replay:
    def build(_moment: Moment, limit: int, period: int) -> Ask:
        from throttled import MemoryStore, Throttled, per_duration

        quota = per_duration(timedelta(seconds=period), limit, burst=limit)
        limiter = Throttled(using=algorithm, quota=quota, store=MemoryStore())
        return lambda: not limiter.limit("one").limited

    name = f"throttled-py {algorithm.replace('_', ' ')}"
    return Replay(name, "throttled-py", kind, build, ("throttled.utils",))


def _pyrate(name: str, kind: str, bucket_class: str) -> Replay:
    def build(moment: Moment, limit: int, period: int) -> Ask:
        import pyrate_limiter

        class Clock(pyrate_limiter.AbstractClock):  # type: ignore[misc, unused-ignore]
            def now(self) -> int:
                return moment.milliseconds()

        bucket = getattr(pyrate_limiter, bucket_class)([pyrate_limiter.Rate(limit, period * 1000)])
        bucket._clock = Clock()  # the log bucket has no parameter for it
        factory = pyrate_limiter.SingleBucketFactory(bucket, schedule_leak=False)
        limiter = pyrate_limiter.Limiter(factory)
        return lambda: bool(limiter.try_acquire("one", blocking=False))

    return Replay(f"pyrate-limiter {name}", "pyrate-limiter", kind, build)


def _token_bucket(_moment: Moment, limit: int, period: int) -> Ask:
    from token_bucket import Limiter, MemoryStorage

    limiter = Limiter(limit / period, limit, MemoryStorage())
    return lambda: bool(limiter.consume("one"))


def _aiolimiter(moment: Moment, limit: int, period: int) -> Ask:
    from aiolimiter import AsyncLimiter

    limiter: Any = AsyncLimiter(limit, period)
    limiter._event_loop = _Loop(moment)

    def ask() -> bool:
        if not limiter.has_capacity():
            return False
        try:
            limiter.acquire().send(None)
        except StopIteration:
            return True
        raise RuntimeError("aiolimiter waited although it had capacity")

    return ask


class _Loop:
    """As much of an event loop as aiolimiter asks about."""

    def __init__(self, moment: Moment) -> None:
        self.time = moment.monotonic

    def is_closed(self) -> bool:
        return False
