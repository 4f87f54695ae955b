"""Run the soak, the long form of the tests, and name everything that failed.

    python tools/soak.py --jobs 2                 every part, at ten times the length
    python tools/soak.py --part gateway           one part
    python tools/soak.py --sample --seed 7        a seeded sample of it, within 40 seconds

The parts run one after another, and a failure in one does not keep the next from running. Each
has a limit of minutes, after which it is stopped and counts as failed; together they take at most
an hour. The records (JUnit XML) of the whole soak are kept in build/soak, and the page
docs/benchmarks/reliability.md is written from them if every part ran to its end.

The sample (tests/soak_sample.py) shows that the soak still works, as part of `make test`.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import report
from cases import read_outcome

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "build" / "soak"
GATEWAY = "tests/realtime/test_gateway*"
SLOWEST = 30
# A stopped part has so many seconds to end its servers and to write its record.
GRACE = 30.0
# The scale of the sample: the smallest that chooses the settings of the soak.
SAMPLE_SCALE = 2
# No test of the sample begins after the first, takes longer than the second, and the sample as a
# whole is stopped after the third, all in seconds.
SAMPLE_BUDGET, SAMPLE_TEST, SAMPLE_LIMIT = 8, 15, 36


class Part(NamedTuple):
    """A part of the soak: what pytest is told, and after how many minutes it is stopped."""

    name: str
    arguments: tuple[str, ...]
    minutes: float


class Case(NamedTuple):
    """One test of a record: its node id, whether it failed, and how many seconds it took."""

    node: str
    failed: bool
    seconds: float


class Outcome(NamedTuple):
    """How one part ended: its cases, and what went wrong with the part as a whole, if anything."""

    part: Part
    cases: list[Case]
    seconds: float
    trouble: str


def parts(jobs: int) -> tuple[Part, ...]:
    """The parts of the soak, in order. Gateways are measured, so those tests run alone."""
    shared = ("-n", str(jobs))
    return (
        Part(
            "long",
            (*shared, "--dist", "worksteal", "-m", "not realtime and not serial",
             "--timeout", "900"),
            40,
        ),
        Part(
            "realtime",
            (*shared, "-m", "realtime", "--timeout", "600", "--ignore-glob", GATEWAY),
            10,
        ),
        Part(
            "gateway",
            ("-n", "0", "-m", "realtime or serial", "--timeout", "600",
             *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(GATEWAY))),
            10,
        ),
    )  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for; 1 if anything failed."""
    known = [part.name for part in parts(1)]
    parser = argparse.ArgumentParser(description="Run the soak, or a sample of it.")
    parser.add_argument("--jobs", type=int, default=2, help="test processes (default 2)")
    parser.add_argument("--scale", type=int, default=10, help="how many times as long (default 10)")
    parser.add_argument("--part", action="append", choices=known, help="only this part")
    parser.add_argument("--sample", action="store_true", help="a sample, within 40 seconds")
    parser.add_argument("--seed", type=int, default=1, help="chooses the sample (default 1)")
    asked = parser.parse_args(arguments)
    if asked.sample:
        return run_sample(asked.seed)
    chosen = [part for part in parts(asked.jobs) if part.name in (asked.part or known)]
    outcomes = run_soak(chosen, asked.scale, RECORDS)
    print("\n".join(summarize(outcomes)))
    if len(chosen) == len(known) and not any(outcome.trouble for outcome in outcomes):
        report.main(["soak", str(RECORDS)])
    else:
        print("docs/benchmarks/reliability.md stays as it is: not every part ran to its end")
    return int(has_failed(outcomes))


def run_soak(chosen: Sequence[Part], scale: int, records: Path) -> list[Outcome]:
    """Run the parts, each whatever became of those before it."""
    records.mkdir(parents=True, exist_ok=True)
    for part in chosen:
        (records / f"{part.name}.xml").unlink(missing_ok=True)
    return [run_part(part, scale, records / f"{part.name}.xml") for part in chosen]


