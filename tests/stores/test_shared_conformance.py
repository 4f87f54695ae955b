"""A shared ledger answers as any other: the same cases, the same traces, the same rows."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from headgate import TokenBucket
from headgate.stores.flat.table import Table
from headgate.stores.shared.store import SharedStore
from headgate.testing import Case, cases, verify
from tests.conformance.bare import acts
from tests.conformance.limits import LIMITS
from tests.conformance.test_differential import KEY, perform
from tests.stores.test_rows import ACTS, KEYS, SECOND, Model, play

LENGTH = 600


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all of these have their files."""
    return tmp_path_factory.mktemp("shared")


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.place)
def test_the_table_is_true(folder: Path, case: Case) -> None:
    store = SharedStore(case.place, 64, str(folder))

    verify(case, lambda limits: store.open(limits, ""))

    store.remove()


@pytest.mark.parametrize("algorithm", LIMITS)
def test_two_processes_in_turn_answer_as_one_does_alone(
    folder: Path, algorithm: str, scale: int
) -> None:
    for seed, limit in enumerate(LIMITS[algorithm]):
        table = Table((limit,), 4)
        stores = [SharedStore(f"{algorithm}-{seed}", 4, str(folder)) for _ in range(2)]
        ledgers = [store.open((limit,), "") for store in stores]
        trace = acts(limit, random.Random(seed))
        act = next(trace)
        for number in range(LENGTH * scale):
            told = perform(table, act)
            assert perform(ledgers[number % 2], act) == told, (limit, seed, number, act)
            assert ledgers[0].read(KEY) == table.read(KEY), (limit, seed, number, act)
            act = trace.send(told)
        stores[0].remove()


@settings(max_examples=settings().max_examples // 2)
@given(ACTS)
def test_where_nobody_is_given_up_a_cabinet_is_a_dict(folder: Path, acts: list[Any]) -> None:
    store = SharedStore("dict", 41, str(folder))
    (table,) = store.open((TokenBucket("2 per 2s"),), "").drawers
    model = Model()
    for act, key, number in acts:
        play(table, model, act, key, number)
    tally = table.tally()
    left = [table.peek(key, 0, model.now * SECOND).remaining for key in KEYS]
    store.remove()

    assert (tally["evicted"], tally["crowded"]) == (0, 0)
    assert left == [max(0, model.tokens(key)) for key in KEYS]
