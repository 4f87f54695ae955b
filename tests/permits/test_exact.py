"""Many threads, tasks and processes at once: never one too many, and not one place wasted.

Counted where nobody of ours counts: in a file that all of them have before their eyes.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.permits.holders import COLOURS, Holder
from tests.permits.visits import LIMIT, Observer, fill, visit
from tests.servers.launch import Server
from tests.stores.redis.callers import url
from tests.stores.redis.processes import run_together

PROCESSES = 4


@pytest.fixture(params=["valkey", "redis_server", "cluster"])
def way(request: pytest.FixtureRequest) -> str:
    """The URL of a server, of another kind of server, of a cluster."""
    return url(request.getfixturevalue(request.param))


@pytest.fixture
def turns(scale: int) -> int:
    """How often each caller asks."""
    return 6 * scale


@pytest.fixture
def observer(tmp_path: Path) -> Observer:
    return Observer(tmp_path / "inside")


@pytest.mark.parametrize("colour", COLOURS)
def test_never_more_are_inside_than_there_are_places(
    way: str, method: str, colour: str, turns: int, observer: Observer
) -> None:
    work = partial(visit, way, method, colour, turns, observer)
    entered = sum(run_together([work] * PROCESSES))
    seen = observer.seen()

    assert (seen.inside, seen.total) == (0, entered)
    assert 1 < seen.most <= LIMIT
    with Holder(way, LIMIT, method=method, ttl=60.0) as holder:
        assert (holder.inside(), len(holder.fill())) == (0, LIMIT)


@pytest.mark.parametrize("colour", COLOURS)
def test_processes_that_come_at_once_fill_the_places_to_the_last(
    way: str, method: str, colour: str
) -> None:
    work = partial(fill, way, method, colour, 3 * LIMIT)

    assert sum(run_together([work] * PROCESSES)) == 3 * LIMIT


def test_threads_share_permits(server: Server, method: str, turns: int, observer: Observer) -> None:
    entered = visit(server.url, method, "sync", 4 * turns, observer)
    seen = observer.seen()

    assert (seen.inside, seen.total) == (0, entered)
    assert 1 < seen.most <= LIMIT
