"""What a process of `test_exact` does with permits, and who counts that is inside."""

from __future__ import annotations

import asyncio
import fcntl
import struct
import threading
from pathlib import Path
from typing import Any, NamedTuple

from tests.permits.holders import Holder

LIMIT, CALLERS = 5, 6


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


def fill(way: str, method: str, colour: str, limit: int) -> int:
    """Enter until there is no place left; the permits are held until the process is killed."""
    holder = Holder(way, limit, colour, method=method, ttl=60.0)
    return len(holder.fill())


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
