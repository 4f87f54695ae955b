"""A service whose rules let five in a minute, for each key; and what tests of it lean on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.servers.binaries import program
from tests.servers.fixtures import running
from tests.service.resp.staging import RespServiceHost as Stage


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A service in memory, on a clock that stands still."""
    with Stage() as found:
        yield found


@pytest.fixture(scope="module")
def shared() -> Iterator[Stage]:
    """The same, for all tests of a module."""
    with Stage() as found:
        yield found


@pytest.fixture
def redis_cli() -> Iterator[Path]:
    """The program by which one speaks to a Redis."""
    yield from running(lambda: nullcontext(program("redis-cli", "apt-get install redis-tools")))
