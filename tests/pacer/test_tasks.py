"""Tasks in a pacer's line: whatever becomes of them, nobody is lost and no gap is wasted."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import ManualClock, Pacer, PacerFull

GAP = 10_000


class Fate(NamedTuple):
    """When a task comes, what it asks for, and after how long it is cancelled."""

    at: float
    cost: int
    timeout: float
    priority: int
    cancelled: float


class Crowd:
    """Tasks that meet their fates at a pacer of 100 a second, and what came of them."""

    def __init__(self, size: float) -> None:
        self.clock = ManualClock()
        self.pacer = Pacer("100/s", size=size, ageing=0.05, clock=self.clock)
        # When each left, what it cost, and the order of its coming.
        self.served: list[tuple[int, int, int]] = []
        self.refused: list[tuple[str, float, float]] = []
        self.cancelled = self.most = 0

    async def meet(self, fates: list[Fate]) -> Crowd:
        await asyncio.gather(*(self.live(number, fate) for number, fate in enumerate(fates)))
        return self

    async def live(self, number: int, fate: Fate) -> None:
        task = asyncio.ensure_future(self.ask(number, fate))
        if fate.cancelled < inf:
            await self.clock.asleep(fate.at + fate.cancelled)
            task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            self.cancelled += 1

    async def ask(self, number: int, fate: Fate) -> None:
        await self.clock.asleep(fate.at)
        start = self.clock.now()
        try:
            async with self.pacer.turn(fate.cost, fate.timeout, fate.priority) as turn:
                self.served.append((turn.departed, fate.cost, number))
        except PacerFull as refusal:
            waited = (self.clock.now() - start) / 1e6
            self.refused.append((refusal.reason, waited, fate.timeout))
        finally:
            self.most = max(self.most, self.pacer.waiting())


fates = st.builds(
    Fate,
    at=st.sampled_from([0.0, 0.003, 0.01, 0.05, 0.2]),
    cost=st.integers(1, 4),
    timeout=st.just(inf) | st.sampled_from([0.0, 0.01, 0.025, 0.1, 0.3]),
    priority=st.integers(0, 2),
    cancelled=st.just(inf) | st.sampled_from([0.0, 0.005, 0.01, 0.04]),
)


@given(st.lists(fates, max_size=25), st.integers(0, 8) | st.just(inf))
def test_served_refused_and_cancelled_are_all_who_came(tasks: list[Fate], size: float) -> None:
    crowd = asyncio.run(Crowd(size).meet(tasks))

    assert len(crowd.served) + len(crowd.refused) + crowd.cancelled == len(tasks)
    assert (crowd.pacer.waiting(), crowd.most <= size) == (0, True)
    assert all(
        later - moment >= cost * GAP for (moment, cost, _), (later, _, _) in pairwise(crowd.served)
    )
    assert all(waited <= timeout for _, waited, timeout in crowd.refused)


def test_a_thousand_waiters_of_whom_many_give_up(scale: int) -> None:
    # 30 % are cancelled and 10 % time out at random moments; the others leave in their order.
    chance = random.Random(scale)
    tasks = []
    for _ in range(1_000):
        fate = chance.choice(["cancelled"] * 3 + ["late"] + ["served"] * 6)
        timeout = chance.uniform(0.0, 5.0) if fate == "late" else inf
        quits = chance.uniform(0.0, 5.0) if fate == "cancelled" else inf
        tasks.append(Fate(0.0, 1, timeout, 0, quits))

    crowd = asyncio.run(Crowd(inf).meet(tasks))

    assert len(crowd.served) + len(crowd.refused) + crowd.cancelled == len(tasks)
    assert min(crowd.cancelled, len(crowd.refused)) > 20
    assert [number for _, _, number in crowd.served] == sorted(n for _, _, n in crowd.served)
    # Those who gave up took no time: one leaves every 10 ms, from the first to the last.
    assert [moment for moment, _, _ in crowd.served] == [
        number * GAP for number in range(len(crowd.served))
    ]
    assert (crowd.pacer.waiting(), crowd.pacer._gate.queue.units) == (0, 0)


Scene = Callable[[Pacer], Awaitable[Any]]


async def block(pacer: Pacer) -> None:
    async with pacer.turn():
        await asyncio.sleep(0)


async def awaited(pacer: Pacer) -> None:
    await pacer.turn()


async def in_time(pacer: Pacer) -> None:
    await pacer.turn(timeout=3_600.0)


async def paced(pacer: Pacer) -> None:
    async for _ in pacer.stream([b"a"]):
        await asyncio.sleep(0)


@pytest.mark.parametrize("scene", [block, awaited, in_time, paced])
@pytest.mark.parametrize("make", [ManualClock, lambda: None], ids=["manual", "system"])
@pytest.mark.parametrize("place", [0, 1])
def test_cancelled_at_every_await_nothing_leaks(
    scene: Scene, make: Callable[[], ManualClock | None], place: int
) -> None:
    # The task is cancelled after 0, 1, 2 ... turns of the loop, until it is done before that.
    turns = 0
    clock = make()
    while asyncio.run(cancelled_after(turns, scene, Pacer("1000/s", clock=clock), place)):
        turns += 1

    # On the machine's own clock, it depends on how fast the machine is.
    assert turns > 3 or clock is None


async def cancelled_after(turns: int, scene: Scene, pacer: Pacer, place: int) -> bool:
    """Whether the task was still there to be cancelled; the others leave as if it never came."""
    before = [await pacer.turn()]
    others = [asyncio.ensure_future(leave(pacer)) for _ in range(place)]
    await asyncio.sleep(0)
    task = asyncio.ensure_future(scene(pacer))
    await asyncio.sleep(0)
    others.append(asyncio.ensure_future(leave(pacer)))
    for _ in range(turns):
        await asyncio.sleep(0)
    left_in_time = task.done()
    cancelled = task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    moments = [before[0].departed, *await asyncio.gather(*others)]
    assert pacer.waiting() == 0
    gaps = [later - moment for moment, later in pairwise(moments)]
    if isinstance(pacer.clock, ManualClock):
        # One gap for each, and one for the task if it left before it was cancelled.
        assert sum(gaps) in {1_000 * len(others), 1_000 * (len(others) + 1)}
        assert left_in_time or scene in (block, paced) or sum(gaps) == 1_000 * len(others)
    else:
        assert min(gaps) >= 1_000
    return cancelled


def test_cancelled_in_the_turn_in_which_it_is_woken_the_next_leaves_in_its_place() -> None:
    async def main() -> list[int]:
        clock = ManualClock()
        pacer = Pacer("10/s", clock=clock)
        await pacer.turn()
        first, second = (asyncio.ensure_future(leave(pacer)) for _ in range(2))
        await asyncio.sleep(0)
        # Rung and cancelled in one turn of the loop.
        clock.advance(0.1)
        pacer.change("10/s")
        first.cancel()
        return [one for one in await asyncio.gather(first, second, return_exceptions=True)
                if isinstance(one, int)]  # fmt: skip

    assert asyncio.run(main()) == [100_000]


async def leave(pacer: Pacer) -> int:
    turn = await pacer.turn()
    return turn.departed
