"""Tests that failed while the machine stood still are played again.

Such a failure says nothing, whatever it is about: a server that answers late, a deadline that has
passed, a node that is held for failed. It is played again, twice at most, and the run tells of it
at its end. Whoever fails while the machine is awake has failed, and so has who fails three times.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests import lulls

TRIES = 3
# For so many seconds a core must have stood still.
STILL = 0.2
ENCORE = "played again"
told: list[str] = []


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Play a test, and again where the machine stood still."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for rest in reversed(range(TRIES)):
        begin = time.perf_counter()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        failed = [report for report in reports if report.failed]
        still = stood(begin) if failed and rest else 0.0
        if still < STILL:
            break
        forget(item)
        item.user_properties.append((ENCORE, f"{item.nodeid}: {still:.1f} s: {why(failed[0])}"))
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def stood(begin: float) -> float:
    """For how long the machine stood still since then."""
    end = time.perf_counter()
    # Who was kept from waking is the last to say so.
    time.sleep(2 * lulls.NAP)
    return lulls.longest((begin, end))


def forget(item: pytest.Item) -> None:
    """Have fixtures made anew that could not be made: those of a whole run are kept as they are."""
    known: dict[str, Any] = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009
    for fixtures in known.values():
        for fixture in fixtures:
            if fixture.cached_result is not None and fixture.cached_result[2] is not None:
                fixture.finish(getattr(item, "_request", None))


def why(report: pytest.TestReport) -> str:
    """What was wrong, in a line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash else report.longrepr).partition("\n")[0]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect what was played again, from wherever it was."""
    if report.when == "teardown":
        told.extend(str(value) for name, value in report.user_properties if name == ENCORE)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tell of it."""
    if told:
        terminalreporter.section("played again, since the machine stood still")
        for line in told:
            terminalreporter.write_line(line)
