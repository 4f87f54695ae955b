"""Span: what counters gained in the last seconds, out of a few notes that are kept of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

# A span is noted in so many parts, however often somebody looks.
PARTS = 60


class Span:
    """Counters over `seconds`; one that begins anew, as after a restart, goes on from where it was.

    A span that has begun just now reaches back to its beginning.
    """

    def __init__(self, seconds: float, now: float, counted: Sequence[float]) -> None:
        self.seconds = seconds
        self.now = now
        self._latest = tuple(counted)
        # What was gained since the beginning.
        self._sums = (0.0,) * len(self._latest)
        # Moments, and the sums there were; the first one is where the span begins, or before.
        self._notes: deque[tuple[float, tuple[float, ...]]] = deque([(now, self._sums)])

    def add(self, now: float, counted: Sequence[float]) -> None:
        """Take note of the counters as they are now."""
        pairs = zip(self._sums, counted, self._latest, strict=True)
        self._sums = tuple(
            total + (value - last if value >= last else value) for total, value, last in pairs
        )
        self._latest = tuple(counted)
        # A clock that goes back stands still.
        self.now = max(now, self.now)
        if self.now - self._notes[-1][0] >= self.seconds / PARTS:
            self._notes.append((self.now, self._sums))
        while len(self._notes) > 1 and self._notes[1][0] <= self.now - self.seconds:
            self._notes.popleft()

    @property
    def width(self) -> int:
        """How many counters there are."""
        return len(self._sums)

    @property
    def gains(self) -> tuple[float, ...]:
        """What each counter gained within it."""
        return tuple(
            total - before for total, before in zip(self._sums, self._notes[0][1], strict=True)
        )

    @property
    def length(self) -> float:
        """How many seconds it has by now."""
        return self.now - self._notes[0][0]

    def __len__(self) -> int:
        """How many notes are kept."""
        return len(self._notes)
