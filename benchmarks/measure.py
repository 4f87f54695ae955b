"""Measure: everybody in turn, in short batches, many times over.

A shared machine drifts within seconds, so numbers taken one after another cannot be compared.
Here each round gives every contestant one batch of about a millisecond; the least and the median
over all rounds are reported, the garbage collector stays on, and the cost of the empty loop, taken
in the same rounds, is subtracted. CPU time is the calling thread's, or, with several threads, the
process's.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from dataclasses import asdict, dataclass
from itertools import count as counting
from itertools import repeat
from statistics import median
from typing import TYPE_CHECKING, Any

from contestants import CLOCK, LOOP, Contestant, floors
from headgate.cli.bench.stopwatch import (
    HOT,
    Sample,
    batch_on_one_key,
    batch_size,
    crowd,
    timed,
    timed_awaited,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headgate.cli.bench.stopwatch import Batch, Run

    Figures = dict[str, dict[str, Any]]

AMPLE = (1_000_000_000, 60)
SPENT = (1, 86_400)


@dataclass(frozen=True)
class Timing:
    """Nanoseconds for one decision: wall clock at its least and in the middle, CPU at its least."""

    least: float
    median: float
    cpu: float

    def less(self, idle: Timing) -> Timing:
        """What is left without the loop."""
        return Timing(self.least - idle.least, self.median - idle.median, self.cpu - idle.cpu)


def allowed(entrants: Sequence[Contestant], rounds: int) -> Figures:
    """Decisions on one key, every one of them yes."""

    def prepare(entrant: Contestant) -> Batch:
        names = entrant.build(*AMPLE, 1)
        check(entrant, names, True)
        return batch_on_one_key(loop(entrant, names))

    return interleave([*floors("method"), *entrants], prepare, rounds)


def refused(entrants: Sequence[Contestant], rounds: int) -> Figures:
    """Decisions on one key, every one of them no."""

    def prepare(entrant: Contestant) -> Batch:
        names = entrant.build(*SPENT, 1)
        run = loop(entrant, names)
        run([HOT])
        check(entrant, names, False)
        return batch_on_one_key(run)

    return interleave([*floors("method"), *entrants], prepare, rounds)


def many(entrants: Sequence[Contestant], rounds: int, count: int) -> Figures:
    """Allowed decisions over `count` keys that are all known already, in no order."""
    keys = scattered(count)
    chunk = min(2_000, count // 10)

    def prepare(entrant: Contestant) -> Batch:
        run = loop(entrant, entrant.build(*AMPLE, count))
        run(otherwise(keys))
        starts = (turn * chunk % count for turn in counting())

        def batch() -> Sample:
            start = next(starts)
            return timed(run, keys[start : start + chunk], chunk)

        return batch

    keyed = [entrant for entrant in entrants if entrant.keyed]
    return interleave([*floors("method"), *keyed], prepare, rounds)


def threads(entrants: Sequence[Contestant], rounds: int, number: int) -> Figures:
    """Allowed decisions on one key by `number` threads at once: wall time of all, per decision."""

    def prepare(entrant: Contestant) -> Batch:
        run = loop(entrant, entrant.build(*AMPLE, 1))
        size = 4 * batch_size(lambda keys: timed(run, keys, 1))
        return lambda: crowd(run, size, number)

    return interleave([*floors("method"), *entrants], prepare, rounds)


def tasks(entrants: Sequence[Contestant], rounds: int) -> Figures:
    """Allowed decisions on one key, awaited one after another in one event loop."""
    with asyncio.Runner() as runner:

        def prepare(entrant: Contestant) -> Batch:
            run = loop(entrant, entrant.build(*AMPLE, 1), "async ", "await ")
            size = batch_size(lambda keys: runner.run(timed_awaited(run, keys, 1)))
            return lambda: runner.run(timed_awaited(run, repeat(HOT, size), size))

        return interleave([*floors("awaitable"), *entrants], prepare, rounds)


def interleave(
    entrants: Sequence[Contestant], prepare: Callable[[Contestant], Batch], rounds: int
) -> Figures:
    """Give everybody a batch in turn, `rounds` times; whoever cannot start has failed, and why."""
    samples, failed = sampled(entrants, prepare, rounds)
    return summary(samples) | failed


def sampled(
    entrants: Sequence[Contestant], prepare: Callable[[Contestant], Batch], rounds: int
) -> tuple[dict[str, list[Sample]], Figures]:
    """What everybody's batches took, round by round; and who could not start, and why."""
    batches: dict[str, Batch] = {CLOCK: clock_read}
    failed: Figures = {}
    for entrant in entrants:
        try:
            batches[entrant.name] = prepare(entrant)
        except Exception as problem:  # a peer may fail in any way; the others still run
            failed[entrant.name] = {"failed": f"{type(problem).__name__}: {problem}"}
    samples: dict[str, list[Sample]] = {name: [] for name in batches}
    gc.collect()
    for _ in range(rounds):
        for name, batch in batches.items():
            samples[name].append(batch())
            await_timers()
    return samples, failed


