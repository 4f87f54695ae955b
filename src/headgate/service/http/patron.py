"""Patron: a guest who speaks HTTP."""

from __future__ import annotations

from typing import Any

from headgate.service.guest import PARTING, asks
from headgate.wire.inlet import Inlet
from headgate.wire.phases import BODY, HEAD, IDLE, TUNNEL


class Patron(Inlet):
    """A connection, as a hall knows its guests. `desk` is the reception that deals with it."""

    __slots__ = ("caller",)

    def __init__(self, reception: Any, peer: str) -> None:
        Inlet.__init__(self, reception, reception.house, reception.scheme, peer)
        # Whom it was last taken for, if anybody was named.
        self.caller: Any = None

    @property
    def busy(self) -> bool:
        """Whether something that it asked is still to be answered."""
        return bool(self.queue) or self.latest is not None

    def expire(self) -> None:
        """It has taken too long to ask, or takes nothing in."""
        phase = self.phase
        if phase == IDLE and not (self.paused or self.clogged) and asks(self.transport):
            # It has just asked something; that is read before anybody looks again.
            self.deadline = self.house.now + 1
        elif phase == HEAD and not self.queue:
            self.blame(408)
        elif phase == BODY and self.queue and not self.clogged:
            self.desk.spoil(self.queue[0], 408)
        else:
            self.transport.abort()

    def retire(self) -> None:
        """The service ends: it is told so with its answer, or hung up on if it asks nothing."""
        if self.phase == IDLE and not self.queue:
            self.deadline = min(self.deadline, self.house.now + PARTING)
        elif self.phase >= TUNNEL:
            self.transport.close()
