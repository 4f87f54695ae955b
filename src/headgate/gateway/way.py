"""Way: what is known of a request by its method and its target alone, and remembered."""

from __future__ import annotations

from typing import Any

from headgate.rules.live.ferry import Ferry
from headgate.rules.live.turnstile import Turnstile
from headgate.wire.spots import Spot

# So many are remembered, of targets of at most so many bytes.
REMEMBERED = 10_000
LONGEST = 256


class Way:
    """What is known of all requests with the same method and target.

    `rulings` are those that all of them meet, or None. A `turnstile` or a `ferry` is what they pass
    if that is all that rules will, and `free` are those that meet none. `road` is where they go, if
    that is the same for all.
    """

    __slots__ = ("ferry", "free", "road", "spot", "turnstile")

    def __init__(self, spot: Spot, rulings: tuple[Any, ...] | None, road: Any) -> None:
        self.spot = spot
        self.road = road
        self.free = rulings == ()
        self.turnstile: Turnstile | None = None
        self.ferry: Ferry | None = None
        if rulings is not None and len(rulings) == 1:
            self.turnstile = rulings[0].turnstile
            self.ferry = rulings[0].ferry
