"""Files: a worker that may open too few says so, once, when it starts."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

from headgate.workers.files import shortage
from tests.workers.conftest import rules
from tests.workers.process import Process
from tests.workers.service import Service

FEW = """\
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (1000, 1000))
os.execv(sys.executable, [sys.executable, "-m", "headgate.cli", *sys.argv[1:]])
"""


def test_all_workers_together_say_once_that_they_may_open_too_few(service: Service) -> None:
    with Process(rules(service, 2), start=("-c", FEW)) as process:
        said = [line.partition(" WARNING ")[2] for line in process.log.splitlines()]

    assert [*filter(None, said)] == [
        "limits.connections is 10000, for which a worker needs up to 20300 files, and it may "
        "open 1000; raise the limit (LimitNOFILE=20300, --ulimit nofile=20300), "
        "or write connections: 350"
    ]


def test_as_many_as_it_says_are_not_too_many() -> None:
    with allowed(900):
        said = [shortage(connections) for connections in (300, 600, 601)]

    assert said[:2] == ["", ""]
    assert said[2].endswith(", or write connections: 300")


def test_where_there_is_no_room_for_any_none_is_advised() -> None:
    with allowed(300):
        said = shortage(1)

    assert said.endswith("; raise the limit (LimitNOFILE=302, --ulimit nofile=302)")


@contextmanager
def allowed(most: int) -> Iterator[None]:
    """Let this process have no more files than that for now."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
