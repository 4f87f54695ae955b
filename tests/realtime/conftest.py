"""What was measured is said at the end, whether it was enough or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Figures = Callable[..., None]
said: list[str] = []


@pytest.fixture
def figures(record_property: Callable[[str, object], None]) -> Figures:
    """Have something said of this test: `figures(goodput=0.97)`. Call it before what may fail."""

    def note(**found: float) -> None:
        words = (f"{name.replace('_', ' ')} {short(value)}" for name, value in found.items())
        record_property("figures", ", ".join(words))

    return note


def short(value: float) -> str:
    """A number as people say it."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect it, from wherever the test ran."""
    if report.when == "teardown":
        name = report.nodeid.rpartition("::")[2]
        said.extend(f"{name}: {value}" for key, value in report.user_properties if key == "figures")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say it."""
    for line in said:
        terminalreporter.write_line(line)
