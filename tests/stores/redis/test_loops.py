"""Event loops of every kind: on each, who waits for a server that does not answer is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import uvloop

from headgate import AsyncLimiter, StoreUnavailable
from headgate.stores.redis.async_store import AsyncRedisStore
from tests.servers.proxy import Proxy
from tests.stores.redis.callers import BUDGET


class Plain:
    """A handle that can be cancelled and says nothing, as uvloop's for a wait it rounds to none."""

    def __init__(self, handle: asyncio.Handle) -> None:
        self.cancel = handle.cancel


class Terse(asyncio.SelectorEventLoop):
    """A loop whose timers do not say when they are due."""

    def call_later(self, *said: Any, **options: Any) -> Any:
        return Plain(super().call_later(*said, **options))


LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
    "terse": Terse,
}
loops = pytest.mark.parametrize("loop", LOOPS)


# The second and third are so small that a part of them is less than uvloop can wait for.
@loops
@pytest.mark.parametrize("budget", [0.05, 0.004, 0.001])
def test_who_is_not_answered_is_told(loop: str, budget: float, proxy: Proxy) -> None:
    proxy.blackhole()

    answers, problems = crowd(loop, AsyncRedisStore(proxy.url, budget))

    assert problems == []
    assert {type(answer) for answer in answers} == {StoreUnavailable}


@loops
def test_who_is_answered_late_has_the_answer(loop: str, proxy: Proxy) -> None:
    proxy.latency(0.05)

    answers, problems = crowd(loop, AsyncRedisStore(proxy.url, BUDGET))

    assert (problems, [answer.remaining for answer in answers]) == ([], list(range(89, 69, -1)))


def crowd(loop: str, store: AsyncRedisStore) -> tuple[list[Any], list[Any]]:
    """What becomes of 20 who ask at once in a loop of that kind, and what the loop complains of."""
    problems: list[Any] = []

    async def main() -> list[Any]:
        asyncio.get_running_loop().set_exception_handler(lambda _, said: problems.append(said))
        limiter = AsyncLimiter("90 per 1000day", store=store, when_unavailable="raise")
        asked = [limiter.take("k") for _ in range(20)]
        answers = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 20)
        await store.close()
        return answers

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        return runner.run(main()), problems
