"""Processes that tests lend to each other, because they take long to start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.workers.process import Process


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

    def __enter__(self) -> SpareProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.idle.values():
            process.close()
