"""A service, and a gateway of two workers in front of it, one of each per file of tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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


# A worker that is killed is replaced at once, however short it served and how often it is killed.
REPLACING = """\
import headgate.workers.crew as crew
crew.BRIEF = 0
from headgate.cli.main import main
main()
"""


class SpareProcesses:
    """Processes that tests have used and left in good order, by the name of their kind.

    A process takes half a second of CPU time to start, and so does each of its workers.
    """

    def __init__(self) -> None:
        self.idle: dict[str, Process] = {}

    @contextmanager
    def lend(self, kind: str, start: Callable[[], Process]) -> Iterator[Process]:
        """Lend the process of a kind, or start one; keep it only if the test leaves it serving."""
        process = self.idle.pop(kind, None) or start().__enter__()
        returned = False
        try:
            yield process
            returned = process.restore_rules()
        finally:
            if returned:
                self.idle[kind] = process
            else:
                process.close()

    def close(self) -> None:
        for process in self.idle.values():
            process.close()


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    with Service() as found:
        yield found


@pytest.fixture(scope="session")
def spare_processes() -> Iterator[SpareProcesses]:
    spare = SpareProcesses()
    yield spare
    spare.close()


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
