"""Callers: a limiter of either colour, asked by a test, that notices when there is no answer.

Every question runs in a thread or in an event loop of the caller's own, so that a test of one
colour reads like one of the other, and one that hangs fails and does not hang the tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Thread
from time import perf_counter
from typing import Any, NamedTuple

from headgate import AsyncLimiter, Decision, Limit, Limiter, ManualClock
from headgate.stores.leases.store import LeasedStore
from headgate.stores.redis.async_store import AsyncRedisStore
from headgate.stores.redis.store import RedisStore

COLOURS = ("sync", "async")
MODES = ("local", "allow", "deny", "raise")
BUDGET = 0.05
# Seconds after which a question is taken to hang, on however busy a machine.
HANG = 10.0
# Who asks at once, at most; also the lines that a store may hold.
CROWD = 8


class Call(NamedTuple):
    """What became of one question: an answer or a problem, and when it was asked and over."""

    key: str
    answer: Any
    problem: BaseException | None
    span: tuple[float, float]

    @property
    def decision(self) -> Decision:
        """The decision, where there must be one."""
        if not isinstance(self.answer, Decision):
            raise AssertionError(f"{self.problem!r} instead of a decision") from self.problem
        return self.answer

    @property
    def without(self) -> bool:
        """Whether the store had no part in it."""
        return self.answer is None or bool(self.decision.degraded)


class Threads:
    """Asks a `Limiter`, each question in a thread of a pool."""

    def __init__(self, store: Any, limits: tuple[Limit, ...], options: dict[str, Any]) -> None:
        self.store = store
        self.limiter = Limiter(*limits, store=store, **options)
        self.pool = ThreadPoolExecutor(CROWD, thread_name_prefix="caller")

    def begin(self, verb: str, *said: Any) -> Future[Call]:
        return self.pool.submit(timed, getattr(self.limiter, verb), *said)

    def do(self, work: Callable[[], Any]) -> Any:
        """Have something else done in this colour."""
        return self.pool.submit(work).result(HANG)

    def tasks(self) -> int:
        """Nothing here is a task."""
        return 0

    def close(self) -> None:
        self.do(self.store.close)
        self.pool.shutdown()


class Tasks:
    """Asks an `AsyncLimiter` in an event loop, which has a thread to itself."""

    def __init__(self, store: Any, limits: tuple[Limit, ...], options: dict[str, Any]) -> None:
        self.store = store
        self.limiter = AsyncLimiter(*limits, store=store, **options)
        self.loop = asyncio.new_event_loop()
        self.thread = Thread(target=self.loop.run_forever, name="caller", daemon=True)
        self.thread.start()

    def begin(self, verb: str, *said: Any) -> Future[Call]:
        return self._send(atimed(getattr(self.limiter, verb), *said))

    def do(self, work: Callable[[], Any]) -> Any:
        """Have something else done in this colour."""

        async def done() -> Any:
            return await work()

        return self._send(done()).result(HANG)

    def tasks(self) -> int:
        """How many tasks there are in the loop."""

        async def count() -> int:
            return len(asyncio.all_tasks()) - 1

        return int(self._send(count()).result(HANG))

    def close(self) -> None:
        self.do(self.store.close)
        self.do(self.loop.shutdown_asyncgens)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(HANG)
        self.loop.close()

    def _send(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self.loop)


class Caller:
    """Asks in a `colour`, through a store at `url`, and keeps the history of it.

    Its clock stands still unless a test moves it; with `clock=None` it is the system's.
    """

    def __init__(
        self,
        colour: str,
        *limits: Limit,
        url: str,
        mode: str = "local",
        budget: float = BUDGET,
        clock: ManualClock | None,
        lease: float = 0.0,
        name: str = "",
    ) -> None:
        self.clock = clock
        self.budget = budget
        self.closed = False
        self.history: list[Call] = []
        store: Any = (
            RedisStore(url, budget, lines=CROWD)
            if colour == "sync"
            else AsyncRedisStore(url, budget)
        )
        store = LeasedStore(store, ttl=lease) if lease else store
        options = {"clock": clock, "when_unavailable": mode, "name": name}
        self.desk = (Threads if colour == "sync" else Tasks)(store, limits, options)

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Go home; a second time, stay there."""
        if not self.closed:
            self.closed = True
            self.desk.close()

    def ask(self, verb: str, key: str = "k", *said: Any) -> Call:
        """One question, and what became of it."""
        return self.told(key, self.desk.begin(verb, key, *said))

    def many(self, keys: list[str]) -> Call:
        """One take for each of many keys, and what became of them."""
        return self.told("", self.desk.begin("take_many", keys))

    def take(self, key: str = "k", cost: int = 1) -> Call:
        """Take, and what became of it."""
        return self.ask("take", key, cost)

    def together(self, count: int, key: str = "k") -> list[Call]:
        """So many takes at once."""
        begun = [self.desk.begin("take", key) for _ in range(count)]
        return [self.told(key, one) for one in begun]

    def told(self, key: str, begun: Future[Call]) -> Call:
        """What becomes of a question that was begun."""
        call = begun.result(HANG)._replace(key=key)
        self.history.append(call)
        return call

    def back(self, key: str = "k") -> bool:
        """Whether the store answers again; half a second later each time it is asked."""
        if self.clock is not None:
            self.clock.advance(0.5)
        return not self.take(key).without


def timed(work: Callable[..., Any], *said: Any) -> Call:
    start = perf_counter()
    try:
        answer = work(*said)
    except BaseException as problem:
        return Call("", None, problem, (start, perf_counter()))
    return Call("", answer, None, (start, perf_counter()))


async def atimed(work: Callable[..., Any], *said: Any) -> Call:
    start = perf_counter()
    try:
        answer = await work(*said)
    except BaseException as problem:
        return Call("", None, problem, (start, perf_counter()))
    return Call("", answer, None, (start, perf_counter()))
