"""Benchmark of overload: an HTTP service at up to ten times what it can do, by who limits it.

Starts the service (service.py) on one core and its visitors (visitors.py) on another, measures
what the service can do, and then offers it a half, once, twice, five and ten times that. Good is an
answer within a second. After ten times its capacity the load falls to a half, and it is measured
how long it takes until nearly everybody is served again. Prints tables, writes
`results/overload.json`, and draws `docs/pictures/overload.svg` if it is told to with `--picture`.

Everybody has a slice in turn, each with a service of its own. Neighbours on the service's core take
from everybody's capacity; how much is read from the kernel, and goodput is judged as a part of what
the rest of the core could have done.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import overload_report
import report

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).parent
RESULTS = HERE / "results"
LIMITERS = ("none", "fixed 500", "fixed 2", "AIMD", "Vegas", "Gradient", "BBR")
# A request waits so long and then burns so much CPU; who has no answer within `PATIENCE` hangs up.
WAIT, COST, PATIENCE = 0.04, 0.008, 1.0
# So many at once keep the core busy, and nobody waits for long.
PLACES = 12
# After an overload, served again are so many of those who come, in every second from then on.
SERVED = 0.9
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Effort:
    """How many rounds, loads as multiples of the capacity, and seconds of each phase.

    Half the load to begin with, then the load, which is measured once it has settled; after the
    highest one half of it again.
    """

    rounds: int = 2
    loads: tuple[float, ...] = (0.5, 1, 2, 5, 10)
    warm: float = 3.0
    settle: float = 2.0
    measured: float = 5.0
    calm: float = 8.0
    limiters: tuple[str, ...] = field(default=LIMITERS)


FULL = Effort()
QUICK = Effort(1, (0.5, 5, 10), 2.0, 1.0, 2.0, 4.0, ("none", "BBR"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything; 0, or with `--assert` 1 if a target was missed."""
    options = _options(arguments)
    results = run(QUICK if options.quick else FULL, options.only)
    judged = overload_report.targets(results)
    results["targets"] = [asdict(target) for target in judged]
    for line in overload_report.tables(results, judged):
        print(line)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=2) + "\n")
    if options.picture:
        overload_report.draw(results, options.picture)
    missed = any(target.met is False for target in judged)
    return 1 if missed and vars(options)["assert"] else 0


def run(effort: Effort, only: list[str]) -> dict[str, Any]:
    """The capacity, and then everybody in turn at each load, round after round."""
    chosen = [name for name in effort.limiters if not only or any(part in name for part in only)]
    rate = max(capacity() for _ in range(3))
    results: dict[str, Any] = {
        "machine": report.machine(),
        "effort": asdict(effort),
        "service": {"wait": WAIT, "cost": COST, "patience": PATIENCE},
        "capacity": rate,
        "slices": {name: {str(load): [] for load in effort.loads} for name in chosen},
    }
    for number in range(effort.rounds):
        for load in effort.loads:
            for name in chosen:
                print(f"{number + 1}: {name} at {load:g} ...", file=sys.stderr, flush=True)
                taken = overloaded(name, rate, load, effort)
                results["slices"][name][str(load)].append(taken)
    results["figures"] = {
        name: {load: _middle(taken) for load, taken in loads.items()}
        for name, loads in results["slices"].items()
    }
    return results


def capacity() -> float:
    """Answers a second, as many at once as keep the core busy and no more."""
    told, _ = visited("none", [{"places": PLACES, "seconds": 3.0}])
    begin, end = told["marks"]
    begin += 1.0
    done = [due + took for due, _, took, status in told["rows"] if status == 200]
    return sum(begin <= moment < end for moment in done) / (end - begin)


def overloaded(name: str, rate: float, load: float, effort: Effort) -> dict[str, Any]:
    """One slice: let it settle, measure, and after the highest load measure how it recovers."""
    phases = [
        {"rate": rate / 2, "seconds": effort.warm},
        {"rate": rate * load, "seconds": effort.settle},
        {"rate": rate * load, "seconds": effort.measured},
    ]
    if load == max(effort.loads):
        phases.append({"rate": rate / 2, "seconds": effort.calm})
    start = effort.warm + effort.settle
    told, seen = visited(name, phases, (start, start + effort.measured))
    found = summary(told["rows"], seen, *told["marks"][2:4])
    if len(phases) > 3:
        found["recovery"] = recovery(told["rows"], *told["marks"][3:5])
    return found


