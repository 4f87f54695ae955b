"""Waiting for real processes: a condition, asked again and again, for a bounded time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from tests.servers.wire import Refusal

T = TypeVar("T")

# Seconds between two calls of a condition: a call can cost the servers milliseconds of CPU time.
FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.05


def until(condition: Callable[[], T], what: str, seconds: float = 60.0) -> T:
    """The first true answer of `condition`; raises TimeoutError naming `what` it waited for.

    A server that refuses, or is not there at all, has not answered yet.
    """
    end = time.monotonic() + seconds
    pause = FIRST_PAUSE
    last: object = None
    while True:
        try:
            answer = condition()
        except (OSError, Refusal) as error:
            last = error
        else:
            if answer:
                return answer
            last = answer
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:g} s for {what}; the last answer was {last!r}")
        time.sleep(pause)
        pause = min(1.25 * pause, LONGEST_PAUSE)
