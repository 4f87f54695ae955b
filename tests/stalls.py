"""Measures how long each core of the machine stood still while the tests ran.

A shared host takes one core or all of them away for seconds. On each core a process sleeps and logs
every time it was woken too late. Anything else that was due on that core was late as well.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

# Seconds between two looks at the clock: usually, and while stalls of milliseconds matter.
NAP, SHORT_NAP = 0.05, 0.001
# Ends with its standard input, where it also reads "+" for short naps and "-" for usual ones.
MONITOR = f"""
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
    nap = {{b"+": {SHORT_NAP}, b"-": {NAP}}}.get(word, nap)
"""

# Start and end, as time.perf_counter() tells them.
Span = tuple[float, float]
monitors: list[subprocess.Popen[bytes]] = []
# The monitors of a run write to one file, which all its test processes read.
log_path = Path(os.devnull)


def pytest_configure(config: Any) -> None:
    """Takes the path of the log from the process that started the monitors."""
    global log_path  # noqa: PLW0603 - one run has one log
    if hasattr(config, "workerinput"):
        log_path = Path(config.workerinput["stall_log"])


def pytest_sessionstart(session: pytest.Session) -> None:
    """Starts a monitor on each core, once for all test processes."""
    global log_path  # noqa: PLW0603
    if hasattr(session.config, "workerinput"):
        return
    number, name = tempfile.mkstemp(prefix="headgate-stalls-")
    log_path = Path(name)
    with os.fdopen(number, "ab") as log:
        for core in sorted(os.sched_getaffinity(0)):
            command = [sys.executable, "-S", "-c", MONITOR, str(core)]
            # Nothing reads the traceback of a monitor that is interrupted with the run.
            quiet = subprocess.DEVNULL
            monitors.append(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=quiet)
            )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells a test process the path of the log."""
    node.workerinput["stall_log"] = str(log_path)


def pytest_unconfigure() -> None:
    """Ends the monitors and removes the log."""
    if monitors:
        for monitor in monitors:
            monitor.communicate()
        monitors.clear()
        log_path.unlink(missing_ok=True)


def use_short_naps() -> None:
    """Measures stalls of milliseconds from now on, which costs CPU time."""
    send(b"+")


def use_usual_naps() -> None:
    send(b"-")


def send(word: bytes) -> None:
    for monitor in monitors:
        if monitor.stdin is not None:
            monitor.stdin.write(word)
            monitor.stdin.flush()


def measure_stall(span: Span) -> float:
    """For how many seconds of a span the core stood still that stood still longest."""
    seconds: dict[str, float] = {}
    for line in log_path.read_text().splitlines():
        core, start, end = line.split()
        overlap = min(span[1], float(end)) - max(span[0], float(start))
        seconds[core] = seconds.get(core, 0.0) + max(overlap, 0.0)
    return max(seconds.values(), default=0.0)
