"""Benchmark of decisions that several processes share, beside those in one process's memory.

Prints a table and writes `results/shared.json`. As in memory.py, everybody has a batch in turn,
many times over, because a shared machine drifts: read ratios inside one run, never figures across
runs. Here a turn may take several processes; they begin at the same moment, the last to finish
stops the watch, and the time is divided by the decisions of them all. So is their CPU time.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from dataclasses import asdict, dataclass
from itertools import count as counting
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import headgate
import measure
import report
from headgate import Limiter, MemoryStore
from headgate.stores.shared.store import SharedStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection

    Batch = Callable[[int], tuple[int, int, int]]

RESULTS = Path(__file__).parent / "results"
RATE = "1000000000/min"
PROCESSES = (1, 2, 4)
# Workers are told a moment a little ahead, so that all have heard of it when it comes.
HEAD_START_NS = 3_000_000
TARGET = 2.0


@dataclass(frozen=True)
class Effort:
    """How many rounds, how many decisions a batch has, and how many keys are many."""

    rounds: int
    batch: int
    keys: int


FULL = Effort(100, 20_000, 100_000)
QUICK = Effort(5, 2_000, 5_000)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything; 0, or with `--assert` 1 if the target was missed."""
    options = _options(arguments)
    effort = QUICK if options.quick else FULL
    store = SharedStore(f"benchmark-{time.time_ns()}", capacity=effort.keys)
    try:
        figures = run(effort, store)
    finally:
        store.remove()
    ratio = figures["shared, one key, 1"]["least"] / figures["memory, one key, 1"]["least"]
    results = {
        "machine": report.machine(),
        "effort": asdict(effort),
        "figures": figures,
        "shared/memory": ratio,
    }
    for line in lines(results):
        print(line)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=2) + "\n")
    missed = headgate.COMPILED and ratio > TARGET
    return 1 if missed and vars(options)["assert"] else 0


def run(effort: Effort, store: SharedStore) -> dict[str, dict[str, float]]:
    """Every scenario in turn, `rounds` times over."""
    context = multiprocessing.get_context("fork")
    pipes = []
    for number in range(max(PROCESSES)):
        ours, theirs = context.Pipe()
        context.Process(target=work, args=(theirs, effort, store, number), daemon=True).start()
        pipes.append(ours)
    samples: dict[str, list[tuple[float, float]]] = {}
    turns = [("loop", 1), ("memory", 1), *(("shared", number) for number in PROCESSES)]
    for _ in range(effort.rounds):
        for keys in ("one key", "many keys"):
            for where, number in turns:
                taken = together(pipes[:number], f"{where}, {keys}", effort.batch)
                samples.setdefault(f"{where}, {keys}, {number}", []).append(taken)
    for pipe in pipes:
        pipe.send(None)
    return _less({name: measure.reduced(taken) for name, taken in samples.items()})


def _less(timings: dict[str, measure.Timing]) -> dict[str, dict[str, float]]:
    """Without the empty loop, which processes that run side by side go through side by side."""
    cores = len(os.sched_getaffinity(0))
    found = {}
    for name, timing in timings.items():
        where, keys, number = name.split(", ")
        loop = timings[f"loop, {keys}, 1"]
        side_by_side = min(int(number), cores)
        idle = measure.Timing(loop.least / side_by_side, loop.median / side_by_side, loop.cpu)
        if where != "loop":
            found[name] = asdict(timing.less(idle))
    return found


def together(pipes: list[Connection], task: str, batch: int) -> tuple[float, float]:
    """Let the workers at the other ends do `task` at once: wall and CPU, for each decision."""
    start = time.monotonic_ns() + HEAD_START_NS
    for pipe in pipes:
        pipe.send((task, start))
    begun, ended, spent = zip(*(pipe.recv() for pipe in pipes), strict=True)
    decisions = batch * len(pipes)
    return (max(ended) - min(begun)) / decisions, sum(spent) / decisions


def work(pipe: Connection, effort: Effort, store: SharedStore, number: int) -> None:
    """What a worker does: the task it is told, at the moment it is told, until there is none."""
    # A batch is over before the scheduler would have noticed that two workers are on one core.
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[number % len(cores)]})
    tasks = dict(_tasks(effort, store, number))
    while (told := pipe.recv()) is not None:
        task, start = told
        pipe.send(tasks[task](start))


def _tasks(effort: Effort, store: SharedStore, number: int) -> Iterator[tuple[str, Batch]]:
    keys = measure.scattered(effort.keys)
    takes = {
        "loop": _pass,
        "memory": _all(Limiter(RATE, store=MemoryStore(effort.keys))),
        "shared": _all(Limiter(RATE, store=store)),
    }
    for where, take in takes.items():
        take(keys)
        yield f"{where}, one key", _batch(take, lambda: repeat(measure.HOT, effort.batch))
        yield f"{where}, many keys", _batch(take, _stretches(keys, effort.batch, number))


def _all(limiter: Limiter) -> Callable[[Iterable[str]], None]:
    def take(keys: Iterable[str]) -> None:
        for key in keys:
            limiter.take(key)

    return take


def _pass(keys: Iterable[str]) -> None:
    for _key in keys:
        pass


def _stretches(keys: list[str], length: int, number: int) -> Callable[[], list[str]]:
    """One stretch of the keys after another, every worker at a place of its own."""
    starts = ((turn * 5 + number) * length % len(keys) for turn in counting())

    def stretch() -> list[str]:
        start = next(starts)
        return [*keys[start:], *keys[:start]][:length]

    return stretch


def _batch(take: Callable[[Iterable[str]], None], keys: Callable[[], Iterable[str]]) -> Batch:
    def batch(start: int) -> tuple[int, int, int]:
        asked = keys()
        take((measure.HOT,))
        while time.monotonic_ns() < start:
            pass
        cpu, begun = time.process_time_ns(), time.monotonic_ns()
        take(asked)
        ended = time.monotonic_ns()
        return begun, ended, time.process_time_ns() - cpu

    return batch


def lines(results: dict[str, Any]) -> Iterator[str]:
    """The table for people."""
    facts = results["machine"]
    build = "compiled" if facts["compiled"] else "interpreted"
    yield f"{facts['processor']}, {facts['cores']} cores, {facts['python']}, headgate {build}"
    yield "ns a decision, of all processes together; loop subtracted"
    yield f"{'':30}{'wall':>8}{'median':>8}{'cpu':>8}"
    for name, each in results["figures"].items():
        figures = "".join(f"{each[which]:8.0f}" for which in ("least", "median", "cpu"))
        yield f"{name + ' process(es)':30}{figures}"
    ratio = results["shared/memory"]
    yield f"shared/memory, one process on one key: {ratio:.2f} (at most {TARGET})"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smoke run of a few seconds")
    parser.add_argument("--json", type=Path, default=RESULTS / "shared.json", metavar="PATH")
    parser.add_argument("--assert", action="store_true", help="exit with 1 if the target is missed")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
