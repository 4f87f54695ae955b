"""Gradient: the limit in proportion to how much slower calls have become, and a little room.

Where calls take `least`, the limit is left as it is, plus the room; where they take twice that,
half of it would do. What comes of it is taken over by and by, so that noise does not shake it.
"""

from __future__ import annotations

from headgate.adaptive.bounds import Bounds
from headgate.adaptive.gauge import WAITERS, Gauge
from headgate.measures import number


class Gradient:
    """Follows the ratio of the least latency to the present one.

    `room` is the share of places added to find out whether more would do, `smooth` how much of a
    new limit is taken over after each round. The limit stays between `floor` and `ceiling`; every
    `probe_every` seconds the least latency is measured anew.
    """

    def __init__(
        self,
        initial: int = 20,
        floor: int = 2,
        ceiling: int = 1000,
        room: float = 0.1,
        smooth: float = 0.7,
        probe_every: float = 10.0,
    ) -> None:
        self.bounds = Bounds("Gradient", initial, floor, ceiling, probe_every)
        self.room = number("Gradient", "room", room, 0.01, 1.0)
        self.smooth = number("Gradient", "smooth", smooth, 0.01, 1.0)

    def open(self) -> Gauge:
        """A limit of its own that moves by this rule."""
        return Gauge(self)

    def next(self, limit: float, least: float, took: float, dropped: bool) -> float:
        """The limit after a round."""
        slope = min(1.0, max(0.5, least / max(took, 1.0)))
        wanted = limit * slope + max(WAITERS, limit * self.room)
        if dropped:
            wanted = limit / 2
        return limit + (wanted - limit) * self.smooth
