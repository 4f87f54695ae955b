"""Waiter: somebody at the door of a room."""

from __future__ import annotations

from typing import Any


class Waiter:
    """Since when one waits, for which part of the room, and as if since when."""

    __slots__ = ("bell", "inside", "left", "moment", "part", "rank")

    bell: Any

    def __init__(self, bell: Any, part: int, moment: int, rank: int) -> None:
        # What to ring once there is a place; the room never looks at it.
        self.bell = bell
        self.part = part
        self.moment = moment
        self.rank = rank
        self.inside = self.left = 0
