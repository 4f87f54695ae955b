"""Upstreams that keep a book of their visits: real servers, one of each per test process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.asgi import Uvicorn
from tests.servers.fixtures import running
from tests.servers.nginx import Nginx


@pytest.fixture(scope="session")
def uvicorn_h11() -> Iterator[Uvicorn]:
    """A uvicorn that reads with h11."""
    yield from running(lambda: Uvicorn("h11"))


@pytest.fixture(scope="session")
def uvicorn_httptools() -> Iterator[Uvicorn]:
    """A uvicorn that reads with httptools."""
    yield from running(lambda: Uvicorn("httptools"))


@pytest.fixture(scope="session")
def nginx() -> Iterator[Nginx]:
    """An nginx."""
    yield from running(Nginx)
