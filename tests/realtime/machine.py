"""What of its time a machine left to those who are measured.

A process that is ready to run and has to wait for a CPU is not slow, its neighbours are many, on
this machine or on the one that it is a part of. The kernel keeps an account of that, and visits
that were made at such times say nothing.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from bisect import bisect_left, bisect_right
from itertools import accumulate, pairwise
from pathlib import Path

import pytest

from tests.realtime.rush import Visit

# How often one looks, and the part of that time which a process may have waited: those who are
# measured wait for each other as well.
EVERY, SHARE = 0.1, 0.3
# The part of visits that must not have been held up.
ENOUGH = 0.8
TICKS = os.sysconf("SC_CLK_TCK")


class Machine:
    """Watches how long these processes, and this one, have to wait for a CPU.

    async with Machine(pid) as machine:
        visits = await rush.run(moments)
    fair = machine.fair(visits)
    """

    def __init__(self, *pids: int) -> None:
        self.pids = (*pids, os.getpid())
        self.moments: list[float] = []
        self.waits: list[list[int]] = []

    async def __aenter__(self) -> Machine:
        self.note()
        self.task = asyncio.ensure_future(self.watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.task.cancel()
        self.note()

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            self.note()

    def note(self) -> None:
        self.moments.append(time.monotonic())
        self.waits.append([stolen(), *(waited(pid) for pid in self.pids)])

    def fair(self, visits: list[Visit]) -> list[Visit]:
        """The visits that nobody else held up; where those are too few, nothing can be said."""
        held = []
        for (begin, before), (end, after) in pairwise(zip(self.moments, self.waits, strict=True)):
            most = max(late - early for early, late in zip(before, after, strict=True))
            held.append(most > SHARE * (end - begin) * 1e9)
        sums = [0, *accumulate(held)]
        found = [
            visit
            for visit in visits
            if sums[bisect_left(self.moments, visit.end)]
            == sums[max(0, bisect_right(self.moments, visit.begin) - 1)]
        ]
        if len(found) < ENOUGH * len(visits):
            pytest.skip(
                f"the machine was busy with others: of {len(visits)} visits only "
                f"{len(found)} were not held up"
            )
        return found


class Lull:
    """Watches for how long this process was not let run: `longest` seconds, at once.

    Where only one that is slow is to be late, a machine that stands still makes all of them so.
    """

    def __init__(self) -> None:
        self.longest = 0.0
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._look, name="lull")

    def __enter__(self) -> Lull:
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watch.join()

    def _look(self) -> None:
        last = time.monotonic()
        while not self._over.wait(EVERY):
            now = time.monotonic()
            self.longest, last = max(self.longest, now - last - EVERY), now


def waited(pid: int) -> int:
    """The nanoseconds that a process was ready to run and did not."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1])


def stolen() -> int:
    """The nanoseconds that all CPUs of this machine were given to others."""
    words = Path("/proc/stat").read_text().partition("\n")[0].split()
    return int(words[8]) * 1_000_000_000 // TICKS
