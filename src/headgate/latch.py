"""Latch: a lock that a signal handler may take again, and that a forked child finds free."""

from __future__ import annotations

import threading

from headgate.fork import follow


class Latch:
    """`with latch:` one thread at a time, whatever became of the threads before a fork."""

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._begin()
        follow(self, Latch._begin)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *problem: object) -> None:
        self._lock.release()

    def _begin(self) -> None:
        self._lock = threading.RLock()
