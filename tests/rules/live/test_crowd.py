"""Many threads count, and look: nothing is lost, and nobody's work is undone by another's."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any

import pytest

from headgate import FixedWindow, SlidingLog
from headgate.rules.live.assay import KEYS, Assay
from headgate.rules.live.ranking import heaviest
from headgate.rules.live.tally import Tally
from headgate.rules.live.top import SPAN, Top, Tops
from headgate.telemetry.meter import Meter
from tests.conftest import SCALE
from tests.crowd import hasty, together

THREADS = 8
TIMES = 1500 * SCALE
# What a tally is told: let in, and refused.
PASSED, REFUSED = 0, 2


@pytest.fixture(autouse=True)
def _hasty() -> Iterator[None]:
    with hasty():
        yield


def asked(number: int, keys: int) -> list[str]:
    """The keys of one thread's requests: the lower ones more often, and all mixed with others'."""
    chance = Random(number)
    return [f"key{min(chance.randrange(keys), chance.randrange(keys))}" for _ in range(TIMES)]


@pytest.mark.parametrize(("size", "keys"), [(256, 100), (5, 40), (32, 3000)])
def test_whoever_comes_most_is_known_as_well_as_from_one_thread(size: int, keys: int) -> None:
    top, truth = Top(size), Counter[str]()
    for number in range(THREADS):
        truth.update(asked(number, keys))

    def note(number: int) -> None:
        for key in asked(number, keys):
            top.note(key)

    together(note, THREADS)

    found = heaviest(keys, top)
    assert top.total == truth.total()
    assert len(found) <= top.count <= 2 * size
    for key, one in found.items():
        assert one.times - one.error <= truth[key] <= one.times
    for key, times in truth.items():
        assert key in found or times <= top.least + 1


def test_whoever_looks_finds_numbers_that_belong_together() -> None:
    top = Top(5)

    def work(number: int) -> list[int]:
        errors = []
        for key in asked(number, 40):
            top.note(key)
            if number == 0:
                found = heaviest(99, top)
                errors += [one.times - one.error for one in found.values()]
                assert len(found) <= 10
        return errors

    errors = together(work, THREADS)[0]
    assert errors
    assert min(errors) >= 0


def test_a_span_that_is_over_for_all_at_once_is_over_once() -> None:
    tops = Tops()
    tops.turn(0)
    for span in range(1, 100 * SCALE):
        tops.passed.note(f"span{span}")
        together(lambda _, now=span * SPAN + 1: tops.turn(now), THREADS)  # type: ignore[misc]

        assert heaviest(9, tops.passed_before).keys() == {f"span{span}"}
        assert tops.passed.total == 0
        assert tops.until == span * SPAN + 1 + SPAN


def weighed(assay: Assay, number: int, keys: int) -> list[int]:
    """What is said of one thread's requests: of each key four go in, and the rest are refused."""
    seen, said = Counter[str](), []
    chance = Random(number)
    for _ in range(TIMES):
        key = f"key{number}-{chance.randrange(keys)}"
        seen[key] += 1
        said.append(assay.weigh(key, 1, 1, seen[key] <= 4))
    return said


def test_refusals_are_weighed_as_in_one_thread() -> None:
    # The first refusal of each key comes too early, by one.
    limits = (FixedWindow("5/s"),)
    keys = KEYS // THREADS
    alone = Assay(limits)
    expected = [weighed(alone, number, keys) for number in range(THREADS)]

    assay = Assay(limits)
    assert together(lambda number: weighed(assay, number, keys), THREADS) == expected
    assert assay.count == alone.count <= KEYS


def test_a_sample_of_many_keys_is_never_of_more_than_it_has_places_for() -> None:
    assay = Assay((FixedWindow("5/s"), SlidingLog("7/s")))

    said = together(lambda number: weighed(assay, number, 60), THREADS)

    assert {0, 2} == {one for some in said for one in some}
    assert assay.count <= KEYS
    assert assay.keep > 0


def test_what_one_key_was_let_in_with_by_many_threads_is_all_there() -> None:
    most, keys = THREADS * 100, [f"key{number}" for number in range(10)]
    assay, moment = Assay((SlidingLog(f"{most}/day"),)), count(1)

    def enter(_: int) -> None:
        for turn in range(100 * len(keys)):
            assay.weigh(keys[turn % len(keys)], 1, next(moment), True)

    together(enter, THREADS)

    now = next(moment)
    assert {assay.weigh(key, 1, now, False) for key in keys} == {1}
    assert {assay.weigh(key, 0, now, False) for key in keys} == {2}


def counted(tally: Tally, number: int) -> None:
    """One thread's part of what is counted."""
    for turn in range(TIMES):
        tally.count(PASSED if turn % 3 else REFUSED, f"key{number}", 2, None, 0, turn)
        tally.charge(5)


@pytest.mark.parametrize("keyed", [True, False])
def test_what_a_rule_did_adds_up_though_its_cells_are_moved(keyed: bool) -> None:
    tally = Tally(keyed)
    places = [array("q", bytes(8 * len(tally.read()))) for _ in range(50)]

    def work(number: int) -> None:
        if number:
            counted(tally, number)
        else:
            for view in places:
                tally.move(view)

    together(work, THREADS)

    alone: Any = Tally(keyed)
    for number in range(1, THREADS):
        counted(alone, number)
    # Each block has what was counted until it was left.
    assert tally.read() == alone.read()
    assert tally.passed + tally.refused == (THREADS - 1) * TIMES


def test_what_took_how_long_adds_up_though_its_cells_are_moved() -> None:
    meter, alone = Meter((0.001, 0.01)), Meter((0.001, 0.01))
    places = [array("q", bytes(8 * meter.length)) for _ in range(50)]

    def work(number: int) -> None:
        for turn in range(TIMES if number else 0):
            meter.note(200 + 100 * (turn % 4), turn * 10)
        for view in () if number else places:
            meter.move(view)

    together(work, THREADS)
    for _ in range(1, THREADS):
        for turn in range(TIMES):
            alone.note(200 + 100 * (turn % 4), turn * 10)

    assert meter.read() == alone.read()
