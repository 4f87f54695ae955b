"""A service, and a gateway of two workers in front of it, one of each per file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.workers.process import TOKEN, Process
from tests.workers.service import Service
from tests.workers.spare import SpareProcesses

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


# A worker that is killed is replaced at once, however short it served and how often it is killed.
REPLACING = """\
import headgate.workers.crew as crew
crew.BRIEF = 0
from headgate.cli.main import main
main()
"""


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    with Service() as found:
        yield found


@pytest.fixture(scope="session")
def spare_processes() -> Iterator[SpareProcesses]:
    with SpareProcesses() as spare:
        yield spare


@pytest.fixture(scope="module")
def pair(service: Service) -> Iterator[Process]:
    """A gateway of two workers."""
    with Process(rules(service, 2)) as found:
        yield found


@pytest.fixture
def single(service: Service, spare_processes: SpareProcesses) -> Iterator[Process]:
    """A gateway of one worker, that may be ended. Only its rules are certain to be as at first."""
    text = rules(service, 1)
    with spare_processes.lend("single", lambda: Process(text, "--watch", "0")) as found:
        yield found


@pytest.fixture
def replacing(
    request: pytest.FixtureRequest, service: Service, spare_processes: SpareProcesses
) -> Iterator[Process]:
    """A gateway of one worker that may be killed again and again; it looks for rules so often."""
    watch = getattr(request, "param", "0")
    words, start = ("--watch", watch), ("-c", REPLACING)
    text = rules(service, 1)
    with spare_processes.lend(
        f"replacing {watch}", lambda: Process(text, *words, start=start)
    ) as found:
        yield found
