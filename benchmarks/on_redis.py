"""Benchmark of decisions on Redis: rates, CPU on both sides and latency, against the peers.

Starts a server of its own, prints tables and writes `results/redis.json`. README.md says what is
measured, how, and what is fair about it. Not called redis.py, because that is what the client
library of the peers is called.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import leases
import redis_report
import report
import slices
from ceiling import CEILING, ceilings
from redis_contestants import OURS, Caller, awaited, callers
from servers import Neighbours, Server

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slices import Figures

RESULTS = Path(__file__).parent / "results"
TASKS = (64, 256)


@dataclass(frozen=True)
class Effort:
    """How much of everything: rounds, the length of a slice, keys, seconds at saturation."""

    rounds: int
    slice: float
    keys: int
    saturated: float


FULL = Effort(10, 0.3, 10_000, 4.0)
QUICK = Effort(2, 0.1, 1_000, 1.0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything; 0, or with `--assert` 1 if a target was missed."""
    options = _options(arguments)
    # Asked to end, we end as after an error, and take the server along.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with Server() as server:
        results = run(QUICK if options.quick else FULL, server, options.only)
    judged = redis_report.targets(results)
    results["targets"] = [asdict(target) for target in judged]
    for line in redis_report.tables(results, judged):
        print(line)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=2) + "\n")
    missed = any(target.met is False for target in judged)
    return 1 if missed and vars(options)["assert"] else 0


def run(effort: Effort, server: Server, only: list[str]) -> dict[str, Any]:
    """All contests, one after another; within each, everybody in turn."""
    present, absent = report.versions(redis_report.packages())
    factory, neighbours = _loop_factory(), Neighbours(server)
    results: dict[str, Any] = {
        "machine": report.machine(),
        "server": server.title,
        "loop": "uvloop" if factory else "asyncio",
        "versions": present,
        "absent": absent,
        "sizes": asdict(effort),
        "failed": {},
    }

    def entered(each: Caller) -> bool:
        return each.package in present and (not only or any(part in each.name for part in only))

    field = slices.Field(server, slices.names(effort.keys), max(TASKS))
    _keep(results, "sync", sync(list(filter(entered, callers())), field, effort))
    with asyncio.Runner(loop_factory=factory) as runner:
        contests = crowds(list(filter(entered, awaited())), field, effort, runner)
        for tasks, figures in contests.items():
            _keep(results, f"async {tasks}", figures)
    for name, measure in _leased(server, effort).items():
        _say(name)
        made, failed = slices.prepared({OURS: measure})
        results[name] = made.get(OURS, {})
        results["failed"][name] = {each: got["failed"] for each, got in failed.items()}
    results["neighbours"] = neighbours.cores()
    return results


def sync(entrants: list[Caller], field: slices.Field, effort: Effort) -> Figures:
    """One caller at a time, each waiting for its answer."""
    _say("sync")
    makers = {each.name: partial(slices.blocking, each, field, effort.slice) for each in entrants}
    turns, failed = slices.prepared(makers)
    return slices.interleave(turns, effort.rounds) | failed


def crowds(
    entrants: list[Caller], field: slices.Field, effort: Effort, runner: asyncio.Runner
) -> dict[int, Figures]:
    """Many tasks in one event loop, fewer and more of them, in turn with the ceiling."""
    _say("async")
    makers = {each.name: partial(slices.crowded, each, field, runner) for each in entrants}
    ready, failed = slices.prepared(makers)
    above = dict(ceilings(field, effort.slice))
    absent = {} if above else {CEILING: {"failed": "redis-benchmark is not installed"}}
    figures = {}
    for tasks in TASKS:
        _say(f"async {tasks}")
        turns = {name: crowd(tasks, effort.slice) for name, crowd in ready.items()}
        figures[tasks] = slices.interleave(turns | above, effort.rounds) | failed | absent
    return figures


def _leased(server: Server, effort: Effort) -> dict[str, Callable[[], dict[str, Any]]]:
    """What has no peer: one process on a key that never runs dry, several on one that does."""
    return {
        "leased": lambda: leases.hot(server, effort.rounds, effort.slice),
        "saturated": lambda: leases.saturated(server, effort.saturated),
    }


def _keep(results: dict[str, Any], name: str, figures: Figures) -> None:
    results[name] = {each: got for each, got in figures.items() if "failed" not in got}
    results["failed"][name] = {
        each: got["failed"] for each, got in figures.items() if "failed" in got
    }


def _say(name: str) -> None:
    print(f"{name} ...", file=sys.stderr, flush=True)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster event loop where it is installed; the same one for everybody."""
    try:
        factory: Callable[[], asyncio.AbstractEventLoop] = import_module("uvloop").new_event_loop
    except ImportError:
        return None
    return factory


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smoke run of a few seconds")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="only contestants whose name contains NAME; may be given again",
    )
    parser.add_argument("--json", type=Path, default=RESULTS / "redis.json", metavar="PATH")
    parser.add_argument("--assert", action="store_true", help="exit with 1 if a target is missed")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
