"""A service whose rules let five in a minute, for each key; and what tests of it lean on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.servers.binaries import Missing
from tests.servers.fixtures import running
from tests.service.resp.staging import Stage


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
def redis_cli() -> Iterator[str]:
    """The program by which one speaks to a Redis."""
    yield from running(program)


@contextmanager
def program() -> Iterator[str]:
    found = shutil.which("redis-cli")
    if found is None:
        raise Missing("no redis-cli here; apt-get install redis-tools")
    yield found
