"""How long checks took under faults, summed up at the end, and what of it was the machine's doing.

The machine is not ours alone, so nothing is asserted. On each core a process that does nothing but
sleep runs along with these tests, and notes when it was not woken in time. A check that took too
long, in a time at which a mere sleeper was woken too late by as much, would have been late whatever
it did.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.faults.caller import BUDGET

# Every check is to be over within its budget and so many seconds.
GRACE = 0.01
NAP = 0.001
SLEEPER = f"""
import json, os, select, sys, time
os.sched_setaffinity(0, [int(sys.argv[1])])
stalls, last = [], 0.0
# Told "+", it is woken again and again; told "-", only when it is told something else.
nap = None
while True:
    heard = select.select([0], [], [], nap)[0]
    now = time.perf_counter()
    if nap and now - last > 3 * nap:
        stalls.append((last + nap, now))
    last = now
    word = os.read(0, 1) if heard else b""
    if heard and not word:
        break
    if heard:
        nap = {NAP} if word == b"+" else None
print(json.dumps(stalls))
"""
HERE = "tests/faults/"

# A check, or a stall of a sleeper: when it began, and when it ended.
Span = tuple[float, float]
checks: list[Span] = []
sleepers: list[subprocess.Popen[str]] = []
# The tests of this folder that run now.
running: set[str] = set()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Send sleepers along, once however many test processes there are."""
    if not hasattr(session.config, "workerinput"):
        pipe = subprocess.PIPE
        for core in sorted(os.sched_getaffinity(0)):
            command = [sys.executable, "-S", "-c", SLEEPER, str(core)]
            # A run that breaks off does not listen to it, and need not hear that either.
            quiet = subprocess.DEVNULL
            sleepers.append(
                subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=quiet, text=True)
            )


def pytest_runtest_logstart(nodeid: str) -> None:
    """Have the sleepers woken where one of these tests begins."""
    if nodeid.startswith(HERE):
        running.add(nodeid)
        tell("+")


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Let them rest while others run: to wake a thousand times a second takes time of theirs."""
    running.discard(nodeid)
    if nodeid.startswith(HERE) and not running:
        tell("-")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect what was noted, from wherever the test ran."""
    if report.when == "teardown":
        for name, value in report.user_properties:
            if name == "checks" and isinstance(value, list):
                checks.extend(value)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many checks kept to their budget, and how many of the others nothing excuses."""
    cores = [json.loads(sleeper.communicate()[0]) for sleeper in sleepers]
    late = [span for span in checks if over(span) > 0]
    total = len(checks)
    if not total:
        return
    guilty = [over(span) for span in late if over(span) > max(excuse(span, core) for core in cores)]
    terminalreporter.write_line(
        f"fault checks: {total - len(late):,} of {total:,} within {BUDGET + GRACE:g} s; of the "
        f"{len(late)} others {len(late) - len(guilty)} were no later than a mere sleeper then, "
        f"{len(guilty)} were, by {max(guilty, default=0.0) * 1000:.0f} ms at most"
    )


def tell(word: str) -> None:
    """Say it to all sleepers."""
    for sleeper in sleepers:
        if sleeper.stdin is not None:
            sleeper.stdin.write(word)
            sleeper.stdin.flush()


def over(span: Span) -> float:
    """By how much a check was late."""
    return span[1] - span[0] - BUDGET - GRACE


def excuse(span: Span, stalls: list[Span]) -> float:
    """For how long the sleeper of one core was kept from waking while a check lasted."""
    shared = (min(span[1], stall[1]) - max(span[0], stall[0]) for stall in stalls)
    return sum(length for length in shared if length > 0)
