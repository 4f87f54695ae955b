"""What is held of a key: spent once, ended in time, and never lost, by however many threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

import headgate
from headgate.stores.leases.holding import Holding

THREADS = 8
ROUNDS = 20_000 if headgate.COMPILED else 1_000
END = 1_000


@pytest.fixture
def held() -> Holding:
    return Holding(threading.RLock())


@pytest.fixture
def _hasty() -> Iterator[None]:
    """Let threads be switched as often as can be, interpreted after every instruction."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    if not headgate.COMPILED:
        threading.settrace(pause)
    yield
    threading.settrace(None)  # type: ignore[arg-type]
    sys.setswitchinterval(usual)


def pause(frame: FrameType, event: str, _: object) -> Any:
    """Be called where the interpreter would not switch by itself."""
    if frame.f_code.co_filename.endswith("holding.py"):
        frame.f_trace_opcodes = True
    return pause


def test_units_are_spent_until_they_are_gone(held: Holding) -> None:
    held.put(3, END, 0)

    assert [held.pay(2, 0), held.pay(2, 0), held.pay(1, 0), held.pay(1, 0)] == [1, -1, 0, -1]


@pytest.mark.parametrize("cost", [0, -1])
def test_nothing_is_not_paid(held: Holding, cost: int) -> None:
    held.put(3, END, 0)

    assert held.pay(cost, 0) == -1
    assert held.units == 3


def test_units_are_not_spent_when_their_time_is_over(held: Holding) -> None:
    held.put(3, END, 0)

    assert (held.pay(1, END - 1), held.pay(1, END)) == (2, -1)
    assert (held.end(END - 1), held.end(END), held.end(END)) == (0, 2, 0)


def test_units_joined_to_others_end_with_the_older(held: Holding) -> None:
    held.put(1, END, 10)
    held.put(1, END + 500, 510)
    assert (held.units, held.until, held.moment) == (2, END, 10)

    held.end(END)
    held.put(1, END + 500, 510)
    assert (held.units, held.until, held.moment) == (1, END + 500, 510)


def test_what_was_paid_comes_back_while_its_lease_lives(held: Holding) -> None:
    held.put(2, END, 10)
    held.pay(2, 20)

    assert (held.restore(1, END, 10), held.restore(1, 30, 11), held.units) == (0, 0, 0)
    assert (held.restore(1, 30, 10), held.units) == (1, 1)


@pytest.mark.usefixtures("_hasty")
def test_every_unit_is_spent_or_ended_once(held: Holding) -> None:
    ready = threading.Barrier(THREADS + 1)
    paid, ended = [0] * THREADS, [0]

    def spend(number: int) -> None:
        ready.wait()
        for _ in range(ROUNDS):
            paid[number] += held.pay(1, 0) >= 0

    def end() -> None:
        ready.wait()
        for number in range(ROUNDS):
            held.put(THREADS, END, 0)
            # Every other time, so that the others find something, whoever comes first.
            ended[0] += 0 if number % 2 else held.end(END)

    held.put(THREADS, END, 0)
    threads = [threading.Thread(target=spend, args=(number,)) for number in range(THREADS)]
    threads.append(threading.Thread(target=end))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(paid) + ended[0] + held.units == THREADS * (ROUNDS + 1)
    assert sum(paid) > 0
