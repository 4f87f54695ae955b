"""A pacer's verbs: who leaves when, who is refused and why, and what is said about it."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import threading
from collections.abc import Callable, Generator
from itertools import pairwise
from math import inf
from typing import Any

import pytest

from headgate import ManualClock, Pacer, PacerFull, Rate, Refused, Turn
from tests.limiter.clocks import FailingClock
from tests.servers.waiting import until

PACE = "Pacer: a pace lets some go and not all at once, not '0/s'"


def test_callers_leave_evenly(clock: ManualClock) -> None:
    pacer = Pacer("100/s", clock=clock)

    turns = [pacer.acquire() for _ in range(4)]

    assert [turn.departed for turn in turns] == [0, 10_000, 20_000, 30_000]
    assert [turn.waited for turn in turns] == [0.0, 0.01, 0.01, 0.01]


def test_thirty_thousand_a_second_do_not_drift(clock: ManualClock) -> None:
    pacer = Pacer("30000/s", clock=clock)

    moments = [pacer.acquire().departed for _ in range(30_001)]

    assert (moments[0], moments[-1]) == (0, 1_000_000)


def test_idling_earns_nothing(clock: ManualClock) -> None:
    pacer = Pacer("10/s", clock=clock)
    pacer.acquire()
    clock.advance(60.0)

    assert [pacer.acquire().departed for _ in range(3)] == [60_000_000, 60_100_000, 60_200_000]


def test_with_slack_so_many_missed_gaps_are_made_up(clock: ManualClock) -> None:
    pacer = Pacer("10/s", slack=2, clock=clock)
    pacer.acquire()
    clock.advance(60.0)

    moments = [pacer.acquire().departed - 60_000_000 for _ in range(5)]

    assert moments == [0, 0, 0, 100_000, 200_000]


def test_one_turn_in_three_ways(clock: ManualClock) -> None:
    pacer = Pacer("10/s", clock=clock)

    async def main() -> list[int]:
        async with pacer.turn() as first:
            pass
        second = await pacer.turn()
        return [first.departed, second.departed]

    with pacer.turn() as turn:
        moment = turn.departed

    assert [moment, *asyncio.run(main())] == [0, 100_000, 200_000]


def test_a_turn_is_had_once(clock: ManualClock) -> None:
    turn = Pacer("10/s", clock=clock).turn()
    before = bool(turn), repr(turn), turn.waited
    with turn:
        pass

    with pytest.raises(RuntimeError, match="a turn is had once; ask for another"), turn:
        pass

    assert before == (False, "<Turn: not had>", 0.0)
    assert (bool(turn), repr(turn)) == (True, "<Turn: left after 0 s>")


def test_a_turn_that_is_not_begun_takes_no_place(clock: ManualClock) -> None:
    pacer = Pacer("10/s", size=1, clock=clock)
    turns = [pacer.turn() for _ in range(5)]

    assert (pacer.waiting(), pacer.acquire().departed, bool(turns[0])) == (0, 0, False)


def test_one_that_cannot_leave_in_time_is_told_at_once_and_costs_nothing(
    clock: ManualClock,
) -> None:
    pacer = Pacer("10/s", name="mail", clock=clock)
    pacer.acquire(cost=5)

    with pytest.raises(PacerFull) as refusal:
        pacer.acquire(timeout=0.499999)

    assert (refusal.value.reason, clock.now(), pacer.waiting()) == ("timeout", 0, 0)
    assert refusal.value.retry_after == 0.000001
    assert str(refusal.value) == ('the pacer "mail" would let it go too late; try again in 0.001 s')
    assert pacer.acquire(timeout=0.5).departed == 500_000


def test_who_obeys_the_retry_time_leaves(clock: ManualClock) -> None:
    pacer = Pacer("3/s", clock=clock)
    pacer.acquire(cost=7)
    with pytest.raises(PacerFull) as refusal:
        pacer.acquire(timeout=0.1)
    clock.advance(refusal.value.retry_after)

    assert pacer.acquire(timeout=0.1).departed == 2_333_334


def test_a_full_line_refuses_and_says_when_there_is_a_place() -> None:
    async def main() -> tuple[list[int], PacerFull, int]:
        clock = ManualClock()
        pacer = Pacer("10/s", size=2, clock=clock)
        tasks = [asyncio.ensure_future(leave(pacer)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(PacerFull) as refusal:
            await pacer.turn()
        waiting = pacer.waiting()
        return await asyncio.gather(*tasks), refusal.value, waiting

    moments, refusal, waiting = asyncio.run(main())

    assert (moments, waiting) == ([0, 100_000, 200_000], 2)
    assert (refusal.reason, refusal.retry_after, refusal.size) == ("full", 0.1, 2)
    assert str(refusal) == "the pacer has 2 in line, as many as may wait; try again in 0.100 s"


def test_with_no_size_one_leaves_now_or_not_at_all(clock: ManualClock) -> None:
    pacer = Pacer("10/s", size=0, clock=clock)
    pacer.acquire()

    with pytest.raises(PacerFull):
        pacer.acquire()
    clock.advance(0.1)

    assert pacer.acquire().departed == 100_000


def test_a_level_of_priority_is_worth_so_much_waiting() -> None:
    # At 0.0 s, 1.5 s and 1.9 s: a level is a second, so the last is older than the third only. The
    # one before all of them leaves at 0, for so much that nobody else leaves before 4 s.
    async def main() -> list[str]:
        clock = ManualClock()
        pacer = Pacer("1/s", ageing=1.0, clock=clock)
        order: list[str] = []

        async def work(name: str, at: float, priority: int) -> None:
            await clock.asleep(at)
            async with pacer.turn(priority=priority):
                order.append(name)

        await pacer.turn(cost=4)
        await asyncio.gather(work("first", 0.0, 0), work("second", 1.5, 0), work("urgent", 1.9, 1))
        return order

    assert asyncio.run(main()) == ["first", "urgent", "second"]


def test_who_comes_at_the_last_moment_with_priority_goes_first() -> None:
    async def main() -> list[tuple[str, int]]:
        clock = ManualClock()
        pacer = Pacer("1/min", ageing=60.0, clock=clock)
        seen: list[tuple[str, int]] = []

        async def work(name: str, at: float, priority: int) -> None:
            await clock.asleep(at)
            turn = await pacer.turn(priority=priority)
            seen.append((name, turn.departed // 1_000_000))

        await pacer.turn()
        await asyncio.gather(work("patient", 0.0, 0), work("urgent", 59.0, 1))
        return seen

    assert asyncio.run(main()) == [("urgent", 60), ("patient", 120)]


def test_who_is_overtaken_leaves_unserved_when_its_time_is_up() -> None:
    async def main() -> tuple[str, int, float, int]:
        clock = ManualClock()
        pacer = Pacer("1/s", clock=clock)
        await pacer.turn()
        late = asyncio.ensure_future(leave(pacer, timeout=1.5))
        await asyncio.sleep(0)
        urgent = asyncio.ensure_future(leave(pacer, priority=5))
        with pytest.raises(PacerFull) as refusal:
            await late
        moment = clock.now()
        return refusal.value.reason, moment, refusal.value.retry_after, await urgent

    # It knows at 1 s, when the other leaves and it is the first again.
    assert asyncio.run(main()) == ("timeout", 1_000_000, 0.0, 1_000_000)


def test_a_change_of_pace_is_felt_by_those_who_wait() -> None:
    async def main() -> list[int]:
        clock = ManualClock()
        pacer = Pacer("1/h", clock=clock)
        tasks = [asyncio.ensure_future(leave(pacer)) for _ in range(3)]
        await clock.asleep(1.0)
        pacer.change(Rate("50/s"))
        return await asyncio.gather(*tasks)

    # What is owed of the first hour is paid at the new pace, less what was paid in one second.
    assert asyncio.run(main()) == [0, 1_019_995, 1_039_995]


def test_a_thread_at_the_gate_feels_a_change_of_pace() -> None:
    pacer = Pacer("1/h")
    pacer.acquire()
    thread = threading.Thread(target=pacer.acquire)
    thread.start()
    until(lambda: pacer.waiting() == 1, "the thread to wait")

    pacer.change("1000000/s")
    thread.join(20)

    assert (thread.is_alive(), pacer.waiting(), pacer.rate) == (False, 0, Rate("1000000/s"))


def test_threads_and_tasks_stand_in_one_line() -> None:
    pacer = Pacer("1/h")
    pacer.acquire()
    order: list[str] = []

    def thread() -> None:
        with pacer.turn():
            order.append("thread")

    async def task() -> None:
        async with pacer.turn():
            order.append("task")

    async def main() -> None:
        first = asyncio.ensure_future(task())
        await asyncio.sleep(0)
        other = threading.Thread(target=thread)
        other.start()
        until(lambda: pacer.waiting() == 2, "the thread to wait")
        last = asyncio.ensure_future(task())
        await asyncio.sleep(0)
        pacer.change("2000/s")
        await asyncio.gather(first, last)
        other.join()

    asyncio.run(main())

    assert order == ["task", "thread", "task"]


def test_threads_keep_the_pace(scale: int) -> None:
    pacer = Pacer("5000/s", size=20)
    moments: list[int] = []

    def work() -> None:
        moments.extend(pacer.acquire().departed for _ in range(50 * scale))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    moments.sort()
    assert len(moments) == 400 * scale
    assert min(b - a for a, b in pairwise(moments)) >= 200
    assert pacer.waiting() == 0


@pytest.mark.parametrize("problem", [KeyboardInterrupt, ValueError, GeneratorExit])
def test_a_wait_that_is_interrupted_leaves_its_turn_to_the_next(
    problem: type[BaseException],
) -> None:
    clock = FailingClock(problem())
    pacer = Pacer("10/s", size=1, clock=clock)
    pacer.acquire()

    with pytest.raises(problem):
        pacer.acquire()

    middle = clock.now()
    clock.advance(0.05)
    assert (middle, pacer.waiting(), pacer.acquire(timeout=0).departed) == (50_000, 0, 100_000)


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals go to the main one"
)
def test_a_signal_ends_a_wait() -> None:
    class Stop(BaseException):
        pass

    def stop(*_: object) -> None:
        raise Stop

    pacer = Pacer("1/h")
    pacer.acquire()
    before = signal.signal(signal.SIGUSR1, stop)

    def interrupt() -> None:
        until(lambda: pacer.waiting() == 1, "the main thread to wait")
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    thread = threading.Thread(target=interrupt)
    try:
        thread.start()
        with pytest.raises(Stop):
            pacer.acquire()
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)

    assert pacer.waiting() == 0


def test_when_the_first_gives_up_the_next_leaves_in_its_place() -> None:
    pacer = Pacer("1000000/s")
    order: list[int] = []
    pacer.change("1/h")
    pacer.acquire()
    loop = asyncio.new_event_loop()
    first = loop.create_task(leave(pacer))
    loop.run_until_complete(asyncio.sleep(0))
    thread = threading.Thread(target=lambda: order.append(pacer.acquire().departed))
    thread.start()
    until(lambda: pacer.waiting() == 2, "the thread to wait")

    first.cancel()
    loop.run_until_complete(asyncio.gather(first, return_exceptions=True))
    loop.close()
    pacer.change("1000000/s")
    thread.join(20)

    assert (thread.is_alive(), len(order), pacer.waiting()) == (False, 1, 0)


def test_a_task_of_a_closed_loop_does_not_stand_in_the_way() -> None:
    pacer = Pacer("1/h")
    pacer.acquire()
    loop = asyncio.new_event_loop()
    lost = loop.create_task(leave(pacer))
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    thread = threading.Thread(target=pacer.acquire)
    thread.start()
    until(lambda: pacer.waiting() == 2, "the thread to wait")

    pacer.change("1000000/s")
    thread.join(20)

    assert (thread.is_alive(), pacer.waiting()) == (False, 0)
    lost._log_destroy_pending = False  # type: ignore[attr-defined]


def test_guard_waits_for_a_turn(clock: ManualClock) -> None:
    pacer = Pacer("10/s", clock=clock)

    @pacer.guard(cost=2)
    def work(number: int) -> tuple[int, int]:
        return number, clock.now()

    @pacer.guard(timeout=0.1)
    async def awork() -> int:
        return clock.now()

    assert [work(1), work(2)] == [(1, 0), (2, 200_000)]
    with pytest.raises(PacerFull):
        asyncio.run(awork())
    clock.advance(0.1)
    assert asyncio.run(awork()) == 400_000


def test_a_generator_is_not_guarded() -> None:
    def numbers() -> Generator[int, None, None]:
        yield 1

    with pytest.raises(TypeError) as refusal:
        Pacer("10/s").guard()(numbers)

    assert str(refusal.value) == (
        "Pacer.guard: test_a_generator_is_not_guarded.<locals>.numbers is a generator, and runs "
        "when it is looped over; use `with pacer.turn()` in it"
    )


@pytest.mark.parametrize(
    ("rate", "wait", "cost", "size"),
    [
        ("100/s", 0.5, 1, 50),
        ("100/s", 0.0, 1, 0),
        ("3/s", 1.0, 1, 3),
        ("3/s", 0.999999, 1, 2),
        ("100/s", 0.5, 3, 16),
        ("100KB/s", 1.0, 5_000, 20),
    ],
)
def test_sized_so_that_nobody_waits_longer(rate: str, wait: float, cost: int, size: int) -> None:
    async def waits() -> list[float]:
        pacer = Pacer(rate, size=size, clock=ManualClock())
        tasks = [asyncio.ensure_future(waited(pacer, cost)) for _ in range(size + 5)]
        return [one for one in await asyncio.gather(*tasks) if one < inf]

    found = asyncio.run(waits())

    assert Pacer.sized(rate, wait, cost) == size
    # The one who left at once, and as many as may wait; one more would have waited too long.
    assert (len(found), max(found) <= wait) == (size + 1, True)
    assert (size + 1) * cost * Rate(rate).seconds / Rate(rate).count > wait


def test_it_prints_what_it_is(clock: ManualClock) -> None:
    pacers = [
        Pacer("100/s", clock=clock),
        Pacer("100KB/s", size=50, name="uploads", clock=clock),
    ]

    assert [repr(pacer) for pacer in pacers] == [
        "<Pacer: 100/s, 0 in line>",
        "<Pacer 'uploads': 100KB/s, 0 of 50 in line>",
    ]


def test_a_child_does_not_inherit_who_waits() -> None:
    pacer = Pacer("1/h")
    pacer.acquire()
    thread = threading.Thread(target=pacer.acquire)
    thread.start()
    until(lambda: pacer.waiting() == 1, "the thread to wait")
    child = os.fork()
    if child == 0:
        pacer.change("1000000/s")
        done = pacer.waiting() == 0 and pacer.acquire() and pacer.submit(int).result(10) == 0
        os._exit(0 if done else 1)

    _, status = os.waitpid(child, 0)
    pacer.change("1000000/s")
    thread.join()

    assert os.waitstatus_to_exitcode(status) == 0


def test_a_refusal_survives_pickle() -> None:
    copy = pickle.loads(pickle.dumps(PacerFull("mail", 10, "timeout", 0.25)))

    assert isinstance(copy, Refused)
    assert (copy.name, copy.size, copy.reason, copy.retry_after) == ("mail", 10, "timeout", 0.25)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Pacer("unlimited"),
            "Pacer: a pace lets some go and not all at once, not 'unlimited'",
        ),
        (lambda: Pacer("0/s"), "Pacer: a pace lets some go and not all at once, not '0/s'"),
        (
            lambda: Pacer("10/s burst 50"),
            "Pacer: a pace has no burst, not '10/s burst 50'; try slack",
        ),
        (lambda: Pacer("10/s", size=-1), "Pacer: size is 0 or more, not -1"),
        (lambda: Pacer("10/s", size=2.5), "Pacer: size is a whole number, not 2.5"),
        (lambda: Pacer("10/s", slack=-1), "Pacer: slack is 0 or more, not -1"),
        (lambda: Pacer("10/s", ageing=-1), "Pacer: ageing is 0 or more seconds, not -1"),
        (lambda: Pacer("10/s").turn(0), "Pacer: cost is 1 or more, not 0"),
        (lambda: Pacer("10/s").turn(1.5), "Pacer: cost is a whole number, not 1.5"),
        (lambda: Pacer("10/s").turn(timeout=-1), "Pacer: timeout is 0 or more seconds, not -1"),
        (lambda: Pacer("10/s").turn(priority="high"), "Pacer: priority is a number, not 'high'"),
        (lambda: Pacer("10/s").change("0/s"), PACE),
        (lambda: Pacer("10/s").guard(cost=-1), "Pacer: cost is 1 or more, not -1"),
        (lambda: Pacer.sized("10/s", -1), "Pacer: wait is 0 or more seconds, not -1"),
    ],
)
def test_what_is_wrong_is_said(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as refusal:
        make()

    assert str(refusal.value) == message


async def leave(pacer: Pacer, timeout: float = inf, priority: int = 0) -> int:
    """When it left."""
    turn: Turn = await pacer.turn(timeout=timeout, priority=priority)
    return turn.departed


async def waited(pacer: Pacer, cost: int) -> float:
    """How long it waited; infinitely long if it was refused."""
    try:
        return (await pacer.turn(cost)).waited
    except PacerFull:
        return inf
