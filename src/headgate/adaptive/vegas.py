"""Vegas: how many of those inside are waiting, and neither too many nor too few of them.

By Little's law, of `limit` calls that take `took` where they could take `least`, the part
1 - least / took is waiting. That is the estimate of TCP Vegas.
"""

from __future__ import annotations

from headgate.adaptive.bounds import Bounds
from headgate.adaptive.gauge import WAITERS, Gauge
from headgate.measures import number


class Vegas:
    """Keeps the part of calls that wait between `low` and `high`.

    The limit stays between `floor` and `ceiling`; every `probe_every` seconds the least latency is
    measured anew.
    """

    def __init__(
        self,
        initial: int = 20,
        floor: int = 2,
        ceiling: int = 1000,
        low: float = 0.05,
        high: float = 0.15,
        probe_every: float = 10.0,
    ) -> None:
        self.bounds = Bounds("Vegas", initial, floor, ceiling, probe_every)
        self.low = number("Vegas", "low", low, 0.0, 1.0)
        self.high = number("Vegas", "high", high, low, 1.0)

    def open(self) -> Gauge:
        """A limit of its own that moves by this rule."""
        return Gauge(self)

    def next(self, limit: float, least: float, took: float, dropped: bool) -> float:
        """The limit after a round."""
        waiting = limit * (1.0 - least / max(took, 1.0))
        if dropped or waiting > max(WAITERS + 1, limit * self.high):
            return limit - max(1.0, limit / 10)
        few = waiting < max(WAITERS - 1, limit * self.low)
        return limit + max(1.0, limit / 20) if few else limit
