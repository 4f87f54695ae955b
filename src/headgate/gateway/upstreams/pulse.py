"""Pulse: whether a server is well, by what its checks said. A single check changes nothing."""

from __future__ import annotations


class Pulse:
    """Well until `down` checks in a row say otherwise, then unwell until `up` in a row do not."""

    __slots__ = ("down", "run", "up", "well")

    def __init__(self, up: int, down: int, well: bool = True) -> None:
        self.up = up
        self.down = down
        self.well = well
        # How many of the latest checks spoke against it.
        self.run = 0

    def note(self, good: bool) -> bool:
        """Take what a check said; answers whether that turned it."""
        if good == self.well:
            self.run = 0
            return False
        self.run += 1
        if self.run < (self.down if self.well else self.up):
            return False
        self.well = good
        self.run = 0
        return True
