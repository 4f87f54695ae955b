"""Hall: where guests of all protocols come in, and what they all share.

How many may be there, how long they may be silent, who they are, and whom they ask. The time is
told by whoever looks at the clock now and then; nothing here asks for it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from headgate.service.guest import Guest
from headgate.telemetry.meter import ANSWERS, Meter
from headgate.wire.house import House

# What a guest does not take in is kept up to so many bytes; then nothing more is read from it.
HIGH = 262_144
SPOKEN = ("http", "grpc", "resp", "spop")


class Hall:
    """The guests of a service, and the `teller` they ask.

    `callers` say who a guest is, `keeper` has the rules in force, `terms` are what those say of the
    service, and `things` is what protocols keep for all their guests, each under its own name.
    """

    def __init__(self, keeper: Any, teller: Any, callers: Any, house: House) -> None:
        self.keeper = keeper
        self.teller = teller
        self.callers = callers
        self.house = house
        self.guests: set[Guest] = set()
        self.turned = self.asked = self.refused = 0
        self.closing = False
        # How many guests there may be, and how many of one address.
        self.most = 10_000
        self.each = 0
        self.terms: Any = None
        self.loop: Any = None
        self.things: dict[str, Any] = {}
        # What is counted of requests, by protocol.
        self.meters = {speaks: Meter(ANSWERS) for speaks in SPOKEN}
        self._counts: Counter[str] = Counter()

    def seat(self, guest: Guest) -> bool:
        """Give a guest a place; whether there was one."""
        if guest in self.guests:
            return True
        crowded = bool(self.each) and self._counts[guest.peer] >= self.each
        if self.closing or crowded or len(self.guests) >= self.most:
            self.turned += 1
            return False
        self.guests.add(guest)
        self._counts[guest.peer] += 1
        return True

    def greet(self, guest: Guest) -> bool:
        """A guest has connected; whether it may stay. Who may not is hung up on."""
        if not self.seat(guest):
            guest.transport.abort()
            return False
        guest.transport.set_write_buffer_limits(HIGH)
        guest.deadline = self.house.now + self.house.until_head
        return True

    def part(self, guest: Guest) -> None:
        """A guest has gone."""
        if guest in self.guests:
            self.guests.discard(guest)
            self._counts[guest.peer] -= 1
            if not self._counts[guest.peer]:
                del self._counts[guest.peer]

    def sweep(self, now: int) -> None:
        """Look at those whose time is over."""
        for guest in [one for one in self.guests if 0 < one.deadline <= now]:
            guest.deadline = 0
            guest.expire()

    def retire(self) -> None:
        """Have all finish what is under way, and leave."""
        self.closing = True
        for guest in [*self.guests]:
            guest.retire()

    def close(self) -> None:
        """Hang up on everybody."""
        for guest in [*self.guests]:
            guest.transport.abort()
            self.part(guest)

    def status(self) -> dict[str, Any]:
        """What there is to know, for JSON."""
        return {
            "connections": len(self.guests),
            "turned_away": self.turned,
            "requests": self.asked,
            "refused": self.refused,
        }
