"""Wheel: turns over the sockets of which there is something to read, and sends what they answer.

An event loop has transports that do this; between it and each of them lie calls, contexts and
objects, which cost as much as the request itself. Here the loop watches one thing, the wheel. It
turns when anything has come, takes in all of it, and sends at the end of the turn what was said in
the course of it, so that who sleeps on the other side is woken once.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import select
from contextlib import suppress
from typing import TYPE_CHECKING

from headgate.wire.signs import COMES, GOES

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

if cython.compiled:
    from cython.cimports.headgate.wire.pump import wait, what, which

# So much is read at once, and so many sockets are looked at in one turn.
BASIN = 262_144
CROWD = 256
# So much is passed on at once without being looked at.
TANK = 1_048_576


class Spoke:
    """A socket on a wheel, by its number; `due` says that there is something to send."""

    __slots__ = ("due", "number")

    due: bool
    number: int

    def draw(self) -> None:
        """Take in what has come."""
        raise NotImplementedError

    def flush(self, more: bool = False) -> None:
        """Send what there is; with `more`, the rest follows at once."""
        raise NotImplementedError

    def abort(self) -> None:
        """Hang up now."""
        raise NotImplementedError

    def blame(self, problem: Exception) -> None:
        """Whoever was told something has failed at it."""
        raise NotImplementedError


class Wheel:
    """The sockets of one event loop, on systems that have epoll."""

    __slots__ = (
        "basin", "due", "epoll", "funnel", "loop", "number", "page", "planned", "spokes", "spout",
        "turning",
    )  # fmt: skip

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.epoll = select.epoll()
        self.number = self.epoll.fileno()
        self.basin = bytearray(BASIN)
        # The ends of a tank of the system's, in which bytes go from one socket to another. Whoever
        # fills it empties it.
        self.spout, self.funnel = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        with suppress(OSError):
            fcntl.fcntl(self.funnel, fcntl.F_SETPIPE_SZ, TANK)
        # What the system writes of who is ready, at most 16 bytes for each.
        self.page = bytearray(16 * CROWD)
        # By the numbers of their sockets; and those that have something to send.
        self.spokes: list[Spoke | None] = []
        self.due: list[Spoke] = []
        # Whether it turns, and whether the loop will have it send what there is.
        self.turning = self.planned = False
        loop.add_reader(self.number, self.turn)

    def turn(self) -> None:
        """Take in all that has come, then send all that is to be sent."""
        self.turning = True
        try:
            if cython.compiled:
                count = wait(self.number, self.page, CROWD)
                for place in range(count):
                    self.stir(which(self.page, place), what(self.page, place))
            else:
                for number, signs in self.epoll.poll(0, CROWD):
                    self.stir(number, signs)
        finally:
            self.turning = False
            self.settle()

    def stir(self, number: int, signs: int) -> None:
        """Something can be done with a socket."""
        spoke = self.spokes[number]
        if spoke is None:
            return
        try:
            # What is wrong shows when it is read from, or written to.
            if signs & ~GOES:
                spoke.draw()
            if signs & ~COMES:
                spoke.flush()
        except Exception as problem:
            spoke.blame(problem)

    def remind(self, spoke: Spoke) -> None:
        """Have what a socket has to say sent when everybody has had their say."""
        self.due.append(spoke)
        if not self.turning and not self.planned:
            self.planned = True
            self.loop.call_soon(self.settle)

    def settle(self) -> None:
        """Send what was said."""
        self.planned = False
        due = self.due
        place = 0
        while place < len(due):
            spoke = due[place]
            place += 1
            if spoke.due:
                try:
                    spoke.flush()
                except Exception as problem:
                    spoke.blame(problem)
        due.clear()

    def enter(self, spoke: Spoke) -> None:
        """Keep a socket."""
        while len(self.spokes) <= spoke.number:
            self.spokes.append(None)
        self.spokes[spoke.number] = spoke

    def close(self) -> None:
        """Stop; whoever is still there is cut."""
        for spoke in self.spokes:
            if spoke is not None:
                spoke.abort()
        if not self.epoll.closed:
            self.loop.remove_reader(self.number)
            self.epoll.close()
            os.close(self.spout)
            os.close(self.funnel)
