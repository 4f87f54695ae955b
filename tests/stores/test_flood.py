"""A flood of keys: memory stays as it is, and nobody's debt is forgiven."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headgate
from headgate import (
    GCRA,
    FixedWindow,
    LeakyBucket,
    Limiter,
    ManualClock,
    MemoryStore,
    SlidingLog,
    SlidingWindow,
    TokenBucket,
)

Kind = Callable[..., Any]

KINDS: list[Kind] = [TokenBucket, GCRA, LeakyBucket, FixedWindow, SlidingWindow, SlidingLog]
CAPACITY = 1000 if headgate.COMPILED else 100


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cost", [1, 10], ids=["fresh", "exhausted"])
def test_a_flood_of_ten_times_the_capacity_does_not_free_a_key_in_debt(
    clock: ManualClock, kind: Kind, cost: int
) -> None:
    limiter = Limiter(kind("10/h"), store=MemoryStore(CAPACITY), clock=clock)
    limiter.take("banned", 10)
    before = limiter.table.read("banned")
    freed = 0
    for number in range(10 * CAPACITY):
        limiter.take(f"fresh:{number}", cost)
        freed += bool(limiter.take("banned"))

    assert (freed, limiter.table.read("banned")) == (0, before)


@pytest.mark.parametrize("cost", [1, 10], ids=["fresh", "exhausted"])
def test_a_flood_that_goes_on_does_not_lengthen_or_shorten_a_debt(
    clock: ManualClock, cost: int
) -> None:
    limiter = Limiter("10/s", store=MemoryStore(CAPACITY // 4), clock=clock)
    limiter.debit("banned", 30)
    admitted_at = 0
    for number in range(10 * CAPACITY):
        limiter.take(f"fresh:{number}", cost)
        if limiter.take("banned"):
            admitted_at = clock.now()
            break
        clock.advance(0.01)

    assert admitted_at == 2_100_000


def test_memory_stays_as_it_was_made(clock: ManualClock) -> None:
    limiter = Limiter("10/h", store=MemoryStore(100), clock=clock)
    before = (limiter.table.rows.size, limiter.table.rows.stride)
    for number in range(2000):
        limiter.take(str(number), 10)

    assert (limiter.table.rows.size, limiter.table.rows.stride) == before == (176, 4)
    assert len(limiter.table) <= 176


def test_who_is_given_up_is_counted(clock: ManualClock) -> None:
    limiter = Limiter("10/h", store=MemoryStore(100), clock=clock)
    for number in range(1000):
        limiter.take(str(number))
    rows = limiter.table.rows

    assert (rows.evicted, rows.crowded) == (1000 - len(limiter.table), 0)
    assert rows.evicted >= 1000 - 176


def test_the_one_nearest_its_end_is_given_up(clock: ManualClock) -> None:
    limiter = Limiter("10/h", store=MemoryStore(1), clock=clock)
    for number in range(16):
        limiter.take(f"heavy:{number}", 5)
    heavy = len(limiter.table)
    for number in range(200):
        limiter.take(f"light:{number}", 1)

    kept = sum(limiter.peek(f"heavy:{number}").remaining == 5 for number in range(16))

    # The first light one had to push a heavy one out where its groups were full; no other did.
    assert kept >= heavy - 2


def test_newcomers_to_a_table_full_of_debt_are_refused_together(clock: ManualClock) -> None:
    limiter = Limiter("10/h", store=MemoryStore(1), clock=clock)

    admitted = sum(bool(limiter.take(str(number), 10)) for number in range(300))

    # Each of the sixteen rows once, and once the row that all the others share.
    assert (limiter.table.rows.size, admitted) == (16, 17)
    assert limiter.table.rows.evicted == 0
    assert limiter.table.rows.crowded >= 300 - 17 - 16


def test_newcomers_share_what_one_key_would_have(clock: ManualClock) -> None:
    limiter = Limiter("10/h", store=MemoryStore(1), clock=clock)
    for number in range(300):
        limiter.debit(f"debtor:{number}", 10)
    crowd = [bool(limiter.take(f"new:{number}")) for number in range(20)]

    assert crowd == [False] * 20


def test_peek_says_what_take_would_where_newcomers_are_refused_together(
    clock: ManualClock,
) -> None:
    limiter = Limiter("10/h", store=MemoryStore(1), clock=clock)
    for number in range(300):
        limiter.take(str(number), 10)

    peeked = limiter.peek("newcomer")

    assert bool(peeked) == bool(limiter.take("newcomer"))


def test_when_debts_are_paid_newcomers_are_let_in_again(clock: ManualClock) -> None:
    limiter = Limiter("10/s", store=MemoryStore(1), clock=clock)
    for number in range(300):
        limiter.take(str(number), 10)
    clock.advance(1.0)

    assert [bool(limiter.take(f"new:{number}", 10)) for number in range(5)] == [True] * 5


def test_a_request_that_can_never_fit_pushes_nobody_out(clock: ManualClock) -> None:
    limiter = Limiter("10/h", store=MemoryStore(1), clock=clock)
    for number in range(40):
        limiter.take(str(number), 5)
    before = limiter.table.rows.evicted
    for number in range(200):
        limiter.take(f"greedy:{number}", 11)

    assert limiter.table.rows.evicted == before


def test_keys_up_to_the_capacity_are_never_given_up(clock: ManualClock) -> None:
    capacity = 100_000 if headgate.COMPILED else 5_000
    limiter = Limiter("10/h", store=MemoryStore(capacity), clock=clock)
    keys = [f"user:{number}" for number in range(capacity)]
    limiter.take_many(keys)
    rows = limiter.table.rows

    assert (rows.evicted, rows.crowded, len(limiter.table)) == (0, 0, capacity)
    assert {one.remaining for one in limiter.take_many(keys)} == {8}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_no_longer_matter_are_used_again(clock: ManualClock, kind: Kind) -> None:
    limiter = Limiter(kind("10/s"), store=MemoryStore(100), clock=clock)
    for wave in range(20):
        for number in range(100):
            limiter.take(f"{wave}:{number}")
        # Longer than any of them remembers.
        clock.advance(2.0)

    assert (limiter.table.rows.evicted, limiter.table.rows.crowded) == (0, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_is_the_same_whether_its_row_was_used_again_or_not(
    clock: ManualClock, kind: Kind
) -> None:
    limiter = Limiter(kind("10/s"), store=MemoryStore(1), clock=clock)
    fresh = limiter.take("a", 7)
    clock.advance(5.0)
    for number in range(100):
        limiter.take(str(number))
    clock.advance(5.0)

    assert limiter.take("a", 7) == fresh
