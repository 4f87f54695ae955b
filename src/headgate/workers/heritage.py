"""Heritage: the sockets that a master finds open, from its predecessor or from systemd.

The variable says which they are; it is taken out of the environment, so that no child takes the
same numbers for its own.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass

from headgate.workers.doors import Door

# From a predecessor, as JSON, and from systemd (sd_listen_fds).
VARIABLE = "HEADGATE_SOCKETS"
COUNT, PID, NAMES = "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"
FIRST = 3


@dataclass(frozen=True)
class Heritage:
    """What was left: doors, the admin's door, and a line to the predecessor if there is one."""

    doors: tuple[Door, ...] = ()
    admin: Door | None = None
    line: socket.socket | None = None

    @property
    def every(self) -> tuple[Door, ...]:
        """All doors."""
        return self.doors if self.admin is None else (*self.doors, self.admin)


def inherit(environment: MutableMapping[str, str], addresses: Sequence[str]) -> Heritage:
    """What is left to this process, which listens on these addresses.

    Raises ValueError if systemd left something else than a socket for each.
    """
    said = environment.pop(VARIABLE, "")
    count, pid = environment.pop(COUNT, ""), environment.pop(PID, "")
    environment.pop(NAMES, "")
    if said:
        return bequeathed(said)
    if count and pid == str(os.getpid()):
        return activated(int(count), addresses)
    return Heritage()


def bequest(heritage: Heritage) -> tuple[str, list[int]]:
    """What a successor is told in its environment, and the numbers of the files it inherits."""
    line = -1 if heritage.line is None else heritage.line.fileno()
    plain = {
        "doors": [spelled(door) for door in heritage.doors],
        "admin": None if heritage.admin is None else spelled(heritage.admin),
        "line": line,
    }
    return json.dumps(plain), [
        line,
        *(one.fileno() for door in heritage.every for one in door.lines),
    ]


def bequeathed(said: str) -> Heritage:
    """What a predecessor has left."""
    plain = json.loads(said)
    admin = plain["admin"]
    return Heritage(
        tuple(door(*one) for one in plain["doors"]),
        None if admin is None else door(*admin),
        socket.socket(fileno=plain["line"]),
    )


def activated(count: int, addresses: Sequence[str]) -> Heritage:
    """What systemd has opened: a socket for each address, in the same order."""
    if count != len(addresses):
        raise ValueError(
            f"systemd has {count} sockets for {len(addresses)} addresses; "
            "have a ListenStream for each, in the order of listen"
        )
    numbers = range(FIRST, FIRST + count)
    found = zip(addresses, numbers, strict=True)
    return Heritage(tuple(door(address, [number], True) for address, number in found))


def spelled(door: Door) -> tuple[str, list[int], bool]:
    """A door as plain data."""
    return door.address, [line.fileno() for line in door.lines], door.given


def door(address: str, numbers: Sequence[int], given: bool) -> Door:
    """A door of sockets that are open, which no child has unless it is given to it."""
    lines = [socket.socket(fileno=number) for number in numbers]
    for line in lines:
        line.set_inheritable(False)
        line.setblocking(False)
    return Door(address, lines, given)
