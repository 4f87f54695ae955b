"""Stopwatch: how long calls take, in batches of about a millisecond.

A machine that others use drifts within seconds, so numbers that are taken one after another cannot
be compared. Short batches can be dealt out in turns. The garbage collector stays on.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterable
from itertools import repeat
from typing import Any, NamedTuple

from headgate.clock import watches

HOT = "user:1"
BATCH = 1_000_000
LEAST, MOST = 20, 20_000


class Sample(NamedTuple):
    """Nanoseconds for one call: by the wall's clock, and of CPU."""

    wall: float
    cpu: float


Run = Callable[[Iterable[str]], Any]
Batch = Callable[[], Sample]


def timed(run: Run, keys: Iterable[str], calls: int) -> Sample:
    """What each of `calls` took, after one that wakes whatever has to wake."""
    run((HOT,))
    wall, cpu, _ = watches()
    run(keys)
    end, spent, _ = watches()
    return Sample((end - wall) / calls, (spent - cpu) / calls)


async def timed_awaited(
    run: Callable[[Iterable[str]], Awaitable[Any]], keys: Iterable[str], calls: int
) -> Sample:
    """The same inside an event loop."""
    await run((HOT,))
    wall, cpu, _ = watches()
    await run(keys)
    end, spent, _ = watches()
    return Sample((end - wall) / calls, (spent - cpu) / calls)


def crowd(run: Run, size: int, number: int) -> Sample:
    """Let `number` threads loose at once, `size` calls each; the last to finish stops the watch."""
    marks: list[tuple[int, int, int]] = []

    def mark() -> None:
        marks.append(watches())

    def work() -> None:
        gate.wait()
        run(repeat(HOT, size))
        mark()

    gate = threading.Barrier(number, action=mark)
    workers = [threading.Thread(target=work) for _ in range(number)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    (wall, _, cpu), (end, _, spent) = min(marks), max(marks)
    calls = size * number
    return Sample((end - wall) / calls, (spent - cpu) / calls)


def batch_size(run: Callable[[Iterable[str]], Sample]) -> int:
    """How many calls take about a millisecond."""
    run(repeat(HOT, LEAST))
    spent = min(run(repeat(HOT, LEAST))[0] for _ in range(5)) / LEAST
    return int(min(MOST, max(LEAST, BATCH / spent)))


def batch_on_one_key(run: Run) -> Batch:
    """A batch of about a millisecond, all on the hot key."""
    size = batch_size(lambda keys: timed(run, keys, 1))
    return lambda: timed(run, repeat(HOT, size), size)
