"""Watch: how a store is doing, as seen from here; a breaker, so that a dead one is not waited for.

After a few failures in a row the store is left alone, but for one call every half second that
finds out whether it is back. Every change is logged once, and counted.
"""

from __future__ import annotations

import logging

from headgate.errors import StoreUnavailable

# Failures in a row after which the store is left alone.
FAILURES = 3
# Microseconds between two attempts while it is, and between two signs of life while it is not.
PAUSE = 500_000
BEAT = 5_000_000
# As C numbers when compiled; the above stay Python's, because others import them.
REST, SPAN = PAUSE, BEAT

logger = logging.getLogger("headgate")


class Watch:
    """The health of one store.

    `failing` says whether decisions are made without it; `instances` how many processes were seen
    using it lately, this one included. `failures` and `outages` only ever grow; `row` is how many
    failures there were since the last success.
    """

    __slots__ = ("_beat", "_retry", "failing", "failures", "instances", "outages", "row", "title")

    def __init__(self, title: str) -> None:
        self.title = title
        self.failing = False
        self.failures = 0
        self.outages = 0
        self.instances = 1
        self.row = 0
        self._retry = 0
        self._beat = 0

    def open(self, now: int) -> bool:
        """Whether to ask the store now."""
        if not self.failing:
            return True
        if now < self._retry <= now + REST:
            return False
        self._retry = now + REST
        return True

    def fail(self, now: int, problem: StoreUnavailable) -> None:
        """It did not answer."""
        self.failures += 1
        self.row += 1
        if self.row >= FAILURES and not self.failing:
            self.failing = True
            self.outages += 1
            self._retry = now + PAUSE
            logger.warning("%s is unavailable, deciding without it: %s", self.title, problem)

    def succeed(self) -> None:
        """It answered."""
        self.row = 0
        if self.failing:
            self.failing = False
            # Whoever was counted before the outage may be gone: ask again.
            self._beat = 0
            logger.warning("%s is available again", self.title)

    def beating(self, now: int) -> bool:
        """Whether it is time for a sign of life."""
        if self._beat - SPAN <= now < self._beat:
            return False
        self._beat = now + SPAN
        return True
