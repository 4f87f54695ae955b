"""A guest: a process of its own that goes in and out as it is told, line by line.

It is forked from this program. Each line it reads is a task in JSON, and it answers each with a
line, unless it is killed.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import random
import threading
from pathlib import Path

import headgate
from headgate.permits.shared.permits import SharedPermits
from tests.stores.obey import serve

# What the book says: how many are inside now, how many were at most, and how often one was.
NOW, MOST, VISITS = range(3)


class Book:
    """How many are inside, by the visitors' own account, behind a lock that nobody else knows."""

    def __init__(self, path: str) -> None:
        self.file = os.open(path, os.O_RDWR)
        self.cells = memoryview(mmap.mmap(self.file, 24)).cast("q")

    def write(self, change: int) -> None:
        fcntl.flock(self.file, fcntl.LOCK_EX)
        self.cells[NOW] += change
        self.cells[MOST] = max(self.cells[MOST], self.cells[NOW])
        self.cells[VISITS] += change > 0
        fcntl.flock(self.file, fcntl.LOCK_UN)


class Guest:
    """One process, and the permits it has open."""

    def open(self, folder: str, limit: int, capacity: int = 100) -> str:
        self.permits = SharedPermits("inn", limit, capacity, folder)
        return "open"

    def enter(self, keys: list[str]) -> list[int | None]:
        return [self.permits.enter(key) for key in keys]

    def leave(self, key: str, ticket: int) -> bool:
        return self.permits.leave(key, ticket)

    def inside(self, key: str) -> int:
        return self.permits.inside(key)

    def visit(self, key: str, book: str, threads: int, visits: int) -> None:
        """Go in and out so often, with each of so many threads, and write it in the book."""
        crowd = [
            threading.Thread(target=self.come, args=(key, Book(book), visits))
            for _ in range(threads)
        ]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()

    def come(self, key: str, book: Book, visits: int) -> None:
        while visits > 0:
            ticket = self.insist(key)
            if ticket is not None:
                book.write(1)
                os.sched_yield()
                book.write(-1)
                assert self.permits.leave(key, ticket)
                visits -= 1
            os.sched_yield()

    def roam(self, keys: list[str], record: str) -> None:
        """Go in and out for ever, at random, with several places at once."""
        chance = random.Random(os.getpid())
        held: list[tuple[str, int]] = []
        with Path(record).open("ab", buffering=0) as file:
            while True:
                key = chance.choice(keys)
                ticket = self.insist(key)
                if ticket is not None:
                    held.append((key, ticket))
                    file.write(b".")
                if held and (ticket is None or chance.random() < 0.5):
                    assert self.permits.leave(*held.pop(chance.randrange(len(held))))

    def insist(self, key: str) -> int | None:
        """Ask again where a machine that stands still lets nobody in."""
        for _ in range(30):
            try:
                return self.permits.enter(key)
            except headgate.StoreUnavailable as problem:
                if problem.kind != "timeout":
                    raise
        raise headgate.StoreUnavailable("no way in for half a minute", "timeout")


if __name__ == "__main__":
    serve(Guest)
