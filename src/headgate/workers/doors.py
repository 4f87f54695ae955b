"""Doors: the sockets that clients come in by, which the master keeps open for all workers.

A door has a socket for each worker, and the kernel deals out connections among them. The master
never lets go of them: what waits at the socket of a worker that died is taken in by the next one,
and a new master inherits them with what waits there. The first listens at once, so that nobody
else has the place; the others when their workers are up, so that nobody waits there for long.

A socket of the file system, or one that somebody else has opened, is one for all workers. Where a
new master has fewer workers than there are sockets, they have several each: what waits at a socket
where nobody stands is lost.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Iterable, Sequence

from headgate.rules.model.place import Place
from headgate.wire.berth import BACKLOG, bind, plug


class Door:
    """The sockets at one `address`, as rules spell it; `given` if somebody else has opened them.

    `path` is where it stands in the file system, if it does.
    """

    def __init__(self, address: str, lines: Sequence[socket.socket], given: bool = False) -> None:
        self.address = address
        self.lines = [*lines]
        self.given = given
        line = self.lines[0]
        self.path = str(line.getsockname()) if line.family == socket.AF_UNIX else ""
        self._file = file(self.path)

    @property
    def place(self) -> str:
        """Where it is in fact, as rules spell it: with the port that was free."""
        if self.path:
            return f"unix:{self.path}"
        host, port = self.lines[0].getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    @property
    def port(self) -> int:
        """Its port; 0 for a socket of the file system."""
        return 0 if self.path else int(self.lines[0].getsockname()[1])

    def share(self, slot: int, workers: int) -> list[socket.socket]:
        """The sockets of one of so many workers, so that somebody stands at each."""
        return self.lines[slot::workers] or [self.lines[slot % len(self.lines)]]

    def widen(self, place: Place, workers: int) -> None:
        """Have a socket for each of so many workers, if there can be several."""
        if self.path or self.given:
            return
        while len(self.lines) < workers:
            self.lines.append(bind(place._replace(port=self.port)))

    def close(self) -> None:
        """Keep them open no more; whoever else does is not concerned."""
        for line in self.lines:
            line.close()

    def remove(self) -> None:
        """Close it, and leave nothing of it in the file system, unless it was given."""
        self.close()
        if self.path and not self.given and file(self.path) == self._file:
            os.unlink(self.path)


def doors(places: Iterable[tuple[str, Place]], workers: int, known: Sequence[Door]) -> list[Door]:
    """A door at each place, for so many workers; of those that are `known`, the one that is there.

    Raises OSError, with the address, where there can be none.
    """
    made: list[Door] = []
    rest = [*known]
    try:
        for address, place in places:
            there = {address, str(place)}
            found = next((door for door in rest if there & {door.address, door.place}), None)
            if found is None:
                found = fresh(address, place, known)
            else:
                rest.remove(found)
                found.address = address
            made.append(found)
            found.widen(place, workers)
    except OSError:
        for door in made:
            if door not in known:
                door.remove()
        raise
    return made


def fresh(address: str, place: Place, known: Iterable[Door] = ()) -> Door:
    """A door where there was none; nobody else may have one there, but those that are known."""
    try:
        if place.port and place.port in [door.port for door in known]:
            # As of 127.0.0.1:80 and :80. It listens when its workers do: the known one serves yet.
            return Door(address, [bind(place)])
        vacant(place)
        return Door(address, [claim(place)])
    except OSError as problem:
        said = problem.strerror or str(problem)
        raise OSError(f"cannot listen on {address}: {said}") from None


def claim(place: Place) -> socket.socket:
    """A socket that listens there: one that is merely bound somebody else could have as well."""
    line = bind(place)
    try:
        line.listen(BACKLOG)
    except OSError:
        line.close()
        raise
    return line


def vacant(place: Place) -> None:
    """Raise OSError if somebody listens there: sockets that share a port would take half of it."""
    if not place.path:
        with plug(place) as line:
            line.bind((place.host, place.port))
            # Of two that were bound, only one may listen.
            line.listen()
        return
    if not os.path.lexists(place.path):
        return
    if not stat.S_ISSOCK(os.lstat(place.path).st_mode):
        raise FileExistsError(errno.EEXIST, "a file that is no socket stands there")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        if line.connect_ex(place.path) == 0:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


def file(path: str) -> tuple[int, int]:
    """What tells a file from another that stands in its place."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino
