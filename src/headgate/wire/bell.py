"""Bell: tells the log of what anybody can bring about by connecting.

Whoever does it again and again shall not fill the log: there is one line a second, and the next
one says how many were left out.
"""

from __future__ import annotations

import logging

from headgate.measures import MILLION
from headgate.wire.house import House

logger = logging.getLogger("headgate.wire")

# For so many microseconds after a line there is no other.
HUSH = MILLION


class Bell:
    """Writes lines of one kind and one `level`, by the time of the house."""

    def __init__(self, level: int, house: House) -> None:
        self._level = level
        self._house = house
        self._until = 0
        self._unheard = 0

    def ring(self, said: str, *particulars: object) -> None:
        """Write a line, or only count it if it is too soon."""
        now = self._house.now
        if now < self._until:
            self._unheard += 1
            return
        if self._unheard:
            said += " (%d more before)"
            particulars = (*particulars, self._unheard)
            self._unheard = 0
        self._until = now + HUSH
        logger.log(self._level, said, *particulars)
