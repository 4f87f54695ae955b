"""Real servers as fixtures: started when the first test asks, one of each per test process.

Each is empty and in good order when a test gets it, whatever the test before has killed, paused or
moved. What it set by CONFIG or ACL stays: for that, start a `Server` of your own, it takes 50 ms.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TypeVar

import pytest

from tests.servers import secure
from tests.servers.binaries import Missing
from tests.servers.cluster import Cluster
from tests.servers.launch import Server
from tests.servers.promtool import Promtool
from tests.servers.proxy import Proxy
from tests.servers.sentinels import Sentinels

T = TypeVar("T")


@pytest.fixture
def valkey(valkey_process: Server) -> Server:
    """A Valkey."""
    valkey_process.heal()
    return valkey_process


@pytest.fixture
def redis_server(redis_process: Server) -> Server:
    """A Redis."""
    redis_process.heal()
    return redis_process


@pytest.fixture
def password_server(password_process: Server) -> Server:
    """A Valkey that knows `secure.OWNER` and `secure.GUEST`, and nobody else."""
    password_process.heal()
    return password_process


@pytest.fixture
def tls_server(tls_process: Server) -> Server:
    """A Redis that speaks TLS only; trust its `authority`."""
    tls_process.heal()
    return tls_process


@pytest.fixture
def cluster(cluster_processes: Cluster) -> Cluster:
    """Three primaries and a replica of each, in the same roles every time."""
    cluster_processes.heal()
    return cluster_processes


@pytest.fixture
def sentinels(sentinel_processes: Sentinels) -> Sentinels:
    """A primary, its replica and three sentinels, in the same roles every time."""
    sentinel_processes.heal()
    return sentinel_processes


@pytest.fixture
def proxy(valkey: Server) -> Iterator[Proxy]:
    """A proxy before the Valkey, as yet without a fault."""
    with Proxy(valkey.port) as proxy:
        yield proxy


@pytest.fixture(scope="session")
def promtool() -> Iterator[Promtool]:
    """Prometheus's checker."""
    yield from running(lambda: nullcontext(Promtool()))


@pytest.fixture(scope="session")
def valkey_process() -> Iterator[Server]:
    yield from running(lambda: Server("valkey"))


@pytest.fixture(scope="session")
def redis_process() -> Iterator[Server]:
    yield from running(lambda: Server("redis"))


@pytest.fixture(scope="session")
def password_process() -> Iterator[Server]:
    yield from running(secure.password_server)


@pytest.fixture(scope="session")
def tls_process() -> Iterator[Server]:
    yield from running(secure.tls_server)


@pytest.fixture(scope="session")
def cluster_processes() -> Iterator[Cluster]:
    yield from running(Cluster)


@pytest.fixture(scope="session")
def sentinel_processes() -> Iterator[Sentinels]:
    yield from running(Sentinels)


def running(make: Callable[[], AbstractContextManager[T]]) -> Iterator[T]:
    """What `make` makes, while the tests run; where it cannot be had, they are skipped.

    Continuous integration has everything, or else is set up wrongly: there they fail.
    """
    with ExitStack() as stack:
        try:
            thing = stack.enter_context(make())
        except Missing as missing:
            if os.environ.get("CI") == "true":
                pytest.fail(str(missing), pytrace=False)
            pytest.skip(str(missing))
        yield thing
