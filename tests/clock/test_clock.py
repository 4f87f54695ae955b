"""Clocks: one that moves when told to, and the machine's own."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from headgate import ManualClock, SystemClock
from headgate.clock import cost, microseconds


def test_a_manual_clock_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(1.5)

    assert [clock.now(), clock.now()] == [1_500_000, 1_500_000]


def test_a_manual_clock_is_advanced_and_set() -> None:
    clock = ManualClock()
    clock.advance(0.1)
    clock.advance(0.2)
    advanced = clock.now()
    clock.set(7.0)

    assert (advanced, clock.now()) == (300_000, 7_000_000)


def test_a_manual_clock_may_step_back_but_not_before_its_beginning() -> None:
    clock = ManualClock(5.0)
    clock.advance(-2.0)
    back = clock.now()
    clock.advance(-10.0)
    first = clock.now()
    clock.set(-1.0)

    assert (back, first, clock.now()) == (3_000_000, 0, 0)


def test_a_sleep_moves_a_manual_clock_and_a_negative_one_does_not() -> None:
    clock = ManualClock()
    clock.sleep(0.25)
    clock.sleep(-1.0)

    assert clock.now() == 250_000


def test_a_manual_clock_prints_its_time() -> None:
    assert [repr(ManualClock()), repr(ManualClock(2.5))] == ["ManualClock(0.0)", "ManualClock(2.5)"]


def test_tasks_sleep_side_by_side(clock: ManualClock) -> None:
    async def main() -> None:
        await asyncio.gather(*(clock.asleep(1.0) for _ in range(10)))

    asyncio.run(main())

    assert clock.now() == 1_000_000


def test_a_task_that_sleeps_twice_sleeps_as_long_as_both(clock: ManualClock) -> None:
    async def main() -> None:
        await clock.asleep(1.0)
        await clock.asleep(0.5)

    asyncio.run(main())

    assert clock.now() == 1_500_000


@pytest.mark.parametrize("spans", [(1.0, 2.0, 3.0), (3.0, 1.0, 2.0), (3.0, 2.0, 1.0)])
def test_tasks_wake_in_the_order_of_their_moments_and_at_them(
    clock: ManualClock, spans: tuple[float, ...]
) -> None:
    woken: list[tuple[float, int]] = []

    async def sleep(span: float) -> None:
        await clock.asleep(span)
        woken.append((span, clock.now()))

    async def main() -> None:
        await asyncio.gather(*map(sleep, spans))

    asyncio.run(main())

    assert woken == [(1.0, 1_000_000), (2.0, 2_000_000), (3.0, 3_000_000)]


def test_other_tasks_have_their_turn_while_one_sleeps(clock: ManualClock) -> None:
    seen: list[str] = []

    async def sleeper() -> None:
        seen.append("to sleep")
        await clock.asleep(1.0)
        seen.append("awake")

    async def other() -> None:
        seen.append("other")

    async def main() -> None:
        await asyncio.gather(sleeper(), other())

    asyncio.run(main())

    assert seen == ["to sleep", "other", "awake"]


def test_whoever_wakes_or_gives_up_last_upsets_nothing(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        await clock.asleep(1.0)
        task = asyncio.create_task(clock.asleep(1.0))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())

    assert caplog.records == []


def test_a_cancelled_sleep_does_not_move_the_clock(clock: ManualClock) -> None:
    async def main() -> None:
        task = asyncio.create_task(clock.asleep(1.0))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())

    assert clock.now() == 0


def test_threads_that_advance_a_manual_clock_lose_no_time(clock: ManualClock) -> None:
    def work() -> None:
        for _ in range(1000):
            clock.advance(0.001)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert clock.now() == 16_000_000


def test_the_systems_clock_never_goes_back() -> None:
    clock = SystemClock()
    moments = [clock.now() for _ in range(10_000)]

    assert moments == sorted(moments)
    assert all(type(moment) is int for moment in moments)


def test_the_systems_clock_shows_the_time_of_day() -> None:
    assert abs(SystemClock().now() / 1e6 - time.time()) < 1.0


def test_the_systems_clock_goes_by_the_monotonic_one(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SystemClock()
    before = clock.now()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    monkeypatch.setattr(time, "time_ns", lambda: 0)

    assert before <= clock.now() < before + 60_000_000


def test_the_systems_clock_does_not_sleep_for_less_than_nothing() -> None:
    clock = SystemClock()
    clock.sleep(-5.0)

    assert asyncio.run(clock.asleep(-5.0)) is None


def test_the_systems_clock_prints_as_you_would_type_it() -> None:
    assert repr(SystemClock()) == "SystemClock()"


def test_reading_the_systems_clock_costs_something_and_not_much() -> None:
    assert 1.0 < cost(10_000) < 100_000.0


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.1 + 0.2, 300_000), (1e-6, 1), (4e-7, 0), (6e-7, 1), (-1.5, -1_500_000)],
)
def test_seconds_are_rounded_to_the_nearest_microsecond(seconds: float, expected: int) -> None:
    assert microseconds(seconds) == expected
