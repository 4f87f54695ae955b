"""How long checks took under faults, summed up at the end, and how late the machine itself is.

The machine is not ours alone, so nothing is asserted of it. A process that does nothing but sleep
runs along: as late as that one was, so late may anybody be.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tests.faults.caller import BUDGET

# Every check is to be over within its budget and so many seconds.
GRACE = 0.01
SLEEPER = f"""
import select, sys, time
late, last = [], time.perf_counter()
while not select.select([sys.stdin], [], [], 0.001)[0]:
    now = time.perf_counter()
    late.append(now - last - 0.001)
    last = now
print(sum(one > {GRACE} for one in late), max(late, default=0.0))
"""

checks: list[float] = []
sleepers: list[subprocess.Popen[str]] = []


def pytest_sessionstart(session: pytest.Session) -> None:
    """Send a sleeper along, once however many test processes there are."""
    if not hasattr(session.config, "workerinput"):
        pipe = subprocess.PIPE
        command = [sys.executable, "-S", "-c", SLEEPER]
        sleepers.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect what was noted, from wherever the test ran."""
    if report.when == "teardown":
        for name, value in report.user_properties:
            if name == "checks" and isinstance(value, list):
                checks.extend(value)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many checks kept to their budget, and how late the sleeper was."""
    for sleeper in sleepers:
        stalls, worst = sleeper.communicate()[0].split()
        if checks:
            within = sum(seconds <= BUDGET + GRACE for seconds in checks)
            terminalreporter.write_line(
                f"fault checks: {within:,} of {len(checks):,} within {BUDGET + GRACE:g} s "
                f"({within / len(checks):.2%}), the slowest {max(checks):.3f} s; a mere sleeper "
                f"was over {GRACE:g} s late {stalls} times, at worst {float(worst):.3f} s"
            )
