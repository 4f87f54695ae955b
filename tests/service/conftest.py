"""Towns: a store of each kind, and a teller at each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.counters import Town, remove, shared
from tests.stores.crew import Crew

KINDS = ("memory", "shared", "valkey", "redis_server")


@pytest.fixture(params=KINDS)
def town(request: pytest.FixtureRequest) -> Iterator[Town]:
    """A town with a store of each kind, one after another."""
    kind = request.param
    if kind == "memory":
        url = "memory://"
    elif kind == "shared":
        url = shared()
    else:
        url = request.getfixturevalue(kind).patient
    yield Town(url)
    remove(url)


@pytest.fixture(params=KINDS[1:])
def fleet(request: pytest.FixtureRequest) -> Iterator[Town]:
    """A town whose store several workers share."""
    kind = request.param
    url = shared() if kind == "shared" else request.getfixturevalue(kind).patient
    yield Town(url)
    remove(url)


@pytest.fixture(scope="session")
def clerk_processes() -> Iterator[Crew]:
    with Crew(2, Path(__file__).with_name("clerk.py")) as crew:
        yield crew


@pytest.fixture
def clerks(clerk_processes: Crew) -> Iterator[Crew]:
    """Two workers that a test has to `open`; they let go of the store after it."""
    yield clerk_processes
    clerk_processes.ask("close")
