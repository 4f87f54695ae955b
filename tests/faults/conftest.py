"""A bench, callers on hire, and how long their questions took, summed up at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.faults.caller import BUDGET, Caller
from tests.faults.scenes import OWNER, Bench
from tests.servers.fixtures import running
from tests.servers.launch import Server
from tests.servers.proxy import Proxy

# Every check is to be over within its budget and so many seconds.
GRACE = 0.01

checks: list[float] = []


@pytest.fixture(scope="session")
def bench_process() -> Iterator[Server]:
    yield from running(lambda: Server("valkey", "--requirepass", OWNER.password, login=OWNER))


@pytest.fixture
def bench(bench_process: Server) -> Iterator[Bench]:
    """A server that is nobody else's, so that its configuration may be changed, and its proxy."""
    bench_process.heal()
    with Proxy(bench_process.port) as proxy:
        yield Bench(bench_process, proxy)


@pytest.fixture
def hire(record_property: Callable[[str, Any], None]) -> Iterator[Callable[..., Caller]]:
    """Makes callers, sends them home after the test, and notes how long they had to wait."""
    callers: list[Caller] = []
    with ExitStack() as stack:

        def made(*said: Any, **options: Any) -> Caller:
            callers.append(stack.enter_context(Caller(*said, **options)))
            return callers[-1]

        yield made
    usual = [caller for caller in callers if caller.budget == BUDGET]
    record_property("checks", [call.seconds for caller in usual for call in caller.history])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect what was noted, from wherever the test ran."""
    if report.when == "teardown":
        for name, value in report.user_properties:
            if name == "checks" and isinstance(value, list):
                checks.extend(value)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many checks kept to their budget; the machine is not ours alone, so none must."""
    if checks:
        within = sum(seconds <= BUDGET + GRACE for seconds in checks)
        terminalreporter.write_line(
            f"fault checks: {within:,} of {len(checks):,} within {BUDGET + GRACE:g} s "
            f"({within / len(checks):.2%}), the slowest {max(checks):.3f} s"
        )
