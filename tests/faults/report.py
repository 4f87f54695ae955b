"""How long checks took under faults, summed up at the end, and what of it was the machine's doing.

The machine is not ours alone, so nothing is asserted. A check that took too long, in a time at
which a mere sleeper (tests/stalls.py) was woken too late by as much, would have been late whatever
it did.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.faults.caller import BUDGET
from tests.stalls import Span, measure_stall, use_short_naps, use_usual_naps

# Every check is to be over within its budget and so many seconds.
GRACE = 0.01
HERE = "tests/faults/"

checks: list[Span] = []
# The tests of this folder that run now.
running: set[str] = set()


def pytest_runtest_logstart(nodeid: str) -> None:
    """Have the sleepers woken where one of these tests begins."""
    if nodeid.startswith(HERE):
        running.add(nodeid)
        use_short_naps()


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Let them rest while others run: to wake a thousand times a second takes time of theirs."""
    running.discard(nodeid)
    if nodeid.startswith(HERE) and not running:
        use_usual_naps()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect what was noted, from wherever the test ran."""
    if report.when == "teardown":
        for name, value in report.user_properties:
            if name == "checks" and isinstance(value, list):
                checks.extend(value)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many checks kept to their budget, and how many of the others nothing excuses."""
    late = [span for span in checks if over(span) > 0]
    total = len(checks)
    if not total:
        return
    guilty = [over(span) for span in late if over(span) > measure_stall(span)]
    terminalreporter.write_line(
        f"fault checks: {total - len(late):,} of {total:,} within {BUDGET + GRACE:g} s; of the "
        f"{len(late)} others {len(late) - len(guilty)} were no later than a mere sleeper then, "
        f"{len(guilty)} were, by {max(guilty, default=0.0) * 1000:.0f} ms at most"
    )


def over(span: Span) -> float:
    """By how much a check was late."""
    return span[1] - span[0] - BUDGET - GRACE
