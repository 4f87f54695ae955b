"""Many threads, tasks and processes at once: never one too many, and not one place wasted.

Counted where nobody of ours counts: in a file that all of them have before their eyes.
"""

from __future__ import annotations

import asyncio
import fcntl
import struct
import threading
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.permits.holders import COLOURS, Holder
from tests.servers.launch import Server
from tests.stores.redis.callers import url
from tests.stores.redis.processes import together

LIMIT = 5
PROCESSES, CALLERS = 4, 6


@pytest.fixture(params=["valkey", "redis_server", "cluster"])
def way(request: pytest.FixtureRequest) -> str:
    """The URL of a server, of another kind of server, of a cluster."""
    return url(request.getfixturevalue(request.param))


@pytest.fixture
def turns(scale: int) -> int:
    """How often each caller asks."""
    return 15 * scale


class Seen(NamedTuple):
    """What an observer has seen: how many are inside, the most there ever were, all who were."""

    inside: int
    most: int
    total: int


class Observer:
    """Counts who is inside in a file, for all processes that open it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_bytes(bytes(24))

    def note(self, change: int) -> None:
        """Somebody went in, or out."""
        with self.path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            inside, most, total = struct.unpack("<3q", file.read())
            inside += change
            file.seek(0)
            file.write(struct.pack("<3q", inside, max(most, inside), total + (change > 0)))

    def seen(self) -> Seen:
        return Seen(*struct.unpack("<3q", self.path.read_bytes()))


@pytest.fixture
def observer(tmp_path: Path) -> Observer:
    return Observer(tmp_path / "inside")


@pytest.mark.parametrize("colour", COLOURS)
def test_never_more_are_inside_than_there_are_places(
    way: str, method: str, colour: str, turns: int, observer: Observer
) -> None:
    work = partial(visit, way, method, colour, turns, observer)
    entered = sum(together([work] * PROCESSES))
    seen = observer.seen()

    assert (seen.inside, seen.total) == (0, entered)
    assert 1 < seen.most <= LIMIT
    with Holder(way, LIMIT, method=method, ttl=60.0) as holder:
        assert (holder.inside(), len(holder.fill())) == (0, LIMIT)


@pytest.mark.parametrize("colour", COLOURS)
def test_processes_that_come_at_once_fill_the_places_to_the_last(
    way: str, method: str, colour: str
) -> None:
    def work() -> int:
        # Killed by whoever started it, with all that it holds.
        holder = Holder(way, 3 * LIMIT, colour, method=method, ttl=60.0)
        return len(holder.fill())

    assert sum(together([work] * PROCESSES)) == 3 * LIMIT


def test_threads_share_permits(server: Server, method: str, turns: int, observer: Observer) -> None:
    entered = visit(server.url, method, "sync", 4 * turns, observer)
    seen = observer.seen()

    assert (seen.inside, seen.total) == (0, entered)
    assert 1 < seen.most <= LIMIT


def visit(way: str, method: str, colour: str, turns: int, observer: Observer) -> int:
    """Come and go so many times in each of some threads or tasks; how often there was a place."""
    with Holder(way, LIMIT, colour, method=method, ttl=60.0) as holder:
        if colour == "async":
            return int(holder.run(crowd, holder.permits, turns, observer))
        counts = [0] * CALLERS

        def caller(number: int) -> None:
            for _ in range(turns):
                ticket = holder.permits.enter("k")
                if ticket is not None:
                    observer.note(+1)
                    counts[number] += 1
                    holder.permits.inside("k")
                    observer.note(-1)
                    assert holder.permits.leave("k", ticket)

        threads = [threading.Thread(target=caller, args=(n,)) for n in range(CALLERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert holder.zombies == 0
        return sum(counts)


async def crowd(permits: Any, turns: int, observer: Observer) -> int:
    async def caller() -> int:
        entered = 0
        for _ in range(turns):
            ticket = await permits.enter("k")
            if ticket is not None:
                observer.note(+1)
                entered += 1
                await permits.inside("k")
                observer.note(-1)
                assert await permits.leave("k", ticket)
        return entered

    return sum(await asyncio.gather(*[caller() for _ in range(CALLERS)]))