def loop(entrant: Contestant, names: dict[str, Any], define: str = "", wait: str = "") -> Run:
    """The contestant's statement in a loop over keys, its objects local to the function."""
    statement = f"{wait}{entrant.call}" if entrant.call else "pass"
    source = f"{define}def run(keys, {', '.join(names)}):\n for key in keys:\n  {statement}\n"
    space: dict[str, Any] = {}
    exec(source, space)  # as timeit does: no adapter stands between the loop and the library
    run = space["run"]
    return lambda keys: run(keys, **names)


def check(entrant: Contestant, names: dict[str, Any], expected: bool) -> None:
    """Refuse to time a contestant that does not answer as the scenario says."""
    if not entrant.call or not entrant.answers:
        return
    answer = eval(entrant.call, {"key": HOT, **names})
    if entrant.admitted(answer) is not expected:
        wanted = "allowed" if expected else "refused"
        raise RuntimeError(f"{entrant.name} answered {answer!r} where all are {wanted}")


def clock_read() -> Sample:
    """One reading of the monotonic clock in C.

    The compiled library measures it in a C loop. Without it: what `time.monotonic_ns()` costs
    above `gc.isenabled()`, a builtin that does nothing, which is an estimate.
    """
    import headgate
    from headgate import clock

    measure = getattr(clock, "cost", None)
    if headgate.COMPILED and measure is not None:
        cost = measure(20_000)
        return Sample(cost, cost)
    read = undisturbed(lambda calls: [time.monotonic_ns() for _ in calls])
    idle = undisturbed(lambda calls: [gc.isenabled() for _ in calls])
    return Sample(max(1.0, read.wall - idle.wall), max(1.0, read.cpu - idle.cpu))


def undisturbed(run: Run) -> Sample:
    """The least of a few short batches: a difference of two noisy figures would be all noise."""
    return min(timed(run, repeat(HOT, 2_000), 2_000) for _ in range(5))


def await_timers() -> None:
    """Wait for work a contestant left to a timer, so that it does not fall on the next one."""
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()


def summary(samples: dict[str, list[Sample]]) -> Figures:
    """Least and median of each, less the empty loop; the clock is read in no such loop."""
    raw = {name: reduced(taken) for name, taken in samples.items()}
    bare = (CLOCK, LOOP)
    return {
        name: asdict(each if name in bare else each.less(raw[LOOP])) for name, each in raw.items()
    }


def reduced(taken: list[Sample]) -> Timing:
    """One timing out of many samples."""
    walls = [wall for wall, _ in taken]
    return Timing(min(walls), median(walls), min(cpu for _, cpu in taken))


def scattered(count: int) -> list[str]:
    """`count` keys in no order, made without leaving anything behind for the allocator to reuse."""
    return [f"user:{i * 7919 % count}" for i in range(count)]


def otherwise(keys: list[str]) -> Iterator[str]:
    """The same keys in another order, so that they are not asked for as they were put in."""
    return (keys[i * 104_729 % len(keys)] for i in range(len(keys)))
