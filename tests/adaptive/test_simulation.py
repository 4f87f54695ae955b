"""Limits that find themselves, in front of a service whose capacity falls to 30 % and comes back.

Virtual time, a hundred workers and then thirty, twice as many calls as they can take, 20 % noise.
Each limit has half a minute to find the new number; then it keeps at most 1.3 times as many inside
as the service can work on, and lets it work. `make soak` plays 200 seeds, and in `make test` the
other runs have 30 % of the workers and calls.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from headgate import (
    AIMD,
    BBR,
    Bulkhead,
    Gradient,
    Limiter,
    ManualClock,
    MemoryStore,
    Steer,
    TokenBucket,
    Vegas,
)
from headgate.testing.queueing import Run, Service, overload, poisson, surge
from tests.conftest import SCALE

WORKERS, FEWER, LATENCY = 100, 30, 0.5
# The workers of the runs that do not compare the limit with the exact number of workers.
SMALL, SMALLER = (WORKERS, FEWER) if SCALE > 1 else (30, 9)
CAPACITY = SMALL / LATENCY
# Seconds for which a limit is observed after it had time to settle.
OBSERVED = 10
# Seconds between changes of the capacity: the limit has 30 to find it, and is observed afterwards.
PHASE = 30 + OBSERVED
# From half a minute after each change on: the workers there are, and what they can do.
PHASES = [
    (start + 30, start + PHASE, workers)
    for start, workers in ((0, WORKERS), (PHASE, FEWER), (2 * PHASE, WORKERS))
]
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 200))]

RULES: dict[str, Callable[[Service], Any]] = {
    "AIMD": lambda _: AIMD(),
    "Vegas": lambda _: Vegas(),
    "Gradient": lambda _: Gradient(),
    "BBR": lambda service: BBR(signal=service.load),
}


def staffed(workers: int) -> Callable[[Service], None]:
    def change(service: Service) -> None:
        service.workers = workers

    return change


def slowed(latency: float) -> Callable[[Service], None]:
    def change(service: Service) -> None:
        service.latency = latency

    return change


def step(rule: str, seed: int, seconds: float = 3 * PHASE) -> Run:
    service = Service(WORKERS, LATENCY, noise=0.2)
    bulkhead = Bulkhead(RULES[rule](service), clock=ManualClock())
    changes = ((PHASE, staffed(FEWER)), (2 * PHASE, staffed(WORKERS)))
    return overload(bulkhead, service, poisson(400.0), seconds, changes, seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rule", RULES)
def test_a_limit_finds_the_capacity_within_30_s_and_keeps_to_it(rule: str, seed: int) -> None:
    run = step(rule, seed)

    for since, until, workers in PHASES:
        assert run.inside(1.0, since, until) <= 1.3 * workers
        assert run.goodput(since, until) >= 0.7 * workers / LATENCY
    # It never starves: in every two seconds somebody was served.
    moments = [0.0, *(at for at, _ in run.served), 3.0 * PHASE]
    assert max(later - at for at, later in pairwise(moments)) < 2.0


@pytest.mark.parametrize("rule", RULES)
def test_a_service_that_becomes_slower_keeps_its_places(rule: str) -> None:
    # Three times slower by itself, with nobody waiting: as many may be inside as before.
    service = Service(20, 0.2, noise=0.2)
    bulkhead = Bulkhead(RULES[rule](service), clock=ManualClock())
    half = 30 + OBSERVED
    run = overload(bulkhead, service, poisson(200.0), 2 * half, ((half, slowed(0.6)),), seed=3)

    assert run.inside(0.99, half + 30, 2 * half) <= 1.45 * 20
    assert run.goodput(half + 30, 2 * half) >= 0.7 * 20 / 0.6


def test_without_a_limit_nobody_is_served_in_time() -> None:
    # What the others are compared with: everybody comes in, and all are late.
    service = Service(SMALL, LATENCY, noise=0.2)
    bulkhead = Bulkhead(1_000_000, clock=ManualClock())
    run = overload(bulkhead, service, poisson(2 * CAPACITY), 60.0)

    assert run.goodput(30, 60, within=2.0) == 0.0


@pytest.mark.parametrize("rule", RULES)
def test_a_retry_storm_ends_when_what_set_it_off_has_ended(rule: str) -> None:
    # Ten times the calls for ten seconds, and everybody who is refused tries three times more.
    service = Service(SMALL, LATENCY, noise=0.2)
    bulkhead = Bulkhead(RULES[rule](service), clock=ManualClock())
    usual = 0.6 * CAPACITY
    calls = surge(usual, 10 * usual, 40.0, 50.0)
    run = overload(bulkhead, service, calls, 80.0, retries=3, patience=2.0, seed=1)

    assert run.goodput(41, 50, within=2.0) >= 0.6 * CAPACITY
    assert run.goodput(60, 80, within=2.0) >= 0.9 * usual
    assert sum(at >= 60 for at in run.refused) <= 0.1 * usual * 20


def test_the_same_seed_is_the_same_run() -> None:
    first, second = (step("Vegas", 7, 10.0) for _ in range(2))

    assert len(first.served) > 100
    assert first.served == second.served


@pytest.mark.parametrize("rule", ["AIMD", "Vegas", "Gradient"])
def test_a_steered_bucket_is_filled_as_fast_as_the_service_can_work(rule: str) -> None:
    service = Service(SMALL, LATENCY, noise=0.2)
    limiter = Limiter(TokenBucket("20/s"), store=MemoryStore(16), clock=ManualClock())
    steer = Steer(limiter, RULES[rule](service), every=0.2)
    half = 60 + OBSERVED
    changes = ((half, staffed(SMALLER)),)
    run = overload(steer, service, poisson(2 * CAPACITY), 2 * half, changes, seed=2)

    for since, until, workers in ((60, half, SMALL), (half + 60, 2 * half, SMALLER)):
        assert run.goodput(since, until) >= 0.7 * workers / LATENCY
        assert run.latency(0.95, since, until) <= 4 * LATENCY


def test_a_door_without_a_clock_moved_by_hand_is_refused() -> None:
    with pytest.raises(TypeError, match="the door's clock is a ManualClock"):
        overload(Bulkhead(1), Service(1, 1.0), poisson(1.0), 1.0)
