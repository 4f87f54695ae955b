"""Bounds: where a limit that finds itself begins, how far it may go, and how often it measures."""

from __future__ import annotations

from headgate.measures import seconds, whole


class Bounds:
    """A limit begins at `initial` and stays between `floor` and `ceiling`.

    Every `probe_every` seconds, kept in microseconds, it measures what a call takes when nobody
    waits. `who` says whose bounds they are, where they make no sense.
    """

    __slots__ = ("ceiling", "floor", "initial", "probe_every")

    def __init__(
        self, who: str, initial: int, floor: int, ceiling: int, probe_every: float
    ) -> None:
        self.floor = whole(who, "floor", floor, 1)
        self.ceiling = whole(who, "ceiling", ceiling, floor)
        self.initial = whole(who, "initial", initial, floor, ceiling)
        self.probe_every = seconds(who, "probe_every", probe_every, 0.1)

    def keep(self, limit: float) -> float:
        """The limit, or what is nearest to it within the bounds."""
        return min(max(limit, self.floor), self.ceiling)
