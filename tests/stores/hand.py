"""A hand: a process of its own that opens a shared limiter and does as it is told, line by line.

It is forked from this program. Each line it reads is a task in JSON, and it answers each with a
line, unless it is killed. What it was admitted it writes down itself, where that outlives it.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from contextlib import suppress
from itertools import cycle
from pathlib import Path

import headgate
from headgate.stores.shared.store import SharedStore
from tests.stores.obey import serve


class Hand:
    """One worker, and the limiter it has open."""

    def open(self, folder: str, limits: list[str], capacity: int = 1000, name: str = "api") -> str:
        self.store = SharedStore("crew", capacity, folder)
        found = tuple(eval(limit, vars(headgate)) for limit in limits)
        self.ledger = self.store.open(found, name)
        return "open"

    def take(self, keys: list[str], now: int, history: str) -> int:
        """Ask for one unit of each key, and write down every yes."""
        admitted = [key for key in keys if self.insist(key, lambda: now)]
        with Path(history).open("a") as file:
            file.writelines(f"{now} {key}\n" for key in admitted)
        return len(admitted)

    def insist(self, key: str, now: Callable[[], int]) -> int:
        """The moment at which one unit was asked for and had, 0 if the answer was no.

        Where a machine that stands still lets nobody in, nothing was taken: ask again.
        """
        for _ in range(30):
            asked = now()
            with suppress(headgate.StoreUnavailable):
                return asked if self.ledger.take(key, 1, asked, 0) else 0
        raise headgate.StoreUnavailable("no way in for half a minute", "timeout")

    def left(self, key: str, now: int) -> int:
        return self.ledger.peek(key, 0, now).remaining

    def change(self, limits: list[str], now: int) -> str:
        self.ledger.change(tuple(eval(limit, vars(headgate)) for limit in limits), now, 0)
        return repr(list(self.ledger.limits))

    def tally(self) -> dict[str, int]:
        return self.ledger.tally()

    def count(self, keys: list[str], now: int, record: str) -> None:
        """Take for ever, all at one moment; count every yes, key by key, in a file that stays."""
        with Path(record).open("r+b") as file:
            counts = memoryview(mmap.mmap(file.fileno(), 0)).cast("q")
        for number, key in cycle(enumerate(keys)):
            if self.insist(key, lambda: now):
                counts[number] += 1

    def log(self, keys: list[str], record: str) -> None:
        """Take for ever by the store's clock; write down when each yes was asked for and known."""
        with Path(record).open("r+b") as file:
            pages = memoryview(mmap.mmap(file.fileno(), 0)).cast("q")
        clock = self.store.clock()
        self.ledger.trust(clock)
        now = clock.now
        place = 0
        for number, key in cycle(enumerate(keys)):
            asked = self.insist(key, now)
            if asked and place + 3 <= len(pages):
                pages[place + 1] = asked
                pages[place + 2] = now()
                # Last, and never 0: a line that was not finished does not count.
                pages[place] = number + 1
                place += 3


if __name__ == "__main__":
    serve(Hand)