def run_part(part: Part, scale: int, path: Path) -> Outcome:
    """Run one part to its end, or stop it when its time is over."""
    print(f"\n--- soak, part {part.name}, at {scale} times the length", flush=True)
    begin = time.monotonic()
    code = run_tests((*part.arguments, f"--junitxml={path}"), scale, part.minutes * 60)
    cases = [*read_cases(path)] if path.exists() else []
    return Outcome(part, cases, time.monotonic() - begin, find_trouble(part, code, cases))


def find_trouble(part: Part, code: int | None, cases: Sequence[Case]) -> str:
    """What went wrong apart from tests that failed, or the empty string."""
    if code is None:
        return f"stopped after {part.minutes:g} minutes"
    if not cases:
        return f"no test was recorded (pytest ended with {code})"
    failed = any(case.failed for case in cases)
    if code != 0 and not (code == 1 and failed):
        return f"pytest ended with {code}"
    return ""


def run_tests(
    arguments: Sequence[str], scale: int, limit: float, grace: float = GRACE
) -> int | None:
    """The exit code of pytest under the settings of the soak; None if `limit` seconds were over."""
    command = [sys.executable, "-m", "pytest", *arguments]
    environment = {**os.environ, "HEADGATE_SOAK": str(scale)}
    environment.pop("HEADGATE_BRIEF", None)
    # A session of its own, so that everything that it started can be ended with it.
    running = subprocess.Popen(  # noqa: S603
        command, cwd=ROOT, env=environment, start_new_session=True
    )
    try:
        return running.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if running.poll() is None:
            stop(running, grace)


def stop(running: subprocess.Popen[bytes], grace: float) -> None:
    """Interrupt pytest, which then ends its servers, and kill what is left of it."""
    running.send_signal(signal.SIGINT)
    try:
        running.wait(grace)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of a record, which one of our own test runs wrote."""
    for one in ElementTree.parse(path).iter("testcase"):  # noqa: S314
        node = node_id(one.get("classname", ""), one.get("name", ""))
        yield Case(node, read_outcome(one) == "failed", float(one.get("time", "0")))


def node_id(classname: str, name: str) -> str:
    """A test as pytest takes it on the command line, from the names in a record."""
    words = classname.split(".")
    for end in range(len(words), 0, -1):
        path = "/".join(words[:end]) + ".py"
        if (ROOT / path).exists():
            return "::".join([path, *words[end:], name])
    return f"{classname} {name}".strip()


def has_failed(outcomes: Sequence[Outcome]) -> bool:
    return any(outcome.trouble or failures(outcome) for outcome in outcomes)


def failures(outcome: Outcome) -> list[str]:
    """The node ids of what failed; a test that fails twice, such as at its end, is named once."""
    return [*dict.fromkeys(case.node for case in outcome.cases if case.failed)]


def summarize(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The slowest tests, the time of each part, and everything that failed."""
    cases = sorted((case for one in outcomes for case in one.cases), key=lambda case: -case.seconds)
    yield f"\n--- the slowest {min(SLOWEST, len(cases))} tests"
    yield from (f"{case.seconds:8.1f} s  {case.node}" for case in cases[:SLOWEST])
    yield "\n--- the parts"
    for one in outcomes:
        failed = len(failures(one))
        told = f"{len(one.cases):,} tests, {failed} failed"
        yield f"{one.seconds / 60:6.1f} min  {one.part.name}: {one.trouble or told}"
    failed_nodes = [node for one in outcomes for node in failures(one)]
    troubles = [f"part {one.part.name}: {one.trouble}" for one in outcomes if one.trouble]
    yield "\n--- failed" if failed_nodes or troubles else "\nnothing failed"
    yield from failed_nodes
    yield from troubles


def run_sample(seed: int) -> int:
    """Play a sample of the soak, and say with which seed."""
    arguments = (
        "-p", "tests.soak_sample", "-m", "", "-n", "0", "-q", "--sample-seed", str(seed),
        "--sample-budget", str(SAMPLE_BUDGET), "--timeout", str(SAMPLE_TEST),
    )  # fmt: skip
    code = run_tests(arguments, SAMPLE_SCALE, SAMPLE_LIMIT, grace=3.0)
    if code is None:
        print(f"the soak sample of seed {seed} did not end within {SAMPLE_LIMIT} s")
    elif code:
        print(f"the soak sample failed; again: python tools/soak.py --sample --seed {seed}")
    return int(code != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
