"""Calls that are handed in are made in turn, one at a time, by a thread that comes and goes."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import CancelledError, Future
from itertools import pairwise
from typing import Any

import pytest

from headgate import ManualClock, Pacer, PacerFull
from tests.servers.waiting import until


class Plug:
    """A call that lasts until it is pulled."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.pulled = threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        self.pulled.wait(20)
        return "pulled"


@pytest.fixture
def plug() -> Any:
    plug = Plug()
    yield plug
    plug.pulled.set()


def busy(pacer: Pacer, plug: Plug) -> Future[str]:
    """Have the worker make a call that lasts."""
    future = pacer.submit(plug)
    assert plug.begun.wait(20)
    return future


def test_calls_are_made_at_the_pace(clock: ManualClock) -> None:
    pacer = Pacer("10/s", clock=clock)

    futures = [pacer.submit(lambda number: (number, clock.now()), n) for n in range(4)]

    assert [future.result(20) for future in futures] == [
        (0, 0),
        (1, 100_000),
        (2, 200_000),
        (3, 300_000),
    ]


def test_one_call_at_a_time_on_the_machines_own_clock(scale: int) -> None:
    pacer = Pacer("2000/s")
    inside: list[int] = []
    threads: set[int] = set()
    queued = threading.Event()

    def work() -> int:
        inside.append(1)
        threads.add(threading.get_ident())
        assert len(inside) == 1
        inside.pop()
        return pacer._gate.queue.seen

    # None is made before all are in line: a worker that has nothing to do ends.
    pacer.submit(queued.wait, 20)
    futures = [pacer.submit(work) for _ in range(200 * scale)]
    queued.set()
    moments = [future.result(20) for future in futures]

    assert min(b - a for a, b in pairwise(moments)) >= 500
    assert len(threads) == 1


def test_the_thread_ends_when_there_is_nothing_to_do_and_another_begins(
    clock: ManualClock,
) -> None:
    pacer = Pacer("10/s", clock=clock)
    pacer.submit(int).result(20)
    until(lambda: pacer._worker.thread is None, "the thread to end")

    assert pacer.submit(int).result(20) == 0


def test_what_a_call_raises_its_future_raises(clock: ManualClock) -> None:
    pacer = Pacer("10/s", clock=clock)

    def fail() -> None:
        raise SystemExit(3)

    future = pacer.submit(fail)

    with pytest.raises(SystemExit):
        future.result(20)
    assert pacer.submit(int, "7").result(20) == 7


def test_a_call_has_the_context_of_who_handed_it_in(clock: ManualClock) -> None:
    who = contextvars.ContextVar("who", default="nobody")
    who.set("me")

    assert Pacer("10/s", clock=clock).submit(who.get).result(20) == "me"


def test_a_full_line_takes_no_more_calls(clock: ManualClock, plug: Plug) -> None:
    pacer = Pacer("10/s", size=2, clock=clock)
    busy(pacer, plug)
    futures = [pacer.submit(int), pacer.submit(int)]

    with pytest.raises(PacerFull) as refusal:
        pacer.submit(int)
    waiting = pacer.waiting()
    plug.pulled.set()

    assert (refusal.value.reason, waiting) == ("full", 2)
    assert [future.result(20) for future in futures] == [0, 0]


def test_a_call_that_cannot_be_made_in_time_is_refused_at_once(
    clock: ManualClock, plug: Plug
) -> None:
    pacer = Pacer("10/s", clock=clock)
    busy(pacer, plug)
    pacer.submit(int)

    with pytest.raises(PacerFull) as refusal:
        pacer.submit(int, timeout=0.199)

    assert (refusal.value.reason, pacer.waiting()) == ("timeout", 1)


def test_calls_whose_time_is_up_leave_unserved_and_cost_nothing(
    clock: ManualClock, plug: Plug
) -> None:
    pacer = Pacer("10/s", clock=clock)
    busy(pacer, plug)
    made: list[str] = []
    late = [pacer.submit(made.append, "late", timeout=time) for time in (0.1, 0.3)]
    kept = pacer.submit(made.append, "kept")
    # The call before them takes longer than they wait.
    clock.advance(0.35)
    plug.pulled.set()

    kept.result(20)

    assert [type(future.exception(20)) for future in late] == [PacerFull, PacerFull]
    assert (made, clock.now(), pacer.waiting()) == (["kept"], 350_000, 0)


def test_a_call_that_is_cancelled_leaves_its_turn_to_the_next(
    clock: ManualClock, plug: Plug
) -> None:
    pacer = Pacer("10/s", size=3, clock=clock)
    busy(pacer, plug)
    futures = [pacer.submit(clock.now) for _ in range(3)]

    cancelled = futures[0].cancel()
    waiting = pacer.waiting()
    plug.pulled.set()

    assert (cancelled, waiting) == (True, 2)
    assert [future.result(20) for future in futures[1:]] == [100_000, 200_000]
    assert futures[0].cancelled()


