"""An entry: one who is inside, or was, as the process knows it."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any


class State(Enum):
    """What an entry is doing."""

    HELD = auto()  # inside
    LEAVING = auto()  # its leave is on the way
    ORPHAN = auto()  # nobody has it any more, and the server has to be told
    GONE = auto()  # has left


class Entry:
    """A ticket, the key it is for, and the place on the server where it is counted.

    `moving` says that it is part of a move that is not known to be done, `doubt` that it may not
    have been let in at all, `reported` that nothing is to be said if it is lost. `tries` counts how
    often the server was told of its leave in vain.
    """

    __slots__ = ("doubt", "key", "moving", "place", "reported", "state", "ticket", "tries")

    def __init__(self, key: str, ticket: str, place: Any) -> None:
        self.key = key
        self.ticket = ticket
        self.place = place
        self.state = State.HELD
        self.moving = False
        self.doubt = False
        self.reported = False
        self.tries = 0


class Move:
    """What is said to keep up the permits of some entries."""

    __slots__ = ("entries", "said")

    def __init__(self, entries: list[Entry], *said: str) -> None:
        self.entries = entries
        self.said = said
