"""Fund: what a request has at one service, in numbers. It knows no clock, and nobody else.

What came in is always what went out and what is there:

    brought + granted + come back = spent + lent out + handed over + left

Threads and tasks that serve one request may share its fund.
"""

from __future__ import annotations

import threading


class Fund:
    """An amount that is spent, lent for the length of a call, and handed over at the end.

    `granted` is what was added on the way, here and in whatever was called; `out` is what is lent
    and has not come back.
    """

    __slots__ = (
        "_lock", "broken", "brought", "granted", "left", "open", "out", "spent", "uncounted",
    )  # fmt: skip

    def __init__(self, brought: int, uncounted: bool = False) -> None:
        self._lock = threading.Lock()
        self.brought = self.left = brought
        self.spent = self.granted = self.out = 0
        # Whether the account may spend as it likes, and whether somebody has gone short.
        self.uncounted = uncounted
        self.broken = False
        self.open = True

    def pay(self, cost: int) -> bool:
        """Spend `cost`, if there is as much."""
        with self._lock:
            if not self.uncounted:
                if cost > self.left:
                    return False
                self.left -= cost
            self.spent += cost
            return True

    def draw(self, cost: int) -> int:
        """Take `cost` in hand, or all there is; how much is missing of it.

        Then `fill` or `undo` has to follow.
        """
        with self._lock:
            missing = max(0, cost - self.left)
            self.left -= cost - missing
            return missing

    def fill(self, cost: int, missing: int, amount: int) -> None:
        """Spend what is in hand and what is missing of it out of a grant; the rest is kept."""
        with self._lock:
            self.granted += amount
            self.left += amount - missing
            self.spent += cost

    def undo(self, cost: int, missing: int) -> None:
        """Put back what is in hand."""
        with self._lock:
            self.left += cost - missing

    def lend(self, most: int) -> int:
        """Give away up to `most` of what is left; how much that is."""
        with self._lock:
            part = min(most, self.left)
            self.left -= part
            self.out += part
            return part

    def regain(self, part: int, back: int, granted: int) -> bool:
        """Of a part that was lent, and what was granted to it, so much has come back in time."""
        with self._lock:
            if self.open:
                self.out -= part
                self.left += back
                self.granted += granted
            return self.open

    def empty(self) -> int:
        """Hand over all that is left; how much that is."""
        with self._lock:
            left, self.left = self.left, 0
            return left

    def shut(self) -> int:
        """The same for good: nothing comes back any more."""
        with self._lock:
            self.open = False
            left, self.left = self.left, 0
            return left
