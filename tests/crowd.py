"""Many threads at once: begun together, switched as often as can be, and told from bystanders."""

from __future__ import annotations

import gc
import sys
import threading
import time
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
    """Let threads be switched as often as can be, compiled code's too: at collections of garbage.

    Compiled code goes on until something is made of which the collector keeps count: only then may
    another thread come in.
    """
    usual, garbage = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    # What is there already is of no interest, and would be looked through every time. It stays
    # frozen: unfrozen, ten thousand tests would be looked through by every collection that follows.
    gc.collect()
    gc.freeze()
    gc.callbacks.append(_welcome)
    gc.set_threshold(3)
    try:
        yield
    finally:
        gc.set_threshold(*garbage)
        gc.callbacks.remove(_welcome)
        sys.setswitchinterval(usual)


def _welcome(*_: object) -> None:
    # Others may run now.
    time.sleep(0)


def remember() -> None:
    """Know who was there before."""
    _EARLIER.clear()
    _EARLIER.update(threading.enumerate())


def others() -> list[threading.Thread]:
    """The threads since then that are neither the test's nor its servants'."""
    known = ("MainThread", "proxy", "caller", "headgate signal", "headgate warden")
    new = [thread for thread in threading.enumerate() if thread not in _EARLIER]
    return [thread for thread in new if not thread.name.startswith(known)]
