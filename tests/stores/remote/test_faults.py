"""A service that is gone, slow, or talks nonsense: answers in time, as told, and back by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from headgate import AsyncLimiter, Limiter, ManualClock, StoreUnavailable
from headgate.clock import SystemClock
from headgate.stores.remote.store import RemoteStore
from headgate.stores.watch import PAUSE
from tests.faults.caller import HANG
from tests.faults.impostor import Impostor
from tests.faults.test_nonsense import NONSENSE
from tests.servers.ports import Port
from tests.servers.proxy import Proxy
from tests.service.resp.staging import RespServiceHost as Stage

COLOURS = ["sync", "async"]
# An answer within the budget is not late on a busy machine, one beyond it is never there.
BUDGET, AMPLE = 0.05, 5.0


class Asker:
    """A limiter on a service, asked in either colour."""

    def __init__(
        self, colour: str, port: int, mode: str, budget: float = AMPLE, **options: Any
    ) -> None:
        self.runner = asyncio.Runner() if colour == "async" else None
        self.store = RemoteStore(f"headgate://127.0.0.1:{port}", colour == "async", budget)
        kind = AsyncLimiter if self.runner else Limiter
        self.limiter: Any = kind("5/min", store=self.store, when_unavailable=mode, **options)

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self.store.close)
        if self.runner is not None:
            self.runner.close()

    def take(self, key: str = "k", cost: int = 1) -> Any:
        """A decision, or a `StoreUnavailable`; whoever hangs fails."""
        begun = SystemClock().now()
        try:
            return self.run(self.limiter.take, key, cost)
        except StoreUnavailable as problem:
            return problem
        finally:
            assert SystemClock().now() - begun < HANG * 1e6

    def run(self, call: Callable[..., Any], *said: Any) -> Any:
        if self.runner is None:
            return call(*said)

        async def wait() -> Any:
            return await call(*said)

        return self.runner.run(wait())


def gone(proxy: Proxy, asker: Asker) -> None:
    """Have nobody there any more; come back when the asker has heard of it."""
    proxy.refuse()
    proxy.reset()
    while asker.runner is not None and asker.store.lines._last.broken is None:
        asker.run(asyncio.sleep, 0)


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize(
    ("mode", "allowed"), [("local", True), ("allow", True), ("deny", False), ("raise", None)]
)
def test_a_service_that_is_not_there_is_decided_without(
    colour: str, mode: str, allowed: bool | None
) -> None:
    place = Port()
    with Asker(colour, place.number, mode) as asker:
        answers = [asker.take() for _ in range(8)]
    place.close()

    if allowed is None:
        assert all(isinstance(answer, StoreUnavailable) for answer in answers)
        assert f"127.0.0.1:{place.number} cannot be reached" in str(answers[0])
        return
    assert all(answer.degraded for answer in answers)
    assert sum(map(bool, answers)) == {"local": 5, "allow": 8, "deny": 0}[mode]
    assert answers[7].reason == {"local": "limit", "allow": "", "deny": "unavailable"}[mode]


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("fault", ["blackhole", "reject", "refuse", "cut"])
def test_who_asks_a_service_in_trouble_is_answered_in_time(colour: str, fault: str) -> None:
    with (
        Stage() as stage,
        Proxy(stage.port) as proxy,
        Asker(colour, proxy.port, "deny", BUDGET) as asker,
    ):
        asker.take()
        {
            "blackhole": proxy.blackhole,
            "reject": proxy.reject,
            "refuse": lambda: gone(proxy, asker),
            "cut": lambda: proxy.cut(5),
        }[fault]()
        answers = [asker.take() for _ in range(5)]

        assert not any(answers)
        assert {answer.reason for answer in answers} == {"unavailable"}


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("what", sorted(NONSENSE))
def test_nonsense_is_an_error_of_ours_or_none(colour: str, what: str) -> None:
    def answer(words: list[bytes]) -> bytes | None:
        told = words[3] if len(words) > 3 else b""
        return NONSENSE[what]([b"EVALSHA", b"", b"", b"", told])

    with Impostor(answer) as impostor, Asker(colour, impostor.port, "raise", BUDGET) as asker:
        answers = [asker.take("k", 2) for _ in range(3)]

    for found in answers:
        assert isinstance(found, StoreUnavailable) or 0 <= found.remaining <= found.limit + 9


@pytest.mark.parametrize("colour", COLOURS)
def test_a_service_that_has_begun_anew_is_told_the_limits_again(colour: str) -> None:
    place = Port()
    with Asker(colour, place.number, "raise") as asker:
        with Stage(port=place.number):
            before = [asker.take().remaining for _ in range(3)]
        gone = asker.take()
        with Stage(port=place.number):
            # What was in memory is gone with it; the line may have to be noticed as broken first.
            after = [asker.take() for _ in range(3)]
    place.close()

    assert before == [4, 3, 2]
    assert isinstance(gone, StoreUnavailable)
    left = [found.remaining for found in after if not isinstance(found, StoreUnavailable)]
    assert left in ([4, 3], [4, 3, 2])


@pytest.mark.parametrize("colour", COLOURS)
def test_what_was_let_in_meanwhile_is_charged_when_the_service_is_back(colour: str) -> None:
    clock = ManualClock(1000.0)
    with Stage() as stage, Proxy(stage.port) as proxy:
        options = {"clock": clock, "name": "debts"}
        with (
            Asker(colour, proxy.port, "local", **options) as asker,
            Asker("sync", stage.port, "raise", **options) as witness,
        ):
            first = asker.take()
            gone(proxy, asker)
            meanwhile = [asker.take() for _ in range(4)]
            proxy.heal()
            clock.advance(PAUSE / 1e6 + 0.1)
            back = asker.take("other")
            for _ in range(1000):
                if colour == "async":
                    asker.run(asyncio.sleep, 0)
                left = witness.run(witness.limiter.peek, "k").remaining
                if left == 0:
                    break

            assert not first.degraded
            assert [(bool(found), found.degraded) for found in meanwhile] == [(True, True)] * 4
            assert not back.degraded
            assert left == 0


def test_a_share_is_that_of_all_who_are_there() -> None:
    with Stage() as stage, Proxy(stage.port) as proxy:
        # Two processes have given signs of life: this one, and one more.
        stage.ask("HG.BEAT", "a" * 32, b"12345678")
        with Asker("async", proxy.port, "local") as asker:
            asker.take("first")
            for _ in range(1000):
                asker.run(asyncio.sleep, 0)
                if asker.store.watch.instances == 2:
                    break
            gone(proxy, asker)
            answers = [asker.take() for _ in range(5)]

    assert sum(map(bool, answers)) == 2
