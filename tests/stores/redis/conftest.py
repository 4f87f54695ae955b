"""Servers of both kinds."""

from __future__ import annotations

import pytest

from tests.conftest import BRIEF
from tests.servers.launch import Server

# What kind of server it is, is nothing to the form: the second one asks one kind.
KINDS = ["valkey"] if BRIEF else ["valkey", "redis_server"]


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest) -> Server:
    """A Valkey, then a Redis, empty."""
    found: Server = request.getfixturevalue(request.param)
    return found
