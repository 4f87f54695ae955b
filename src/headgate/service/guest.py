"""Guest: a connection of whoever asks the service, in whatever protocol.

A hall knows its guests by what is said here. To a transport a guest is a protocol, as event loops
have them: `connection_made`, `data_received` and the rest.
"""

from __future__ import annotations

import select
from typing import Any, Protocol

# For so many microseconds who has asked nothing may still ask, when all take their leave.
PARTING = 1_000_000
POLL = select.poll()


class Guest(Protocol):
    """Somebody who is connected.

    `peer` is the address it comes from, if it has one, and `caller` who it is, once that is known.
    `deadline` is when it is to be looked at again, in microseconds of the house; 0 is never.
    """

    peer: str
    caller: Any
    transport: Any
    deadline: int

    @property
    def busy(self) -> bool:
        """Whether something that it asked is still to be answered."""

    def expire(self) -> None:
        """Its deadline is over: it has said nothing for too long, or takes nothing in."""

    def retire(self) -> None:
        """The service ends: what is under way is answered, and nothing new is taken."""


def asks(transport: Any) -> bool:
    """Whether there is something to be read from somebody, and not just the end."""
    line = transport.get_extra_info("socket")
    if line is None or line.fileno() < 0:
        return False
    POLL.register(line.fileno(), select.POLLIN | select.POLLRDHUP)
    try:
        signs = [sign for _, sign in POLL.poll(0)]
    finally:
        POLL.unregister(line.fileno())
    return bool(signs) and not signs[0] & select.POLLRDHUP
