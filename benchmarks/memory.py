"""Benchmark of decisions in one process's memory: speed, size and accuracy, against the peers.

Prints tables, writes `results/memory.json` and draws `results/memory.svg`. README.md says what is
measured, how, and what is fair about it.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import accuracy
import apart
import measure
import plot
import report
from contestants import Contestant, awaited, contestants
from targets import targets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Scenario = Callable[[], dict[str, dict[str, Any]]]

RESULTS = Path(__file__).parent / "results"
THREADS = 4
# A million keys take some of them ten seconds and a gigabyte: the fastest of each library only.
MILLION = (
    "headgate token bucket",
    "limits fixed window",
    "throttled-py token bucket",
    "pyrate-limiter gcra",
    "token-bucket",
    "rust-py-rate-limit allow()",
)


@dataclass(frozen=True)
class Effort:
    """How much of everything: rounds, keys and virtual seconds."""

    hot_rounds: int
    many_rounds: int
    thread_rounds: int
    task_rounds: int
    many: int
    million: int
    seconds: int


FULL = Effort(300, 100, 15, 100, 100_000, 1_000_000, 10_000)
QUICK = Effort(10, 5, 2, 5, 5_000, 20_000, 500)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything; 0, or with `--assert` 1 if a target was missed."""
    options = _options(arguments)
    results = run(QUICK if options.quick else FULL, lambda name: _chosen(name, options.only))
    judged = targets(results)
    results["targets"] = [asdict(target) for target in judged]
    for line in report.tables(results, judged):
        print(line)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=2) + "\n")
    if not plot.draw(results, options.json.with_suffix(".svg")):
        print("no picture: matplotlib is not installed")
    missed = any(target.met is False for target in judged)
    return 1 if missed and vars(options)["assert"] else 0


def run(effort: Effort, wanted: Callable[[str], bool]) -> dict[str, Any]:
    """All scenarios, one after another; within each, everybody in turn."""
    present, absent = report.versions(each.package for each in [*contestants(), *awaited()])
    results: dict[str, Any] = {
        "machine": report.machine(),
        "versions": present,
        "absent": absent,
        "sizes": {"many": effort.many, "million": effort.million, "threads": THREADS},
        "failed": {},
    }

    def entered(each: Contestant) -> bool:
        return each.package in present and wanted(each.name)

    at_once = list(filter(entered, contestants()))
    scenarios = _together(effort, at_once, list(filter(entered, awaited())))
    scenarios |= _apart(effort, at_once)
    scenarios["accuracy"] = lambda: accuracy.judge(wanted, effort.seconds)
    for name, scenario in scenarios.items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        figures = scenario()
        results[name] = {each: got for each, got in figures.items() if "failed" not in got}
        results["failed"][name] = {
            each: got["failed"] for each, got in figures.items() if "failed" in got
        }
    return results


def _together(
    effort: Effort, at_once: list[Contestant], waiting: list[Contestant]
) -> dict[str, Scenario]:
    """What is timed in this process, everybody in turn."""
    return {
        "allowed": lambda: measure.allowed(at_once, effort.hot_rounds),
        "refused": lambda: measure.refused(at_once, effort.hot_rounds),
        "many": lambda: measure.many(at_once, effort.many_rounds, effort.many),
        "threads": lambda: measure.threads(at_once, effort.thread_rounds, THREADS),
        "async": lambda: measure.tasks(waiting, effort.task_rounds),
    }


def _apart(effort: Effort, at_once: list[Contestant]) -> dict[str, Scenario]:
    """What takes a process for each."""
    keyed = [each for each in at_once if each.keyed]
    largest = [each for each in keyed if each.name in MILLION]
    return {
        "million": lambda: {e.name: apart.footprint(e, effort.million) for e in largest},
        "alone": lambda: {e.name: apart.footprint(e, effort.many) for e in keyed},
        "interpreted": lambda: apart.interpreted(effort.hot_rounds),
    }


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
    parser.add_argument("--json", type=Path, default=RESULTS / "memory.json", metavar="PATH")
    parser.add_argument("--assert", action="store_true", help="exit with 1 if a target is missed")
    return parser.parse_args(arguments)


def _chosen(name: str, only: list[str]) -> bool:
    return not only or any(part in name for part in only)


if __name__ == "__main__":
    sys.exit(main())
