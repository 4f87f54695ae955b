"""Watch: how a store is doing, as seen from here; a breaker, so that a dead one is not waited for.

After a few failures in a row the store is left alone, but for one call every half second that
finds out whether it is back. Every change is logged once, and counted.
"""

from __future__ import annotations

import logging
from typing import Any

from headgate.errors import StoreUnavailable

# Failures in a row after which the store is left alone.
FAILURES = 3
# So many kinds of failures are told apart: a server may have any word for one.
KINDS = 32
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
    failures there were since the last success. `errors` are the failures by their kinds. A `meter`,
    if there is one, is told how long answers took.
    """

    __slots__ = (
        "_beat", "_retry", "_since", "_spent", "errors", "failing", "failures", "instances",
        "meter", "outages", "row", "title",
    )  # fmt: skip

    def __init__(self, title: str) -> None:
        self.title = title
        self.failing = False
        self.failures = 0
        self.outages = 0
        self.instances = 1
        self.row = 0
        self.errors: dict[str, int] = {}
        self.meter: Any = None
        self._retry = 0
        self._beat = 0
        # Since when decisions are made without it, and for how long they were before.
        self._since = self._spent = 0

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
        kind = problem.kind or "other"
        if kind in self.errors or len(self.errors) < KINDS:
            self.errors[kind] = self.errors.get(kind, 0) + 1
        if self.row >= FAILURES and not self.failing:
            self.failing = True
            self.outages += 1
            self._since = now
            self._retry = now + PAUSE
            logger.warning("%s is unavailable, deciding without it: %s", self.title, problem)

    def succeed(self, now: int = 0) -> None:
        """It answered, at about that time."""
        self.row = 0
        if self.failing:
            self.failing = False
            self._spent += max(0, now - self._since)
            # Whoever was counted before the outage may be gone: ask again.
            self._beat = 0
            logger.warning("%s is available again", self.title)

    def dark(self, now: int) -> int:
        """For how many microseconds decisions were made without it, all in all."""
        return self._spent + (max(0, now - self._since) if self.failing else 0)

    def beating(self, now: int) -> bool:
        """Whether it is time for a sign of life."""
        if self._beat - SPAN <= now < self._beat:
            return False
        self._beat = now + SPAN
        return True
