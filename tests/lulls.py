"""Moments in which the machine stood still.

It is not ours alone: its host takes a core away from it, or all of them, for some seconds. On each
core a process that does nothing but sleep runs along with the tests, and notes when it was not
woken in time. What else was late then would have been late whatever it did.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

# For how long a sleeper sleeps, in seconds: as a rule, and while somebody wants to know it exactly.
NAP, SHORT = 0.05, 0.001
# Told "+", it looks exactly; told "-", it does not any more; told nothing more, it ends.
SLEEPER = f"""
import os, select, sys, time
os.sched_setaffinity(0, [int(sys.argv[1])])
nap, last = {NAP}, time.perf_counter()
while True:
    heard = select.select([0], [], [], nap)[0]
    now = time.perf_counter()
    if now - last > 3 * nap:
        os.write(1, f"{{sys.argv[1]}} {{last + nap}} {{now}}\\n".encode())
    last = now
    word = os.read(0, 1) if heard else b" "
    if not word:
        break
    nap = {{b"+": {SHORT}, b"-": {NAP}}}.get(word, nap)
"""

# When something began, and when it ended.
Span = tuple[float, float]
sleepers: list[subprocess.Popen[bytes]] = []
# Where sleepers note things, once for however many test processes there are.
notes = Path(os.devnull)


def pytest_configure(config: Any) -> None:
    """Know where the sleepers of this run note things."""
    global notes  # noqa: PLW0603 - one run has one place
    if hasattr(config, "workerinput"):
        notes = Path(config.workerinput["lulls"])


def pytest_sessionstart(session: pytest.Session) -> None:
    """Send sleepers along."""
    global notes  # noqa: PLW0603
    if hasattr(session.config, "workerinput"):
        return
    page, name = tempfile.mkstemp(prefix="headgate-lulls-")
    notes = Path(name)
    os.close(page)
    with notes.open("ab") as paper:
        for core in sorted(os.sched_getaffinity(0)):
            command = [sys.executable, "-S", "-c", SLEEPER, str(core)]
            # A run that breaks off does not listen to it, and need not hear that either.
            quiet = subprocess.DEVNULL
            sleepers.append(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=paper, stderr=quiet)
            )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell each test process where things are noted."""
    node.workerinput["lulls"] = str(notes)


def pytest_unconfigure() -> None:
    """Send them home, and throw away what they noted."""
    if sleepers:
        for sleeper in sleepers:
            sleeper.communicate()
        sleepers.clear()
        notes.unlink(missing_ok=True)


def tell(word: bytes) -> None:
    """Say it to all sleepers."""
    for sleeper in sleepers:
        if sleeper.stdin is not None:
            sleeper.stdin.write(word)
            sleeper.stdin.flush()


def lulls() -> list[list[Span]]:
    """What was noted so far, for each core by itself."""
    found: dict[str, list[Span]] = {}
    for line in notes.read_text().splitlines():
        core, begin, end = line.split()
        found.setdefault(core, []).append((float(begin), float(end)))
    return list(found.values())


def slept(span: Span, core: list[Span]) -> float:
    """For how long the sleeper of one core was kept from waking in a span of time."""
    shared = (min(span[1], lull[1]) - max(span[0], lull[0]) for lull in core)
    return sum(length for length in shared if length > 0)


def longest(span: Span) -> float:
    """The same, for the core that it was worst for."""
    return max((slept(span, core) for core in lulls()), default=0.0)
