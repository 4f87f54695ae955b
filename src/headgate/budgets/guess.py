"""Guess: what whole chains of calls have cost, so that the next is given enough at once.

A guess jumps up to whatever costs more, and comes down by an eighth of the way with each that costs
less: to go short midway is worse than to hold a little too much for the length of a request.
"""

from __future__ import annotations

# So many routes have a guess of their own; those that come later share one.
MOST = 1000
STEP = 8


class Guess:
    """What the requests of each route have cost of late."""

    __slots__ = ("_costs",)

    def __init__(self) -> None:
        self._costs: dict[str, int] = {}

    def tell(self, route: str) -> int:
        """What the next one may cost; 0 if there was none yet."""
        return self._costs.get(self._place(route), 0)

    def learn(self, route: str, cost: int) -> None:
        """One has cost so much."""
        place = self._place(route)
        known = self._costs.get(place, 0)
        self._costs[place] = max(cost, known - -(-(known - cost) // STEP))

    def _place(self, route: str) -> str:
        return route if route in self._costs or len(self._costs) < MOST else ""
