"""A guarded function on a stage: any layers, either colour, any trouble, and who noticed what."""

from __future__ import annotations

import asyncio
import threading
from contextlib import ExitStack
from typing import Any

from headgate import (
    AsyncLimiter,
    Breaker,
    BreakerOpen,
    Bulkhead,
    BulkheadFull,
    Limiter,
    LimitExceeded,
    ManualClock,
    Pool,
    TokenBucket,
    guard,
)

COLOURS = ["def", "async def", "async def, AsyncLimiter"]
LAYERS = ["limiter", "bulkhead", "breaker", "timeout", "fallback"]
# From the outside in: whose trouble it is, and what comes of it.
TROUBLES = {"breaker": BreakerOpen, "limiter": LimitExceeded, "bulkhead": BulkheadFull}
ENDS: dict[str, type[Exception]] = {"bad": ValueError, "late": TimeoutError}
TOKENS = 5
LIMIT = TokenBucket(f"{TOKENS}/day")
PLACES = 2
RESCUED = "rescued"


class Stage:
    """The layers named, around a function that ends as it is told to."""

    def __init__(
        self, layers: set[str], colour: str, key: str = "", patience: float = 0.0, end: str = "good"
    ) -> None:
        self.colour = colour
        self.end = end
        self.clock = ManualClock()
        # No wait of any patience would do: the next token comes in an hour or so.
        kind: Any = AsyncLimiter if "Async" in colour else Limiter
        self.limiter = kind(LIMIT, clock=self.clock)
        pooled = "timeout" in layers and colour == "def"
        self.pool = Pool(PLACES) if pooled else None
        self.bulkhead = Bulkhead(PLACES, clock=self.clock)
        self.breaker = Breaker(calls=100, clock=self.clock)
        self.key = key.format(user="ann")
        self.calls = self.inside = 0
        self.release = threading.Event()
        given = {
            "limiter": self.limiter,
            "bulkhead": self.pool or self.bulkhead,
            "breaker": self.breaker,
            # In a thread, long enough for the call to begin on the busiest machine.
            "timeout": 60.0 if end != "late" else 1.0 if pooled else 0.01,
            "fallback": RESCUED,
        }
        chosen = {word: value for word, value in given.items() if word in layers}
        self.function = guard(**chosen, key=key, patience=patience)(self.play())  # type: ignore[arg-type]

    def play(self) -> Any:
        """The function, in its colour."""

        def work(user: str) -> str:
            self.calls += 1
            self.inside = self.places()
            if self.end == "bad":
                raise ValueError(user)
            if self.end == "late":
                assert self.release.wait(60)
            return user

        async def awork(user: str) -> str:
            if self.end == "late":
                self.calls += 1
                self.inside = self.places()
                await asyncio.get_running_loop().create_future()
            return work(user)

        return work if self.colour == "def" else awork

    def trouble(self, layer: str, until: ExitStack) -> None:
        """Let a layer say no, from now until the end."""
        if layer == "breaker":
            self.breaker.force("open", self.key)
        if layer == "limiter":
            self.spend(TOKENS)
        if layer == "bulkhead":
            for _ in range(PLACES):
                if self.pool is not None:
                    self.pool.submit(self.release.wait, 60)
                else:
                    until.enter_context(self.bulkhead.take(self.key))
            until.callback(self.release.set)

    def call(self) -> Any:
        """What a call answers or raises, as a value."""
        try:
            if self.colour == "def":
                return self.function("ann")
            return asyncio.run(self.function("ann"))
        except Exception as problem:
            return type(problem)

    def spend(self, cost: int) -> None:
        self.peeked().debit(self.key, cost)

    def peeked(self) -> Limiter:
        return getattr(self.limiter, "_limiter", self.limiter)  # type: ignore[no-any-return]

    def spent(self) -> int:
        """How many tokens are gone."""
        return TOKENS - self.peeked().peek(self.key).remaining

    def places(self) -> int:
        """How many places are held."""
        return self.bulkhead.inside(self.key) if self.pool is None else self.pool.inside()
