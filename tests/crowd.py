"""Many threads at once: begun together, switched as often as can be, and told from bystanders."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Threads that were there before the test: of other tests, and nobody's concern.
_EARLIER: set[threading.Thread] = set()


def together(work: Callable[[int], Any], count: int) -> list[Any]:
    """What `work` comes to for each number up to `count`, in threads all begun at once."""
    results: list[Any] = [None] * count
    ready = threading.Barrier(count)

    def run(number: int) -> None:
        ready.wait()
        results[number] = work(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@contextmanager
def hasty() -> Iterator[None]:
    """Let threads be switched as often as can be."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def remember() -> None:
    """Know who was there before."""
    _EARLIER.clear()
    _EARLIER.update(threading.enumerate())


def others() -> list[threading.Thread]:
    """The threads since then that are neither the test's nor its servants'."""
    known = ("MainThread", "proxy", "caller", "headgate signal", "headgate warden")
    new = [thread for thread in threading.enumerate() if thread not in _EARLIER]
    return [thread for thread in new if not thread.name.startswith(known)]