def visited(
    name: str, phases: list[dict[str, float]], span: tuple[float, float] = (0.0, 0.0)
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What visitors saw of a service with that limiter, and what it saw itself."""
    cores = sorted(os.sched_getaffinity(0))
    core, other = cores[-1], cores[0]
    service = _start("service.py", limiter=name, wait=WAIT, cost=COST, core=core)
    try:
        port = int(service.stdout.readline())
        crowd = _start(
            "visitors.py", port=port, patience=PATIENCE, phases=phases, seed=1, core=other
        )
        shares = _watched(service.pid, core, crowd, span)
        told = json.loads(crowd.communicate()[0])
        seen = json.loads(service.communicate()[0])
    finally:
        service.kill()
        service.wait()
    return told, {**seen, **shares}


def _start(script: str, **told: Any) -> Any:
    return subprocess.Popen(
        [sys.executable, str(HERE / script), json.dumps(told)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _watched(pid: int, core: int, crowd: Any, span: tuple[float, float]) -> dict[str, float]:
    """What the service used of its core while it was measured, and what others left it."""
    if span[1] <= 0:
        return {}
    readings = []
    waited = 0.0
    for until in span:
        _sleep(crowd, until - waited)
        waited = until
        readings.append(_ticks(pid, core))
    (used, idle, total), (used_after, idle_after, total_after) = readings
    all_of_it = max(1, total_after - total)
    own = (used_after - used) / all_of_it
    free = (idle_after - idle) / all_of_it
    return {"used": own, "given": min(1.0, own + free)}


def _sleep(crowd: Any, seconds: float) -> None:
    try:
        crowd.wait(seconds)
    except subprocess.TimeoutExpired:
        return


def _ticks(pid: int, core: int) -> tuple[int, int, int]:
    """Ticks of the process, and of its core: idle, and all there were."""
    own = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    lines = Path("/proc/stat").read_text().splitlines()
    said = next(line for line in lines if line.startswith(f"cpu{core} ")).split()[1:9]
    counts = [int(word) for word in said]
    return int(own[11]) + int(own[12]), counts[3] + counts[4], sum(counts)


def summary(
    rows: list[list[float]], seen: dict[str, Any], start: float, end: float
) -> dict[str, Any]:
    """What came of those who came between two moments."""
    length = end - start
    came = [row for row in rows if start <= row[0] < end]
    good = sorted(took for _, _, took, status in came if status == 200 and took <= PATIENCE)
    refused = sorted(took for _, _, took, status in came if status == 503)
    inside = [each for moment, each, _ in seen["samples"] if start <= moment < end]
    limits = [limit for moment, _, limit in seen["samples"] if start <= moment < end]
    return {
        "offered": len(came) / length,
        "goodput": len(good) / length,
        "refused": len(refused) / length,
        # Of the core that was left to it, the part that went into good answers.
        "share": len(good) / length * COST / max(0.01, seen["given"]),
        "used": seen["used"],
        "given": seen["given"],
        "p50_ms": _part(good, 0.5) * 1000,
        "p99_ms": _part(good, 0.99) * 1000,
        "refusal_p50_ms": _part(refused, 0.5) * 1000,
        "refusal_p99_ms": _part(refused, 0.99) * 1000,
        "late_p99_ms": _part(sorted(late for _, late, _, _ in came), 0.99) * 1000,
        "inside": sum(inside) / max(1, len(inside)),
        "most_inside": max(inside, default=0),
        "limit": median(limits) if limits else 0,
    }


def recovery(rows: list[list[float]], start: float, end: float) -> float:
    """Seconds from when the load fell until nearly all who came in a second were served.

    All that there were, if it did not come to that.
    """
    step = 0.25
    windows = int((end - start - 1.0) / step)
    recovered = (end - start) / step
    for number in reversed(range(windows)):
        first = start + number * step
        came = [row for row in rows if first <= row[0] < first + 1.0]
        good = sum(1 for _, _, took, status in came if status == 200 and took <= PATIENCE)
        if good < SERVED * len(came):
            break
        recovered = number
    return recovered * step


def _part(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def _middle(taken: list[dict[str, Any]]) -> dict[str, Any]:
    """The median of the rounds, figure by figure."""
    return {key: median(each[key] for each in taken) for key in taken[0]}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smoke run of less than a minute")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="only limiters whose name contains NAME; may be given again",
    )
    parser.add_argument("--json", type=Path, default=RESULTS / "overload.json", metavar="PATH")
    parser.add_argument("--picture", type=Path, metavar="PATH", help="draw goodput and p99 there")
    parser.add_argument("--assert", action="store_true", help="exit with 1 if a target is missed")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
