"""Ends a run of tests in time: none begins after a moment, and those that did not are counted.

python -m pytest -p tests.time_box --time-box-until 1760000000.0
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest

OVER = "the time box is over"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("time box").addoption(
        "--time-box-until", type=float, default=float("inf"), help="seconds since 1970"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave the test out if it would begin too late."""
    if time.time() > item.config.getoption("--time-box-until"):
        pytest.skip(OVER)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many tests of which modules were left out."""
    skipped = terminalreporter.stats.get("skipped", [])
    modules = Counter(
        report.nodeid.partition("::")[0] for report in skipped if OVER in str(report.longrepr)
    )
    for module, count in modules.items():
        terminalreporter.write_line(f"left out for lack of time: {count} tests of {module}")
