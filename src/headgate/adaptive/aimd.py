"""AIMD: a few places more after each round that went well, a share less after one that did not."""

from __future__ import annotations

from headgate.adaptive.bounds import Bounds
from headgate.adaptive.gauge import WAITERS, Gauge
from headgate.measures import number


class AIMD:
    """Adds places while calls take less than `tolerance` times the least, else takes away a share.

    `backoff` is what is left of the limit after calls were slow, timed out or were dropped. The
    limit stays between `floor` and `ceiling`; every `probe_every` seconds the least latency is
    measured anew.
    """

    def __init__(
        self,
        initial: int = 20,
        floor: int = 2,
        ceiling: int = 1000,
        tolerance: float = 1.1,
        backoff: float = 0.9,
        probe_every: float = 10.0,
    ) -> None:
        self.bounds = Bounds("AIMD", initial, floor, ceiling, probe_every)
        self.tolerance = number("AIMD", "tolerance", tolerance, 1.0)
        self.backoff = number("AIMD", "backoff", backoff, 0.1, 0.99)

    def open(self) -> Gauge:
        """A limit of its own that moves by this rule."""
        return Gauge(self)

    def next(self, limit: float, least: float, took: float, dropped: bool) -> float:
        """The limit after a round."""
        waiting = limit * (1.0 - least / max(took, 1.0))
        if dropped or waiting > max(WAITERS, limit * (1.0 - 1.0 / self.tolerance)):
            # Far too slow is taken for far too many.
            return limit * min(self.backoff, max(0.7, self.tolerance * least / max(took, 1.0)))
        return limit + max(1.0, limit / 20)
