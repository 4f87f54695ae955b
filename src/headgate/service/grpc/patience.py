"""Patience: how much of what costs us and is of no use a stranger may do."""

from __future__ import annotations

from headgate.measures import MILLION


class Patience:
    """So much at once is borne, so much a second, and so much for each call that was of use."""

    __slots__ = ("each", "left", "most", "pace", "seen", "since")

    def __init__(self, most: int, pace: int, each: int) -> None:
        self.most = most
        self.pace = pace
        self.each = each
        # In millionths, so that nothing of a microsecond is lost.
        self.left = most * MILLION
        self.since = self.seen = 0

    def bear(self, cost: int, now: int, served: int) -> bool:
        """Whether it is borne, when so many calls have been of use."""
        earned = (now - self.since) * self.pace + (served - self.seen) * self.each * MILLION
        self.since = now
        self.seen = served
        self.left = min(self.most * MILLION, self.left + max(earned, 0)) - cost * MILLION
        return self.left >= 0
