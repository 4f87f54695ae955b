"""Latch: lets one at a time change what processes share, of all their threads.

Between threads it is a lock that a signal handler may enter again, between processes the lock of
a file that is opened for nothing else: the kernel gives it back when its holder dies, however that
happens. It is held for microseconds; where it is not free, one tries again after longer and longer
naps, and gives up before a second has passed: a holder that was stopped must not stop everybody.
"""

from __future__ import annotations

import threading
from fcntl import LOCK_EX, LOCK_NB, flock
from fcntl import LOCK_UN as UNLOCK

from headgate.errors import StoreUnavailable
from headgate.stores.flat.gate import PATIENCE, late, persist
from headgate.stores.shared.deed import Bolt

LOCK = LOCK_EX | LOCK_NB


class Latch:
    """The latch of the file at `path`, which `bolt` has open."""

    __slots__ = ("bolt", "depth", "path", "thread")

    def __init__(self, path: str, bolt: Bolt) -> None:
        self.path = path
        self.bolt = bolt
        self.renew()

    def renew(self) -> None:
        """Begin anew: in a forked child, whoever was inside is not there."""
        self.thread = threading.RLock()
        self.depth = 0

    def __enter__(self) -> None:
        # At once, in nearly all cases; to wait with a deadline takes longer even where it is free.
        if not self.thread.acquire(False) and not self.thread.acquire(True, PATIENCE / 1_000_000):
            raise StoreUnavailable(late(self.path), "timeout")
        # A signal may come between any two of these lines, and its handler go in and out: so
        # everybody locks, and the last one to leave unlocks.
        self.depth += 1
        try:
            flock(self.bolt.file, LOCK)
        except BlockingIOError:
            self._wait()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *problem: object) -> None:
        self.depth -= 1
        try:
            if self.depth == 0:
                flock(self.bolt.file, UNLOCK)
        finally:
            self.thread.release()

    def _wait(self) -> None:
        try:
            persist(self._lock, self.path)
        except BaseException:
            self.__exit__()
            raise

    def _lock(self) -> bool:
        try:
            flock(self.bolt.file, LOCK)
        except BlockingIOError:
            return False
        return True
