"""Benchmark of what it costs to guard a call: a breaker closed and open, and a place in a bulkhead.

Prints tables and writes `results/guards.json`. As in memory.py, everybody has a batch of about a
millisecond in turn, hundreds of times: read ratios inside one run. A closed breaker is judged by
what it adds to the bare call; an open one by the whole refusal, raised and caught. Ratios are taken
round by round, from batches that followed each other within milliseconds, and the one in the middle
counts: where the machine runs at two speeds, the least of one may be from another speed than the
least of the other. The ratio of the least times is printed beside.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict
from itertools import repeat
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import guard_contestants as who
import measure
import report
from contestants import CLOCK, LOOP, Contestant
from targets import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from measure import Batch, Figures, Sample

RESULTS = Path(__file__).parent / "results"
ROUNDS, QUICK_ROUNDS = 300, 10
TITLES = {
    "closed": "ns that a closed breaker adds to a call",
    "open": "ns of a refused call, raised and caught",
    "async closed": "ns that a closed breaker adds to an awaited call",
    "async open": "ns of a refused awaited call, raised and caught",
    "hold": "ns of an empty `with` on a free bulkhead",
    "async hold": "ns of an empty `async with` on a free bulkhead",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything; 0, or with `--assert` 1 if a target was missed."""
    options = _options(arguments)
    results = run(QUICK_ROUNDS if options.quick else ROUNDS)
    judged = targets(results)
    results["targets"] = [asdict(target) for target in judged]
    for line in tables(results, judged):
        print(line)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=2) + "\n")
    missed = any(target.met is False for target in judged)
    return 1 if missed and vars(options)["assert"] else 0


def run(rounds: int) -> dict[str, Any]:
    """All contests, one after another; within each, everybody in turn."""
    everybody = [*who.breakers(False), *who.abreakers(False), *who.abulkheads()]
    present, absent = report.versions(each.package for each in everybody if each.package)
    results: dict[str, Any] = {
        "machine": report.machine(),
        "versions": present,
        "absent": absent,
        "rounds": rounds,
        "failed": {},
    }
    for name, contest in _contests(rounds).items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        figures = contest()
        results[name] = {each: got for each, got in figures.items() if "failed" not in got}
        results["failed"][name] = {
            each: got["failed"]
            for each, got in figures.items()
            if "failed" in got and each not in absent
        }
    return results


def targets(results: dict[str, Any]) -> list[Target]:
    """Every promise; judged by the ratios of single rounds, that of the least times beside them."""
    half = "of what the fastest peer"
    return [
        _at_most(f"{half} adds, breaker closed", 0.5, results["closed"]),
        _at_most(f"{half} takes, breaker open", 0.5, results["open"]),
        _at_most(f"{half} adds, awaited, closed", 0.5, results["async closed"]),
        _at_most(f"{half} takes, awaited, open", 0.5, results["async open"]),
        _at_most("of threading.Semaphore, a place held", 1, results["hold"]),
        _at_most("of asyncio.Semaphore, a place held", 1, results["async hold"]),
    ]


def tables(results: dict[str, Any], judged: list[Target]) -> Iterator[str]:
    """The lines to print."""
    facts = results["machine"]
    build = "compiled" if facts["compiled"] else "interpreted"
    yield f"{facts['processor']}, {facts['cores']} cores, {facts['python']}, headgate {build}"
    yield ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    for name, title in TITLES.items():
        yield ""
        yield title
        yield from report._aligned(_rows(results[name]))
    yield ""
    yield "targets"
    yield from report._aligned(report._target_rows(judged))
    left_out = [f"{name}: {why}" for name, why in results["absent"].items()]
    for contest, failures in results["failed"].items():
        left_out += [f"{name} ({contest}): {why}" for name, why in failures.items()]
    if left_out:
        yield from ("", "left out", *(f"  {reason}" for reason in left_out))


def _contests(rounds: int) -> dict[str, Callable[[], Figures]]:
    return {
        "closed": lambda: _called(who.breakers(opened=False), rounds),
        "open": lambda: _called(who.breakers(opened=True), rounds),
        "async closed": lambda: _awaited(who.abreakers(opened=False), rounds),
        "async open": lambda: _awaited(who.abreakers(opened=True), rounds),
        "hold": lambda: _called(who.bulkheads(), rounds),
        "async hold": lambda: _awaited(who.abulkheads(), rounds),
    }


