"""Servers of both kinds."""

from __future__ import annotations

import pytest

from tests.servers.launch import Server


@pytest.fixture(params=["valkey", "redis_server"])
def server(request: pytest.FixtureRequest) -> Server:
    """A Valkey, then a Redis, empty."""
    found: Server = request.getfixturevalue(request.param)
    return found
