"""Marks failures of tests during which the machine stood still, so that they are run again.

Such a failure says nothing about the code: a server answers late, a deadline passes, a cluster
takes a node for dead. pytest-rerunfailures runs a test again, twice at most, if its exception was
caused by `MachineStalled` (`reruns` and `only_rerun` in pyproject.toml). Every other failure is
final at once, and so is the crash of a test process.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import pytest

from tests import stalls

# Seconds for which a core must have stood still.
MIN_STALL = 0.2
STARTED = pytest.StashKey[float]()


class MachineStalled(Exception):
    """A core stood still while the test ran."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Notes when an attempt starts, and drops the properties of the one before."""
    item.stash[STARTED] = time.perf_counter()
    item.user_properties.clear()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Marks the exception of a failure, before pytest-rerunfailures looks at it."""
    report = yield
    if report.failed and call.excinfo is not None:
        span = item.stash[STARTED], time.perf_counter()
        # A monitor that was kept from waking logs it when it wakes.
        time.sleep(2 * stalls.NAP)
        seconds = stalls.measure_stall(span)
        if seconds >= MIN_STALL:
            error, stalled = call.excinfo.value, MachineStalled(f"for {seconds:.1f} s")
            stalled.__cause__ = error.__cause__
            error.__cause__ = stalled
            report.sections.append(("machine stall", f"a core stood still {stalled}"))
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Lists the attempts that were repeated, and why."""
    reports = terminalreporter.stats.get("rerun", [])
    if reports:
        terminalreporter.section("run again, since the machine stood still")
    for report in reports:
        stall = dict(report.sections).get("machine stall", "")
        terminalreporter.write_line(f"{report.nodeid}: {stall}: {describe(report)}")


def describe(report: pytest.TestReport) -> str:
    """The failure in one line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash else report.longrepr).partition("\n")[0]