def _called(entrants: list[Contestant], rounds: int) -> Figures:
    """Statements in a plain loop."""

    def prepare(entrant: Contestant) -> Batch:
        names = entrant.build(0, 0, 0)
        if "Refusal" in names and "try" in entrant.call:
            _open(names)
        return measure.batch_on_one_key(measure.loop(entrant, names))

    return _figures(*measure.sampled(entrants, prepare, rounds))


def _awaited(entrants: list[Contestant], rounds: int) -> Figures:
    """Statements in a loop inside a running event loop."""
    with asyncio.Runner() as runner:

        def prepare(entrant: Contestant) -> Batch:
            names = entrant.build(0, 0, 0)
            if "Refusal" in names and "try" in entrant.call:
                runner.run(_aopen(names))
            run = measure.loop(entrant, names, "async ")
            size = measure.batch_size(lambda keys: runner.run(measure.timed_awaited(run, keys, 1)))
            return lambda: runner.run(measure.timed_awaited(run, repeat(measure.HOT, size), size))

        return _figures(*measure.sampled(entrants, prepare, rounds))


def _open(names: dict[str, Any]) -> None:
    """Let calls fail until none is made any more; refuse to time who makes them all the same."""
    for _ in range(who.FAILURES):
        try:
            names["call"](None)
        except (who.Failure, names["Refusal"]):
            pass
    try:
        names["call"](measure.HOT)
    except names["Refusal"]:
        return
    raise RuntimeError("it let a call in where it should be open")


async def _aopen(names: dict[str, Any]) -> None:
    """The same, awaited."""
    for _ in range(who.FAILURES):
        try:
            await names["call"](None)
        except (who.Failure, names["Refusal"]):
            pass
    try:
        await names["call"](measure.HOT)
    except names["Refusal"]:
        return
    raise RuntimeError("it let a call in where it should be open")


def _figures(samples: dict[str, list[Sample]], failed: Figures) -> Figures:
    """Least and median without the loop, and without the bare call where a guard adds to it."""
    samples.pop(CLOCK)
    raw = {name: measure.reduced(taken) for name, taken in samples.items()}
    floor = who.BARE if who.BARE in samples else LOOP
    ours = _less(samples[who.OURS], samples[floor])
    figures: Figures = {LOOP: asdict(raw[LOOP])}
    for name, taken in samples.items():
        if name in FLOORS:
            figures[name] = asdict(raw[name] if name == LOOP else raw[name].less(raw[LOOP]))
            continue
        figures[name] = asdict(raw[name].less(raw[floor]))
        pairs = zip(ours, _less(taken, samples[floor]), strict=True)
        figures[name]["ours"] = median(one / other for one, other in pairs)
    return figures | failed


def _less(taken: list[Sample], floor: list[Sample]) -> list[float]:
    """What is left of each batch without the one of the same round that nobody can do without."""
    return [wall - idle for (wall, _), (idle, _) in zip(taken, floor, strict=True)]


def _rows(figures: Figures) -> Iterator[list[str]]:
    yield ["", "least", "median", "cpu", "headgate is"]
    for name, each in figures.items():
        ratio = f"{each['ours']:.2f} x" if "ours" in each else ""
        yield [name, *(f"{each[key]:,.0f}" for key in ("least", "median", "cpu")), ratio]


def _at_most(promise: str, goal: float, figures: Figures) -> Target:
    peers = [each for name, each in figures.items() if name not in (who.OURS, *FLOORS)]
    if who.OURS not in figures or not peers:
        return Target(f"<= {goal} {promise}", None, None, goal, None)
    ratio = max(each["ours"] for each in peers)
    least = figures[who.OURS]["least"] / min(each["least"] for each in peers)
    return Target(f"<= {goal} {promise}", least, ratio, goal, ratio <= goal)


FLOORS = (LOOP, who.BARE, who.RAISE)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smoke run of a few seconds")
    parser.add_argument("--json", type=Path, default=RESULTS / "guards.json", metavar="PATH")
    parser.add_argument("--assert", action="store_true", help="exit with 1 if a target is missed")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
