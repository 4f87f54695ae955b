"""A village: processes that are born and die as a test says, told apart as the kernel does."""

from __future__ import annotations

from pathlib import Path

from headgate.permits.shared.census import DEAD, Census
from headgate.permits.shared.permits import SharedPermits


class Village:
    """Who lives in it: the number of each process, and when it began."""

    def __init__(self) -> None:
        self.began: dict[int, int] = {}
        self.time = 1000

    def born(self, pid: int) -> Neighbour:
        """A process of that number begins; whoever had it before is gone."""
        self.time += 1
        self.began[pid] = self.time
        return Neighbour(self, pid)

    def gone(self, pid: int) -> None:
        """The process of that number ends."""
        del self.began[pid]

    def permits(self, folder: Path, pid: int, limit: int, capacity: int = 100) -> SharedPermits:
        """What a newborn process of that number has open."""
        return SharedPermits("inn", limit, capacity, str(folder), census=self.born(pid))


class Neighbour(Census):
    """How one of the processes sees the village."""

    def __init__(self, village: Village, pid: int) -> None:
        self.village = village
        self.number = pid

    def pid(self) -> int:
        return self.number

    def begun(self, pid: int) -> int:
        return self.village.began.get(pid, DEAD)
