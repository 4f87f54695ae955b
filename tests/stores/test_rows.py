"""A tiny table against a dict that forgets nothing: rows are found, kept and never forgiven."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headgate
from headgate import TokenBucket
from headgate.stores.flat.table import Table

SECOND = 1_000_000
KEYS = ["", *map(str, range(40))]
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("take"), st.sampled_from(KEYS), st.integers(1, 3)),
        st.tuples(st.just("debit"), st.sampled_from(KEYS), st.integers(1, 6)),
        st.tuples(st.just("forget"), st.sampled_from(KEYS), st.just(0)),
        st.tuples(st.just("pass"), st.just(""), st.integers(0, 4)),
    ),
    max_size=150,
)


@dataclass
class Bucket:
    """Two tokens, one a second; the clock moves in whole seconds."""

    tokens: int = 2
    stamp: int = 0

    def at(self, now: int) -> int:
        self.tokens = min(2, self.tokens + now - self.stamp)
        self.stamp = now
        return self.tokens


@dataclass
class Model:
    """Every key's bucket, in a dict."""

    now: int = 0
    buckets: dict[str, Bucket] = field(default_factory=dict)

    def tokens(self, key: str) -> int:
        return self.buckets.setdefault(key, Bucket(2, self.now)).at(self.now)


@pytest.mark.skipif(headgate.COMPILED, reason="compiled, nobody can ask")
@given(st.integers(-(1 << 63), (1 << 63) - 1), st.sampled_from([1, 9, 100, 100_000]))
def test_the_two_groups_of_a_key_are_two(mark: int, capacity: int) -> None:
    rows = Table((TokenBucket("2/s"),), capacity).rows
    first, second = (rows.group(mark, side) for side in (0, 1))

    assert first != second
    assert {first % 8, second % 8} == {0}
    assert 0 <= min(first, second) < max(first, second) < rows.size


@given(ACTS)
def test_where_nobody_is_given_up_a_table_is_a_dict(acts: list[Any]) -> None:
    table, model = Table((TokenBucket("2 per 2s"),), 41), Model()
    for act, key, number in acts:
        play(table, model, act, key, number)

    assert (table.rows.evicted, table.rows.crowded) == (0, 0)
    for key in KEYS:
        left = table.peek(key, 0, model.now * SECOND)
        assert left.remaining == max(0, model.tokens(key))


@given(ACTS)
def test_whoever_has_a_row_and_owes_is_never_forgiven(acts: list[Any]) -> None:
    table, model = Table((TokenBucket("2 per 2s"),), 1), Model()
    for act, key, number in acts:
        owed = [
            (debtor, model.tokens(debtor))
            for debtor in model.buckets
            if table.read(debtor) and model.tokens(debtor) < 1
        ]
        play(table, model, act, key, number)
        for debtor, tokens in owed:
            if act == "forget" and debtor == key:
                continue
            if tokens + (number if act == "pass" else 0) < 1:
                assert table.read(debtor)
                assert not table.peek(debtor, 1, model.now * SECOND)
        assert len(table) <= table.rows.size == 16


def play(table: Table, model: Model, act: str, key: str, number: int) -> None:
    """The same act on both; the model follows what the table admitted."""
    now = model.now * SECOND
    if act == "pass":
        model.now += number
    elif act == "forget":
        table.forget(key)
        model.buckets.pop(key, None)
    elif act == "debit":
        model.tokens(key)
        model.buckets[key].tokens -= number
        table.charge(key, number, now, now)
        follow(table, model, key)
    else:
        had = model.tokens(key)
        untouched = (table.rows.evicted, table.rows.crowded) == (0, 0)
        admitted = bool(table.take(key, number, now, 0))
        assert not untouched or admitted == (number <= had) or not table.read(key)
        if admitted:
            model.buckets[key].tokens -= number
        follow(table, model, key)


def follow(table: Table, model: Model, key: str) -> None:
    """Where the table had given a key up, or let it share a row, the model starts from there."""
    cells = table.read(key)
    if cells:
        level, stamp = cells
        model.buckets[key] = Bucket(level // SECOND, stamp // SECOND)
    else:
        model.buckets.pop(key, None)
