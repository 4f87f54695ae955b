"""Rounds: a batch of everybody in turn, over and over, and what the middle of all batches is."""

from __future__ import annotations

import asyncio
import gc
from statistics import median, quantiles
from typing import NamedTuple

from headgate.cli.bench.stopwatch import Batch, Sample
from headgate.cli.bench.subjects import CLOCK, LOOP, Plan, awaited, decisions, floors
from headgate.clock import Clock, cost

# So many rounds are played even where one takes longer than all were to take.
LEAST = 5
# How often the clock is read at a time.
READS = 2_000


class Figures(NamedTuple):
    """Nanoseconds for one call, without the loop around it: the least, the middle, nine in ten."""

    least: float
    median: float
    most: float
    cpu: float


def measured(plan: Plan, seconds: float, clock: Clock) -> tuple[dict[str, Figures], int]:
    """What each subject takes, by its name, and how many rounds were played."""
    with asyncio.Runner() as runner:
        batches: dict[str, Batch] = {CLOCK: reading}
        batches |= {**dict(floors()), **dict(decisions(plan)), **dict(awaited(plan, runner))}
        samples: dict[str, list[Sample]] = {name: [] for name in batches}
        gc.collect()
        end = clock.now() + int(seconds * 1_000_000)
        rounds = 0
        while rounds < LEAST or clock.now() < end:
            for name, batch in batches.items():
                samples[name].append(batch())
            rounds += 1
    return figures(samples), rounds


def reading() -> Sample:
    """A reading of the clock, as a decision does it; it is in no loop, and all of it is CPU."""
    spent = cost(READS)
    return Sample(spent, spent)


def figures(samples: dict[str, list[Sample]]) -> dict[str, Figures]:
    """What the samples say, each less the loop in the same place; the loop itself is left out."""
    idle = reduced(samples[LOOP])
    bare = Figures(0.0, 0.0, 0.0, 0.0)
    return {
        name: less(reduced(found), bare if name == CLOCK else idle)
        for name, found in samples.items()
        if name != LOOP
    }


def reduced(samples: list[Sample]) -> Figures:
    """The least, the middle and what nine in ten do not exceed."""
    walls = [one.wall for one in samples]
    return Figures(
        min(walls), median(walls), quantiles(walls, n=10)[8], median(one.cpu for one in samples)
    )


def less(found: Figures, idle: Figures) -> Figures:
    """What is left without the loop; the loop in the middle is taken from the noisy end as well.

    Where the loop was disturbed more than what it is taken from, the least is still no more than
    the middle.
    """
    middle = found.median - idle.median
    return Figures(
        max(0.0, min(found.least - idle.least, middle)),
        max(0.0, middle),
        max(0.0, found.most - idle.median),
        max(0.0, found.cpu - idle.cpu),
    )
