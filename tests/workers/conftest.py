"""A service, and a gateway of two workers in front of it, one of each per file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.workers.process import TOKEN, Process
from tests.workers.service import Service

RULES = """\
version: 1
rules:
  - {{name: exact, match: {{path: /exact}}, limit: 100/min, by: sliding_log}}
  - {{name: places, match: {{path: /slow}}, concurrent: 2}}
gateway:
  listen: ["127.0.0.1:0", "unix:FOLDER/web.sock"]
  workers: {workers}
  admin: {{listen: "127.0.0.1:0", token: {token}}}
  routes: [{{upstream: "{url}"}}]
"""


def rules(service: Service, workers: int) -> str:
    """The rules of a gateway of so many workers."""
    return RULES.format(token=TOKEN, url=service.url, workers=workers)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with Service() as found:
        yield found


@pytest.fixture(scope="module")
def pair(service: Service) -> Iterator[Process]:
    """A gateway of two workers."""
    with Process(rules(service, 2)) as found:
        yield found


@pytest.fixture
def single(service: Service) -> Iterator[Process]:
    """A gateway of one worker, that may be ended."""
    with Process(rules(service, 1), "--watch", "0") as found:
        yield found