def test_cancelled_at_the_last_moment_a_call_takes_no_time(
    clock: ManualClock, plug: Plug, monkeypatch: pytest.MonkeyPatch
) -> None:
    pacer = Pacer("10/s", clock=clock)
    busy(pacer, plug)
    first, second = pacer.submit(clock.now), pacer.submit(clock.now)
    # Between being found in line and being made.
    depart = pacer._gate.queue.depart

    def cancel(waiter: Any, now: int) -> None:
        if waiter.future is first:
            first.cancel()
        depart(waiter, now)

    monkeypatch.setattr(pacer._gate.queue, "depart", cancel)
    plug.pulled.set()

    assert (second.result(20), first.cancelled()) == (100_000, True)


def test_calls_go_by_priority(clock: ManualClock, plug: Plug) -> None:
    pacer = Pacer("10/s", clock=clock)
    busy(pacer, plug)
    order: list[int] = []
    futures = [pacer.submit(order.append, level, priority=level) for level in (0, 2, 1)]
    plug.pulled.set()
    for future in futures:
        future.result(20)

    assert order == [2, 1, 0]


def test_calls_and_callers_stand_in_one_line() -> None:
    pacer = Pacer("1/h")
    pacer.acquire()
    order: list[str] = []
    threads = []
    for name in "abc":
        thread = threading.Thread(target=lambda name=name: order.append(pacer.acquire() and name))
        thread.start()
        threads.append(thread)
        until(lambda: pacer.waiting() == 2 * len(threads) - 1, "the thread to wait")
        pacer.submit(order.append, name.upper())

    pacer.change("2000/s")
    for thread in threads:
        thread.join(20)
    until(lambda: len(order) == 6, "the calls to be made")

    assert order == ["a", "A", "b", "B", "c", "C"]


def test_a_slow_call_keeps_nobody_else_from_leaving(clock: ManualClock, plug: Plug) -> None:
    pacer = Pacer("10/s", clock=clock)
    busy(pacer, plug)
    waits = pacer.submit(clock.now)

    moment = pacer.acquire().departed
    plug.pulled.set()

    assert (moment, waits.result(20)) == (100_000, 200_000)


def test_close_cancels_those_that_wait_and_waits_for_the_one_that_is_made(
    clock: ManualClock, plug: Plug
) -> None:
    pacer = Pacer("10/s", clock=clock)
    made = busy(pacer, plug)
    waits = [pacer.submit(int), pacer.submit(int)]
    waits[1].add_done_callback(lambda _: plug.pulled.set())

    pacer.close()

    assert (made.result(0), [one.cancelled() for one in waits]) == ("pulled", [True, True])
    assert (pacer.waiting(), pacer._worker.thread) == (0, None)


def test_close_ends_a_thread_that_sleeps() -> None:
    pacer = Pacer("1/h")
    pacer.submit(int).result(20)
    waits = pacer.submit(int)

    pacer.close()

    with pytest.raises(CancelledError):
        waits.result(0)
    assert (pacer._worker.thread, pacer.waiting()) == (None, 0)


def test_the_last_call_that_waits_is_cancelled_and_the_thread_ends() -> None:
    pacer = Pacer("1/h")
    pacer.submit(int).result(20)

    pacer.submit(int).cancel()

    until(lambda: pacer._worker.thread is None, "the thread to end")


def test_a_callback_that_ends_the_thread_does_not_keep_others_from_being_made(
    clock: ManualClock, plug: Plug, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    pacer = Pacer("10/s", clock=clock)
    first = busy(pacer, plug)
    second = pacer.submit(clock.now)

    def leave(_: object) -> None:
        raise SystemExit

    first.add_done_callback(leave)
    plug.pulled.set()

    assert second.result(20) == 100_000


def test_calls_that_were_made_in_time_leave_no_traces(clock: ManualClock) -> None:
    pacer = Pacer("10/s", clock=clock)
    for _ in range(500):
        pacer.submit(int, timeout=1_000_000.0).result(20)

    assert len(pacer._worker.deadlines) < 50


def test_where_no_thread_can_be_started_nothing_waits(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    pacer = Pacer("10/s", clock=clock)

    def fail(_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            pacer.submit(int)

    assert (pacer.waiting(), pacer.submit(int).result(20)) == (0, 0)


def test_tasks_await_calls(clock: ManualClock) -> None:
    pacer = Pacer("10/s", clock=clock)

    async def main() -> list[int]:
        return await asyncio.gather(
            *(asyncio.wrap_future(pacer.submit(clock.now)) for _ in range(3))
        )

    assert asyncio.run(main()) == [0, 100_000, 200_000]


def test_an_async_def_is_not_handed_in() -> None:
    async def work() -> None:
        pass

    with pytest.raises(TypeError) as refusal:
        Pacer("10/s").submit(work)

    assert str(refusal.value) == (
        "Pacer.submit: test_an_async_def_is_not_handed_in.<locals>.work is an async def, which "
        "needs no thread; use `await pacer.turn()`"
    )


def test_whoever_comes_while_a_call_is_made_does_not_wait_for_the_calls_in_line(
    plug: Plug, clock: ManualClock
) -> None:
    pacer = Pacer("10/s", clock=clock)
    busy(pacer, plug)
    for _ in range(50):
        pacer.submit(int)
    clock.advance(1.0)

    with pacer.turn(timeout=1.0):
        assert pacer.waiting() == 50
