"""What it costs a decision to be counted: the commonest way in, under this version and another.

    python benchmarks/telemetry.py --against /path/to/python
    python benchmarks/telemetry.py --against /path/to/python --instructions

The other interpreter has a version installed that counts less, such as the one before telemetry.
The two take turns in processes of their own, so that whatever else the machine does happens to
both. Told are nanoseconds of a decision, of the wall and of the CPU: of each process the least of
five times, of all rounds the median, and of what one took more than the other in the same round
the median and the spread. Without `--against` only this version is measured.

Where other work shares the machine, `instructions.py` counts machine instructions instead; with
`--python` for the other interpreter, and `--compare` for both.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from itertools import cycle, islice

KEYS = 100_000
SCENES = {
    "allowed, hot key": ("1000000000/s", 1),
    "allowed, many keys": ("1000000000/s", KEYS),
    "refused, hot key": ("1/day", 1),
    "refused, many keys": ("1/day", KEYS),
}


def measure() -> dict[str, tuple[float, float]]:
    """Nanoseconds of wall and CPU for each scene."""
    return {scene: run(*prepare(scene)) for scene in SCENES}


def prepare(scene):
    """A limiter that has met all its keys, and those it is to be asked about."""
    from headgate.rules import Gatekeeper, Rule, Rules

    limit, several = SCENES[scene]
    found = [f"203.0.{number >> 8 & 255}.{number & 255}/{number}" for number in range(several)]
    keeper = Gatekeeper(Rules([Rule("api", key="client.ip", limit=limit)]))
    weigh = keeper.lodge.book.rulings[0].turnstile.weigh
    for key in islice(cycle(found), KEYS):
        weigh(key, None)
    return weigh, [*islice(cycle(found), KEYS)]


def run(weigh, keys) -> tuple[float, float]:
    """Nanoseconds of one call."""
    best = [float("inf")] * 2
    for _ in range(5):
        wall, cpu = time.perf_counter_ns(), time.process_time_ns()
        for key in keys:
            weigh(key, None)
        spent = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
        best = [min(one, two / len(keys)) for one, two in zip(best, spent, strict=True)]
    return best[0], best[1]


def ask(python: str) -> dict[str, list[float]]:
    """The same of another interpreter."""
    line = [python, __file__, "--one"]
    return json.loads(subprocess.run(line, capture_output=True, check=True, text=True).stdout)


def compare(pythons: list[str], times: int) -> None:
    """Print how long a decision takes, and how much longer than under the other."""
    rounds = [[ask(python) for python in pythons] for _ in range(times)]
    for scene in rounds[0][-1]:
        now = [told[-1][scene] for told in rounds]
        wall, cpu = (statistics.median(column) for column in zip(*now, strict=True))
        line = f"{scene:24} {wall:7.0f} ns wall {cpu:7.0f} ns CPU"
        if len(pythons) > 1:
            was = statistics.median(told[0][scene][1] for told in rounds)
            more = sorted(told[1][scene][1] - told[0][scene][1] for told in rounds)
            line += f"   before {was:7.0f}   more {statistics.median(more):+6.0f} ns"
            line += f" ({more[0]:+.0f} to {more[-1]:+.0f})"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", default="")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.one:
        print(json.dumps(measure()))
        return
    pythons = [one for one in (said.against, sys.executable) if one]
    compare(pythons, said.rounds)


if __name__ == "__main__":
    main()
