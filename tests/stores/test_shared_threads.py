"""Threads and forks on a shared limiter: not a unit is lost, and none is granted twice."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import headgate
from headgate import FixedWindow, SlidingLog, TokenBucket
from headgate.stores.flat import gate
from headgate.stores.shared.store import SharedStore
from tests.conftest import SCALE
from tests.crowd import hasty, together
from tests.stores.test_fork import in_child

NOW = 1_800_000_000_000_000
THREADS = 32
CHILDREN = 5 * SCALE
TAKES = (3_000 if SCALE == 1 else 10_000) if headgate.COMPILED else 200


@pytest.fixture(autouse=True)
def _hasty() -> Iterator[None]:
    with hasty():
        yield


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    # So many threads on a machine that stands still for a moment may wait for longer than callers
    # do. How long that is, is no matter here; that a wait ends is.
    monkeypatch.setattr(gate, "PATIENCE", 60_000_000)


@pytest.fixture
def store(tmp_path: Path) -> SharedStore:
    """A store of the test's own."""
    return SharedStore("api", 1000, str(tmp_path))


def test_threads_on_one_key_admit_exactly_the_limit(store: SharedStore) -> None:
    limit = THREADS * TAKES // 3
    ledger = store.open((TokenBucket(f"{limit}/day"),), "")

    def work(number: int) -> int:
        return sum(1 for _ in range(TAKES) if ledger.take("hot", 1, NOW, 0))

    assert sum(together(work, THREADS)) == limit


def test_threads_on_several_limits_charge_all_or_none(store: SharedStore) -> None:
    limits = (TokenBucket("900/day"), FixedWindow("1000/day"), SlidingLog("950/day"))
    ledger = store.open(limits, "")

    def work(number: int) -> int:
        return sum(1 for _ in range(100) if ledger.take("hot", 1, NOW, 0))

    assert sum(together(work, THREADS)) == 900
    assert ledger.read("hot")[3] == 900


def test_threads_that_open_one_name_at_once_share_one_ledger(store: SharedStore) -> None:
    def work(number: int) -> int:
        return store.open((TokenBucket("5/day"),), "api").take("hot", 1, NOW, 0).allowed

    admitted = together(work, 8)

    assert sum(admitted) == 5


def test_threads_go_on_while_the_limits_change(store: SharedStore) -> None:
    ledger = store.open((TokenBucket("1000000/day"),), "api")
    over = threading.Event()
    counts: list[int] = []

    def traffic() -> None:
        taken = 0
        while not over.is_set():
            taken += bool(ledger.take("hot", 1, NOW, 0))
        counts.append(taken)

    threads = [threading.Thread(target=traffic) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(5 * SCALE):
        # The same capacity under another name: what is left is carried over as it is.
        ledger.change((TokenBucket("1000000/day", name=f"number {number}"),), NOW, 0)
    over.set()
    for thread in threads:
        thread.join()

    assert ledger.peek("hot", 0, NOW).remaining == 1_000_000 - sum(counts)


def test_a_forked_child_shares_what_its_parent_has(store: SharedStore) -> None:
    ledger = store.open((TokenBucket("10/day"),), "api")
    ledger.take("a", 4, NOW, 0)

    left = in_child(lambda: ledger.take("a", 5, NOW, 0).remaining)

    assert (left, ledger.peek("a", 0, NOW).remaining) == ("1", 1)


def test_children_forked_in_the_middle_of_traffic_take_their_part(store: SharedStore) -> None:
    ledger = store.open((TokenBucket("100000000/day"),), "api")
    over = threading.Event()
    counts: list[int] = []

    def traffic() -> None:
        taken = 0
        while not over.is_set():
            taken += bool(ledger.take("hot", 1, NOW, 0))
        counts.append(taken)

    threads = [threading.Thread(target=traffic) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        answers = [
            in_child(lambda: sum(bool(ledger.take("hot", 1, NOW, 0)) for _ in range(100)))
            for _ in range(CHILDREN)
        ]
    finally:
        over.set()
        for thread in threads:
            thread.join()

    assert answers == ["100"] * CHILDREN
    assert ledger.peek("hot", 0, NOW).remaining == 100_000_000 - sum(counts) - 100 * CHILDREN


def test_a_child_keeps_the_file_in_use_after_its_parent_has_closed_it(tmp_path: Path) -> None:
    limits = (TokenBucket("10/day"),)
    store = SharedStore("api", 1000, str(tmp_path))
    kept = [store.open(limits, "api")]
    del store

    def outlive() -> str:
        # Both ends of the family are in this process's hands: the child has its own.
        ledger = kept[0]
        ledger.take("a", 4, NOW, 0)
        kept.clear()
        try:
            SharedStore("api", 2000, str(tmp_path)).open(limits, "api")
        except headgate.StoreMismatch:
            return "refused"
        return "made anew"

    assert in_child(outlive) == "'refused'"


@pytest.mark.skipif(headgate.COMPILED, reason="compiled, a handler waits for the end of a decision")
def test_a_signal_handler_may_take_in_the_middle_of_a_decision(store: SharedStore) -> None:
    ledger = store.open((TokenBucket("1000000/day"),), "api")
    handled: list[str] = []
    numbers = count()

    def handle(*_: object) -> None:
        # A key of its own: a handler may be interrupted by the next one.
        key = f"handled:{next(numbers)}"
        handled.append(key)
        ledger.take(key, 1, NOW, 0)

    usual = signal.signal(signal.SIGUSR1, handle)
    try:
        taken = 0
        sender = threading.Thread(
            target=lambda: [signal.raise_signal(signal.SIGUSR1) for _ in range(200)]
        )
        sender.start()
        while sender.is_alive() or taken < 200:
            taken += bool(ledger.take("hot", 1, NOW, 0))
        sender.join()
    finally:
        signal.signal(signal.SIGUSR1, usual)

    left = {ledger.peek(key, 0, NOW).remaining for key in handled}
    assert (left, ledger.peek("hot", 0, NOW).remaining) == ({999_999}, 1_000_000 - taken)
    # And the way is free for others.
    assert in_child(lambda: bool(ledger.take("hot", 1, NOW, 0))) == "True"
