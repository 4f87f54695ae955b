"""Tasks at a bulkhead: in order, cancelled at any moment, and no place is ever lost."""

from __future__ import annotations

import asyncio
import gc
import random
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from headgate import Bulkhead, BulkheadFull, ManualClock
from tests.servers.waiting import until


def test_exactly_so_many_are_inside() -> None:
    async def main() -> tuple[int, int]:
        bulkhead = Bulkhead(3)
        inside = most = 0

        async def work() -> None:
            nonlocal inside, most
            async with bulkhead.hold():
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1

        await asyncio.gather(*(work() for _ in range(100)))
        return most, bulkhead.inside()

    assert asyncio.run(main()) == (3, 0)


def test_first_come_first_served() -> None:
    async def main() -> list[int]:
        bulkhead = Bulkhead(2)
        order: list[int] = []

        async def work(number: int) -> None:
            async with bulkhead.hold():
                order.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*(work(number) for number in range(50)))
        return order

    assert asyncio.run(main()) == list(range(50))


def test_a_slot_may_be_awaited_and_ended_by_hand() -> None:
    async def main() -> tuple[int, int]:
        bulkhead = Bulkhead(1)
        slot = await bulkhead.hold()
        during = bulkhead.inside()
        slot.success()
        return during, bulkhead.inside()

    assert asyncio.run(main()) == (1, 0)


def test_who_waits_gives_up_in_time_by_a_clock_moved_by_hand() -> None:
    async def main() -> tuple[str, int, int]:
        clock = ManualClock()
        bulkhead = Bulkhead(1, clock=clock)
        async with bulkhead.hold():
            with pytest.raises(BulkheadFull) as refusal:
                async with bulkhead.hold(timeout=2.5):
                    pass
            return refusal.value.reason, clock.now(), bulkhead.waiting()

    assert asyncio.run(main()) == ("timeout", 2_500_000, 0)


def test_ten_thousand_waiters_of_whom_many_give_up(scale: int) -> None:
    # 30 % are cancelled and 10 % time out at random moments; the others go in in their order.
    asyncio.run(crowd(10_000, scale))


async def crowd(size: int, seed: int) -> None:
    clock = ManualClock()
    chance = random.Random(seed)
    bulkhead = Bulkhead(20, clock=clock)
    served: list[int] = []
    busy = 0.0

    async def work(number: int, timeout: float) -> None:
        nonlocal busy
        async with bulkhead.hold(timeout=timeout):
            served.append(number)
            await clock.asleep(0.1)
            busy += 0.1

    tasks = []
    fates = ["cancelled"] * 3 + ["late"] + ["served"] * 6
    for number in range(size):
        fate = chance.choice(fates)
        timeout = chance.uniform(0.0, 30.0) if fate == "late" else float("inf")
        task = asyncio.create_task(work(number, timeout))
        if fate == "cancelled":
            tasks.append(asyncio.create_task(cancel(clock, task, chance.uniform(0.0, 30.0))))
        tasks.append(task)
    await asyncio.gather(*tasks, return_exceptions=True)

    ideal = busy / 20
    assert (bulkhead.inside(), bulkhead.waiting()) == (0, 0)
    assert served == sorted(served)
    assert len(served) > size // 2
    # Nobody idles while somebody waits: all was done in the time that so many need, or 5 % more.
    assert clock.now() / 1e6 <= max(ideal * 1.05, 30.1)


async def cancel(clock: ManualClock, task: asyncio.Task[None], after: float) -> None:
    await clock.asleep(after)
    task.cancel()


Scene = Callable[[Bulkhead], Awaitable[Any]]


async def hold(bulkhead: Bulkhead) -> None:
    async with bulkhead.hold():
        await asyncio.sleep(0)


async def hold_for_a_while(bulkhead: Bulkhead) -> None:
    async with bulkhead.hold(timeout=60.0):
        await asyncio.sleep(0)


async def awaited(bulkhead: Bulkhead) -> None:
    slot = await bulkhead.hold()
    try:
        await asyncio.sleep(0)
    finally:
        slot.success()


@pytest.mark.parametrize("scene", [hold, hold_for_a_while, awaited])
@pytest.mark.parametrize("clock", [None, ManualClock()])
def test_cancelled_at_every_await_nothing_leaks(scene: Scene, clock: ManualClock | None) -> None:
    # The task is cancelled after 0, 1, 2 ... turns of the loop, until it is done before that.
    turns = 0
    while asyncio.run(cancelled_after(turns, scene, Bulkhead(1, clock=clock))):
        turns += 1

    assert turns > 3


async def cancelled_after(turns: int, scene: Scene, bulkhead: Bulkhead) -> bool:
    """Whether the task was still there to be cancelled; others must find the place free after."""
    door = bulkhead.take()
    task = asyncio.ensure_future(scene(bulkhead))
    for turn in range(turns):
        await asyncio.sleep(0)
        if turn == 2:
            door.success()
    cancelled = task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    door.success()
    for _ in range(3):
        await asyncio.sleep(0)
    assert (bulkhead.inside(), bulkhead.waiting(), bool(bulkhead.take())) == (0, 0, True)
    return cancelled


def test_cancelled_at_the_moment_of_being_let_in_the_place_goes_on_to_the_next() -> None:
    async def main() -> list[str]:
        bulkhead = Bulkhead(1)
        door = bulkhead.take()
        seen: list[str] = []

        async def work(name: str) -> None:
            async with bulkhead.hold():
                seen.append(name)

        first, second = (asyncio.ensure_future(work(name)) for name in ("first", "second"))
        await asyncio.sleep(0)
        # Let in and cancelled in one turn of the loop.
        door.success()
        first.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        return seen

    assert asyncio.run(main()) == ["second"]


def test_threads_and_tasks_stand_in_one_line() -> None:
    bulkhead = Bulkhead(1)
    order: list[str] = []

    def thread() -> None:
        with bulkhead.hold():
            order.append("thread")

    async def task() -> None:
        async with bulkhead.hold():
            order.append("task")

    async def main() -> None:
        door = bulkhead.take()
        waiting = asyncio.ensure_future(task())
        await asyncio.sleep(0)
        other = threading.Thread(target=thread)
        other.start()
        until(lambda: bulkhead.waiting() == 2, "the thread to wait")
        last = asyncio.ensure_future(task())
        await asyncio.sleep(0)
        threading.Thread(target=door.success).start()
        await asyncio.gather(waiting, last)
        other.join()

    asyncio.run(main())

    assert order == ["task", "thread", "task"]


def test_a_place_given_to_a_task_of_a_closed_loop_goes_on_to_the_next() -> None:
    # What there was before the test would be looked through as well.
    gc.freeze()
    bulkhead = Bulkhead(1)
    door = bulkhead.take()
    loop = asyncio.new_event_loop()
    # A loop that is stopped and closed in the middle, with a task in line.
    lost = loop.create_task(wait(bulkhead))
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    other = threading.Thread(target=lambda: bulkhead.hold().__enter__().success())
    other.start()
    until(lambda: bulkhead.waiting() == 2, "the thread to wait")

    door.success()
    other.join(10)

    assert (other.is_alive(), bulkhead.inside()) == (False, 0)
    # Nor does it give back a second time what went to another.
    del lost
    gc.collect()
    slot = bulkhead.take()
    assert (bool(slot), bool(bulkhead.take()), bulkhead.inside()) == (True, False, 1)
    slot.success()


async def wait(bulkhead: Bulkhead) -> None:
    async with bulkhead.hold():
        pass
