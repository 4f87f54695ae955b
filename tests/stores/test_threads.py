"""Many threads on one table: not a unit is lost, and none is granted twice."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headgate
from headgate import FixedWindow, Limiter, ManualClock, MemoryStore, SlidingLog, TokenBucket
from headgate.stores.flat.table import Table
from tests.conftest import SCALE
from tests.crowd import hasty, together

THREADS = 64
TAKES = SCALE * (5_000 if headgate.COMPILED else 2_500)


@pytest.fixture(autouse=True)
def _hasty() -> Iterator[None]:
    with hasty():
        yield


def test_64_threads_on_one_key_admit_exactly_the_limit(clock: ManualClock) -> None:
    limit = THREADS * TAKES // 3
    limiter = Limiter(f"{limit}/day", clock=clock)

    def work(number: int) -> int:
        return sum(1 for _ in range(TAKES) if limiter.take("hot"))

    assert sum(together(work, THREADS)) == limit


def test_64_threads_on_a_thousand_keys_admit_exactly_the_limit_of_each(clock: ManualClock) -> None:
    limit = THREADS * TAKES // 3000
    limiter = Limiter(f"{limit}/day", store=MemoryStore(1000), clock=clock)
    keys = [f"key:{number}" for number in range(1000)]

    def work(number: int) -> Counter[str]:
        asked = (keys[(number * 17 + turn) % 1000] for turn in range(TAKES))
        return Counter(key for key in asked if limiter.take(key))

    admitted: Counter[str] = Counter()
    for counted in together(work, THREADS):
        admitted.update(counted)

    assert admitted == dict.fromkeys(keys, limit)
    assert limiter.table.rows.evicted == limiter.table.rows.crowded == 0


def test_threads_that_all_take_from_several_limits_charge_all_or_none(clock: ManualClock) -> None:
    limit = THREADS * TAKES // 40
    limits = [TokenBucket(f"{limit}/day"), FixedWindow(f"{limit * 2}/day")]
    limiter = Limiter(*limits, SlidingLog(f"{min(limit, 1000)}/day"), clock=clock)

    def work(number: int) -> int:
        return sum(1 for _ in range(TAKES // 10) if limiter.take("hot"))

    assert sum(together(work, THREADS)) == min(limit, 1000)
    assert limiter.table.read("hot")[3] == min(limit, 1000)


def test_what_threads_take_and_give_back_comes_out_even(clock: ManualClock) -> None:
    limiter = Limiter("1000000/day", clock=clock)

    def work(number: int) -> None:
        for turn in range(TAKES // 10):
            limiter.debit("hot", 3)
            limiter.refund("hot", 3 if turn else 2)

    together(work, THREADS)

    assert limiter.peek("hot").remaining == 1_000_000 - THREADS


def test_bookings_of_many_threads_are_all_for_different_moments(clock: ManualClock) -> None:
    limiter = Limiter(TokenBucket("1000/s", burst=1), clock=clock)

    def work(number: int) -> list[float]:
        return [limiter.reserve("hot").wait for _ in range(TAKES // 50)]

    waits = sorted(wait for each in together(work, THREADS) for wait in each)

    assert waits == [number / 1000 for number in range(len(waits))]


def test_threads_that_fill_a_table_at_once_give_every_key_one_row(clock: ManualClock) -> None:
    limiter = Limiter("1/day", store=MemoryStore(5000), clock=clock)
    keys = [str(number) for number in range(2000 if headgate.COMPILED else 500)]

    def work(number: int) -> int:
        return sum(1 for key in keys if limiter.take(key))

    assert sum(together(work, THREADS)) == len(keys) == len(limiter.table)


class Unlocked:
    """A lock that locks nothing."""

    def acquire(self) -> None:
        pass

    def release(self) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


class Interrupted:
    """Cells that let another thread in at the first look at a level."""

    def __init__(self, cells: Any, meanwhile: Callable[[], None]) -> None:
        self.cells = cells
        self.meanwhile: Callable[[], None] | None = meanwhile

    def __getitem__(self, place: int) -> int:
        value: int = self.cells[place]
        if value == 1_000_000 and self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            thread = threading.Thread(target=meanwhile)
            thread.start()
            # Behind the lock it cannot come to an end; without one it does.
            thread.join(0.2)
        return value

    def __setitem__(self, place: int, value: int) -> None:
        self.cells[place] = value


@pytest.mark.skipif(headgate.COMPILED, reason="compiled, a decision cannot be interrupted")
@pytest.mark.parametrize(("locked", "admitted"), [(True, 1), (False, 2)])
def test_it_is_the_lock_that_keeps_two_threads_from_taking_one_unit(
    locked: bool, admitted: int
) -> None:
    table: Any = Table((TokenBucket("1/s"),), 10)
    done = threading.Event()
    taken: list[bool] = []

    def take() -> None:
        taken.append(bool(table.take("a", 1, 0, 0)))
        done.set()

    if not locked:
        table.lock = Unlocked()
    table.rows.cells = Interrupted(table.rows.cells, take)
    taken.append(bool(table.take("a", 1, 0, 0)))
    done.wait(30)

    assert sum(taken) == admitted


@pytest.mark.skipif(headgate.COMPILED, reason="compiled, there is no lock to hold")
@pytest.mark.parametrize("verb", ["take", "peek", "debit", "refund", "reset", "reserve", "acquire"])
def test_every_verb_waits_for_the_lock(clock: ManualClock, verb: str) -> None:
    limiter: Any = Limiter("10/s", clock=clock)
    limiter.take("a")
    done = threading.Event()

    def act() -> None:
        getattr(limiter, verb)("a")
        done.set()

    with limiter.table.lock:
        thread = threading.Thread(target=act)
        thread.start()
        early = done.wait(0.05)
    thread.join(30)

    assert (early, done.is_set()) == (False, True)
