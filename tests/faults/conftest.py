"""A bench, and callers on hire, who note how long their questions took."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.faults.caller import BUDGET, Caller
from tests.faults.scenes import OWNER, Bench
from tests.servers.fixtures import running
from tests.servers.launch import Server
from tests.servers.station import Station


@pytest.fixture(scope="session")
def bench_process() -> Iterator[Server]:
    yield from running(lambda: Server("valkey", "--requirepass", OWNER.password, login=OWNER))


@pytest.fixture(scope="session")
def bench_station(bench_process: Server) -> Iterator[Station]:
    with Station(bench_process.port) as station:
        yield station


@pytest.fixture
def bench(bench_process: Server, bench_station: Station) -> Bench:
    """A server that is nobody else's, so that its configuration may be changed, and its proxy."""
    bench_process.heal()
    bench_station.renew()
    return Bench(bench_process, bench_station)


@pytest.fixture
def hire(record_property: Callable[[str, Any], None]) -> Iterator[Callable[..., Caller]]:
    """Makes callers, sends them home after the test, and notes how long they had to wait."""
    callers: list[Caller] = []
    # The garbage of a whole test run takes longer to collect than a check may be late.
    gc.disable()
    with ExitStack() as stack:
        stack.callback(gc.enable)

        def made(*said: Any, **options: Any) -> Caller:
            callers.append(stack.enter_context(Caller(*said, **options)))
            return callers[-1]

        yield made
    usual = [caller for caller in callers if caller.budget == BUDGET]
    record_property("checks", [call.span for caller in usual for call in caller.history])
