"""Sets: limits that callers bring along are exact while they are kept, and never too many."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate import (
    GCRA,
    AsyncLimiter,
    FixedWindow,
    LimitError,
    ManualClock,
    SlidingLog,
    TokenBucket,
)
from headgate.service.sets import FILES, MARK, PORTION, REMEMBERED, Sets
from headgate.stores.shared.store import home
from headgate.testing.cases import cases
from headgate.testing.conformance import verify
from tests.service.counters import Town, remove, shared

HOURLY = (TokenBucket("1/h"),)


def near(**more: Any) -> Sets:
    """Sets in memory."""
    return Sets("memory://", ManualClock(1000.0), **more)


@pytest.fixture
def url() -> Iterator[str]:
    """A store in shared memory."""
    found = shared()
    yield found
    remove(found)


def files(url: str) -> list[str]:
    """The files of sets that are there."""
    folder = Path(home(url.partition("://")[2], None))
    return [file.name for file in folder.iterdir() if file.name.startswith(MARK)]


def test_the_same_limits_are_the_same_set(town: Town) -> None:
    async def scene(town: Town) -> None:
        sets = Sets(town.url, town.clock)

        async def take(limits: tuple[Any, ...], name: str = "") -> bool:
            limiter = sets.find(limits, name)
            answer = limiter.take("a")
            return bool(await answer if isinstance(limiter, AsyncLimiter) else answer)

        assert [await take(HOURLY), await take((TokenBucket("1/h"),))] == [True, False]
        assert await take((TokenBucket("2/h"),))
        assert [await take(HOURLY, "b"), await take(HOURLY, "b")] == [True, False]
        assert (len(sets), sets.gone) == (3, 0)
        answer = sets.close()
        if answer is not None:
            await answer

    town.play(scene)


def test_a_set_is_found_by_a_word_and_its_limits_are_made_once() -> None:
    sets = near()
    made = []

    def make() -> tuple[TokenBucket, ...]:
        made.append(1)
        return HOURLY

    assert [bool(sets.seek((1, 3600), make).take("a")) for _ in range(3)] == [True, False, False]
    assert made == [1]


def test_a_table_grows_with_its_keys_and_forgets_none() -> None:
    sets = near()
    keys = [f"k{number}" for number in range(3000)]
    assert all(sets.find(HOURLY).take(key) for key in keys)
    assert not any(sets.find(HOURLY).take(key) for key in keys)
    tally = sets.find(HOURLY).table.tally()
    assert (tally["evicted"], tally["crowded"]) == (0, 0)


@pytest.mark.parametrize(
    "limits",
    [
        (GCRA("5/h"), FixedWindow("3/min")),
        (SlidingLog("4/h"),),
        (TokenBucket("5/h", borrow=True),),
        (FixedWindow("2/day", calendar="day"),),
    ],
    ids=str,
)
def test_what_was_counted_outlives_the_growth_of_its_table(limits: tuple[Any, ...]) -> None:
    clock = ManualClock(1_000_000.0)
    grown, plain = Sets("memory://", clock), Sets("memory://", clock)
    for number in range(400):
        clock.advance(0.25)
        assert grown.find(limits).take("a") == plain.find(limits).take("a")
        grown.find(limits).take(f"other {number}")
    assert grown._total > plain._total


def test_who_was_not_asked_for_longest_goes_first() -> None:
    sets = near(most=2)
    for name in ("a", "b", "a", "c"):
        sets.find(HOURLY, name).take("k")
    assert (len(sets), sets.gone) == (2, 1)
    assert not sets.find(HOURLY, "a").take("k")
    assert not sets.find(HOURLY, "c").take("k")
    assert sets.find(HOURLY, "b").take("k")


def test_all_together_have_so_much_memory() -> None:
    sets = near(cells=20_000)
    for number in range(300):
        sets.find((TokenBucket(f"{number + 1}/h"),)).take("a")
        assert sets._total <= 20_000
    busy = (TokenBucket("7/h"),)
    for number in range(5000):
        sets.find(busy).take(f"k{number}")
        sets.find((SlidingLog(f"{number % 30 + 1}/h"),)).take("a")
        assert sets._total <= 20_000
    assert sets._total == sum(place.cells for place in sets._places.values())


def test_a_full_table_keeps_those_who_owe() -> None:
    sets = near(cells=2_000)
    limiter = sets.find(HOURLY)
    assert limiter.take("early")
    for number in range(2000):
        sets.find(HOURLY).take(f"k{number}")
    assert not sets.find(HOURLY).take("early")


@pytest.mark.parametrize("kind", ["memory", "shared"])
def test_what_is_too_large_is_refused(kind: str, url: str) -> None:
    sets = Sets("memory://" if kind == "memory" else url, ManualClock(1000.0))
    with pytest.raises(LimitError) as problem:
        sets.find((SlidingLog("1000000/h"),))
    said = 'limits such as [SlidingLog("1000000/h")] are too large to be brought along'
    assert str(problem.value) == said
    assert len(sets) == 0


def test_in_shared_memory_all_workers_have_one_set(url: str) -> None:
    one, two = Sets(url), Sets(url)
    assert one.find(HOURLY, "x").take("a")
    assert not two.find(HOURLY, "x").take("a")
    assert two.find(HOURLY, "y").take("a")
    one.close()
    assert not two.find(HOURLY, "x").take("a")


def test_files_go_with_the_last_who_had_them_open(url: str) -> None:
    one, two = Sets(url, most=1), Sets(url)
    one.find(HOURLY, "x").take("a")
    two.find(HOURLY, "x")
    one.find(HOURLY, "y")
    assert (len(files(url)), one.gone) == (2, 1)
    one.close()
    gc.collect()
    assert len(files(url)) == 1
    two.close()
    assert files(url) == []


def test_there_are_only_so_many_files(url: str) -> None:
    sets = Sets(url, most=10_000)
    opened = len(os.listdir("/proc/self/fd"))
    for number in range(FILES + 20):
        sets.find(HOURLY, str(number)).take("a")
    assert (len(sets), len(files(url))) == (FILES, FILES)
    sets.close()
    assert files(url) == []
    assert len(os.listdir("/proc/self/fd")) <= opened


def test_files_that_were_left_over_are_removed_when_there_are_many(url: str) -> None:
    folder = Path(home(url.partition("://")[2], None))
    for number in range(2 * FILES):
        (folder / f"{MARK}{number:032x}.rows").touch()
    (folder / "api.rows").touch()
    sets = Sets(url)
    sets.find(HOURLY)
    assert len(files(url)) == 1
    assert (folder / "api.rows").exists()
    sets.close()


def test_a_ledger_is_told_the_time(fleet: Town) -> None:
    async def scene(town: Town) -> None:
        sets = Sets(town.url, town.clock)
        ledger = sets.ledger(HOURLY, "x")
        answer = ledger.take("a", 1, town.clock.now(), 0)
        assert answer if not hasattr(answer, "__await__") else await answer
        answer = sets.close()
        if answer is not None:
            await answer

    fleet.play(scene)


def test_names_of_keys_on_a_server_are_not_remembered_for_ever(valkey: Any) -> None:
    async def scene() -> None:
        sets = Sets(valkey.url)
        for number in range(10):
            await sets.find(HOURLY).take(str(number))
        known = sets.ledger(HOURLY).ledger.tongue.known
        assert len(known) == 10
        for _ in range(REMEMBERED + PORTION):
            sets.find(HOURLY)
        assert len(known) == 0
        await sets.close()

    asyncio.run(scene())


@pytest.mark.parametrize("case", cases(), ids=str)
def test_the_cases_hold(case: Any) -> None:
    verify(case, near().ledger)
