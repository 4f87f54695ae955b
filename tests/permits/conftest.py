"""Servers of both kinds, and every method in both colours."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from headgate import ManualClock
from headgate.permits.redis.methods import METHODS
from tests.permits.holders import COLOURS, Holder
from tests.servers.launch import Server


@pytest.fixture(params=["valkey", "redis_server"])
def server(request: pytest.FixtureRequest) -> Server:
    """A Valkey, then a Redis, empty."""
    found: Server = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=list(METHODS))
def method(request: pytest.FixtureRequest) -> str:
    """Each way to count."""
    return str(request.param)


@pytest.fixture(params=COLOURS)
def colour(request: pytest.FixtureRequest) -> str:
    """Each way to wait."""
    return str(request.param)


@pytest.fixture
def begun(clock: ManualClock) -> ManualClock:
    """A clock that stands in the middle of something: no window and no ttl begins there."""
    clock.set(1_000_003.25)
    return clock


@pytest.fixture
def hire(
    server: Server, method: str, colour: str, begun: ManualClock
) -> Iterator[Callable[..., Holder]]:
    """Makes holders on the server, as processes would: with nothing in common but the server."""
    with ExitStack() as stack:

        def make(limit: int, **options: Any) -> Holder:
            options = {"method": method, "colour": colour, "clock": begun, **options}
            return stack.enter_context(Holder(server.url, limit, **options))

        yield make


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """The warnings of the log so far."""
    caplog.set_level(logging.WARNING, "headgate")
    return lambda: [record.getMessage() for record in caplog.records]
