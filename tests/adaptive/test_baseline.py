"""Baseline: what a call takes when nobody waits, and how that is found out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headgate.adaptive.baseline import Baseline

SECOND = 1_000_000


class Bench:
    """A service of so many workers, asked by as many as may be inside."""

    def __init__(self, workers: int, latency: int, places: int) -> None:
        self.workers = workers
        self.latency = latency
        self.places = places
        self.baseline = Baseline(10 * SECOND, 2)
        self.now = SECOND
        self.least = places

    def run(self, until: Callable[[], bool]) -> float:
        # One call after the other ends; each took as long as it does with so many inside.
        while not until():
            probing = self.baseline.probing
            inside = self.baseline.few(self.places) if probing else self.places
            self.least = min(self.least, inside)
            took = self.latency * max(self.workers, inside) // self.workers
            self.now += took // inside
            self.baseline.add(self.now, took, inside - 1, self.places)
        return self.baseline.took

    def probe(self) -> float:
        self.run(lambda: self.baseline.probing)
        self.least = self.places
        return self.run(lambda: not self.baseline.probing)


def test_a_third_fewer_are_let_in_to_measure() -> None:
    bench = Bench(workers=20, latency=100_000, places=24)
    bench.probe()

    assert (bench.probe(), bench.least) == (100_000, 16)


def test_the_first_time_nobody_knows_and_fewer_are_tried_until_nothing_changes() -> None:
    bench = Bench(workers=20, latency=100_000, places=200)

    assert (bench.probe(), bench.least) == (100_000, 8)


def test_a_queue_that_is_still_there_is_not_believed() -> None:
    bench = Bench(workers=50, latency=100_000, places=55)
    before = bench.probe()
    # Two thirds of 55 still wait for each other; the half of that does not.
    bench.workers = 20
    after = bench.probe()

    assert (before, after, bench.least) == (100_000, 100_000, 18)


def test_a_service_that_has_become_slower_is() -> None:
    bench = Bench(workers=50, latency=100_000, places=55)
    before = bench.probe()
    bench.latency = 300_000
    after = bench.probe()

    assert (before, after, bench.baseline.slower) == (100_000, 300_000, True)


def test_a_service_that_has_become_faster_is_believed_at_once() -> None:
    bench = Bench(workers=50, latency=100_000, places=55)
    bench.probe()
    bench.latency = 80_000

    assert bench.probe() == 80_000


def test_small_differences_are_averaged() -> None:
    bench = Bench(workers=50, latency=100_000, places=55)
    found = []
    for latency in (100_000, 106_000, 94_000, 100_000):
        bench.latency = latency
        found.append(bench.probe())

    assert found == [100_000, 103_000, 100_000, 100_000]


def test_what_is_new_is_looked_at_again_soon() -> None:
    bench = Bench(workers=50, latency=100_000, places=55)
    gaps = []
    for _ in range(6):
        bench.probe()
        gaps.append((bench.baseline.due - bench.now) / SECOND)

    assert gaps == [2.5, 5.0, 7.5, 10.0, 10.0, 10.0]


@pytest.mark.parametrize("places", [1, 2, 3])
def test_never_fewer_than_the_floor(places: int) -> None:
    bench = Bench(workers=1, latency=100_000, places=places)
    bench.probe()

    assert bench.baseline.few(places) == 2
