"""MemoryStore: how large it is, and what it refuses to be."""

from __future__ import annotations

from typing import Any

import pytest

from headgate import Limiter, ManualClock, MemoryStore, SlidingLog, TokenBucket


@pytest.mark.parametrize("capacity", [0, -1, (1 << 30) + 1, 10**30])
def test_a_capacity_out_of_bounds_is_named(capacity: int) -> None:
    with pytest.raises(ValueError) as caught:
        MemoryStore(capacity)

    assert str(caught.value) == (
        f"MemoryStore: capacity is from 1 to 1,073,741,824 keys, not {capacity}"
    )


@pytest.mark.parametrize("capacity", [1.5, True, "100", None, float("nan")])
def test_a_capacity_that_is_no_whole_number_is_named(capacity: Any) -> None:
    with pytest.raises(TypeError) as caught:
        MemoryStore(capacity)

    assert str(caught.value) == f"MemoryStore: capacity is a whole number of keys, not {capacity!r}"


def test_a_store_prints_as_you_would_type_it() -> None:
    assert [repr(MemoryStore()), repr(MemoryStore(5))] == [
        "MemoryStore(capacity=100000)",
        "MemoryStore(capacity=5)",
    ]


@pytest.mark.parametrize("capacity", [1, 2, 7, 8, 9, 100, 1000, 5000])
def test_there_are_three_quarters_more_rows_than_keys(capacity: int) -> None:
    rows = Limiter("1/s", store=MemoryStore(capacity)).table.rows

    assert rows.capacity == capacity
    assert max(16, 1.75 * capacity) <= rows.size <= 1.75 * capacity + 16


def test_a_row_is_no_wider_than_its_limits_need() -> None:
    widths = [
        Limiter(*limits, store=MemoryStore(1)).table.rows.stride
        for limits in ([TokenBucket("1/s")], [SlidingLog("5/s")], ["1/s", SlidingLog("5/s")])
    ]

    assert widths == [4, 9, 11]


def test_the_empty_key_has_a_row_like_any_other(clock: ManualClock) -> None:
    limiter = Limiter("2/s", clock=clock)
    taken = [limiter.take("").remaining, limiter.take("").remaining, bool(limiter.take(""))]

    assert (taken, len(limiter.table), limiter.table.read("")) == ([1, 0, False], 1, [0, 0])


def test_a_key_that_was_only_looked_at_takes_no_row(clock: ManualClock) -> None:
    limiter = Limiter("2/s", clock=clock)
    limiter.peek("a")
    limiter.refund("b")
    limiter.take("c", 0)

    assert (len(limiter.table), limiter.table.read("a")) == (0, [])


def test_the_table_counts_the_keys_that_matter(clock: ManualClock) -> None:
    limiter = Limiter("1/s", clock=clock)
    for number in range(10):
        limiter.take(str(number))
    full = len(limiter.table)
    limiter.reset("3")
    reset = len(limiter.table)
    clock.advance(1.0)
    limiter.take("again")

    assert (full, reset, len(limiter.table)) == (10, 9, 1)
