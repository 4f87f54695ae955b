"""A forked child goes on at once, with a copy of its own."""

from __future__ import annotations

import os
import select
import signal
import threading
import warnings
from collections.abc import Callable

import pytest

import headgate
from headgate import FixedWindow, Limiter, ManualClock, MemoryStore

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def in_child(work: Callable[[], object]) -> str:
    """What `work` comes to in a forked child, which must not take longer than 10 seconds."""
    out, into = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of forking with threads, which is what is tried here.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.write(into, repr(work()).encode())
        finally:
            os._exit(0)
    os.close(into)
    try:
        answered, _, _ = select.select([out], [], [], 10)
        if not answered:
            os.kill(child, signal.SIGKILL)
            return "the child hangs"
        return os.read(out, 10_000).decode()
    finally:
        os.waitpid(child, 0)
        os.close(out)


def test_a_child_begins_where_its_parent_stood_and_goes_its_own_way(clock: ManualClock) -> None:
    limiter = Limiter("10/s", clock=clock)
    limiter.take("a", 4)

    left = in_child(lambda: (limiter.take("a", 5).remaining, limiter.take("b", 9).remaining))

    assert left == "(1, 1)"
    assert [limiter.peek(key).remaining for key in ("a", "b")] == [6, 10]


def test_a_child_forked_in_the_middle_of_traffic_takes_at_once(
    clock: ManualClock, scale: int
) -> None:
    limiters = [
        Limiter("1000000/day", clock=clock),
        Limiter("1000000/day", FixedWindow("1000000/day"), clock=clock),
    ]
    over = threading.Event()

    def traffic(number: int) -> None:
        while not over.is_set():
            limiters[number % 2].take(f"key:{number}")
            limiters[number % 2].debit("hot")

    threads = [threading.Thread(target=traffic, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    try:
        answers = [
            in_child(lambda: [sum(bool(one.take("child")) for _ in range(100)) for one in limiters])
            for _ in range(5 * scale)
        ]
    finally:
        over.set()
        for thread in threads:
            thread.join()

    assert answers == ["[100, 100]"] * 5 * scale


@pytest.mark.skipif(headgate.COMPILED, reason="compiled, there is no lock to hold")
@pytest.mark.parametrize("known", [True, False], ids=["a known key", "a new key"])
def test_a_child_takes_although_the_lock_was_held_when_it_was_forked(
    clock: ManualClock, known: bool
) -> None:
    limiter = Limiter("10/s", clock=clock)
    if known:
        limiter.take("a")
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with limiter.table.lock:
            held.set()
            over.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    try:
        answer = in_child(lambda: [bool(limiter.take("a")), limiter.peek("a").remaining])
    finally:
        over.set()
        thread.join()

    assert answer == f"[True, {8 if known else 9}]"


def test_a_child_opens_a_named_limiter_of_the_store_it_inherits(clock: ManualClock) -> None:
    store = MemoryStore()
    Limiter("10/s", store=store, name="api", clock=clock).take("a")

    answer = in_child(
        lambda: Limiter("10/s", store=store, name="api", clock=clock).take("a").remaining
    )

    assert answer == "8"
