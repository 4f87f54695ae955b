"""Servers of both kinds, and all the time they need."""

from __future__ import annotations

import pytest

from headgate.rules.watch import sources
from tests.servers.launch import Server


@pytest.fixture(params=["valkey", "redis_server"])
def server(request: pytest.FixtureRequest) -> Server:
    """A Valkey, then a Redis, empty."""
    found: Server = request.getfixturevalue(request.param)
    return found


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here is about a server that is slow, and a busy machine may stand still a while."""
    monkeypatch.setattr(sources, "READING", 60.0)
    monkeypatch.setattr(sources, "POSTING", 60.0)
