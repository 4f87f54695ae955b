"""Servers behind a gateway: one that a test speaks for, real ones that keep a book of visits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.answering import Answering
from tests.gateway.asking import WAITS
from tests.gateway.backing import Backing
from tests.gateway.staging import Stage, plan
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


@pytest.fixture
def server() -> Iterator[Backing]:
    """A server that says what the test says."""
    with Backing() as backing:
        yield backing


@pytest.fixture
def stage(server: Backing) -> Iterator[Stage]:
    """A gateway before it."""
    with Stage(plan(server.url)) as stage:
        yield stage


@pytest.fixture(scope="module")
def service() -> Iterator[Answering]:
    """A server that answers by itself."""
    with Answering() as answering:
        yield answering


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Stage, Backing]]:
    """A gateway and its server, for many tests of one fault each: nothing is done about many."""
    with Backing() as backing:
        rules = plan(backing.url, upstream={"breaker": False}, timeouts=WAITS)
        with Stage(rules) as stage:
            yield stage, backing
