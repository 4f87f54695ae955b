"""Deed: a file of this user's, opened so that nobody is fooled, and held for as long as it is used.

Whoever opens a file may have to make it first, and must be alone to do so. Two of the kernel's
locks tell, each on a byte of its own:

- the door, which one at a time goes through: it is held while a file is opened, checked and made
- the room, of which everybody inside has a share, for as long as the file is open; who gets all of
  it is alone

They belong to the open file, not to the process: a forked child goes on with its parent's, and the
kernel lets go when the last of them has closed it, however it ended.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import weakref
from contextlib import suppress

from headgate.clock import SystemClock
from headgate.errors import StoreUnavailable
from headgate.stores.flat.gate import seize

# Bytes far behind the end of any file: locks need none that exist.
DOOR = 1 << 60
ROOM = DOOR + 1
GATES = DOOR + 2

# How long to stand at a door: whoever is inside makes a file, or carries rows over to it.
PATIENCE = 10_000_000
NAP = 0.001


class Deed:
    """A share of the file at `path`, which is made if it is not there.

    Others stay outside until `admit`. `alone` says whether anybody else has it open. Work on the
    file in a `with`: where that fails, the share is given back at once, and what the system has
    against it becomes `StoreUnavailable`.
    """

    __slots__ = ("__weakref__", "alone", "file", "path")

    path: str
    file: int
    alone: bool

    def __init__(self, path: str) -> None:
        self.path = path
        self.file = -1
        while self.file < 0:
            with self:
                self._go_in()

    def _go_in(self) -> None:
        self.file = unfold(self.path)
        clock = SystemClock(offset=0)
        until = clock.now() + PATIENCE
        while not seize(self.file, DOOR, fcntl.F_WRLCK):
            if clock.now() > until:
                raise StoreUnavailable(
                    f"{self.path}: whoever is making it does not finish", "timeout"
                )
            clock.sleep(NAP)
        if self.removed:
            # Removed while we stood at its door: there may be another one by now.
            self.close()
            return
        self.alone = seize(self.file, ROOM, fcntl.F_WRLCK)
        if not self.alone:
            seize(self.file, ROOM, fcntl.F_RDLCK)

    def admit(self) -> None:
        """Let others in."""
        seize(self.file, ROOM, fcntl.F_RDLCK)
        seize(self.file, DOOR, fcntl.F_UNLCK)

    @property
    def removed(self) -> bool:
        """Whether the file has no name any more: who comes next finds another one."""
        return os.fstat(self.file).st_nlink == 0

    def close(self) -> None:
        """Give the share back."""
        if self.file >= 0:
            file, self.file = self.file, -1
            os.close(file)

    def __enter__(self) -> Deed:
        return self

    def __exit__(self, kind: object, problem: object, trace: object) -> None:
        # Not left to the last reference: a traceback may keep one for long.
        if kind is not None:
            self.close()
        if isinstance(problem, OSError):
            raise StoreUnavailable(f"{self.path}: {problem.strerror}") from problem

    def __del__(self) -> None:
        self.close()


class Bolt:
    """The file of a deed opened once more, for locks that are taken and given back all the time.

    A forked child opens it anew: else it would share its parent's locks, and keep them locked
    should the parent be killed.
    """

    __slots__ = ("__weakref__", "file")

    file: int

    def __init__(self, deed: Deed) -> None:
        self.file = again(deed.file)
        BOLTS.add(self)

    def renew(self) -> None:
        """Open it anew, in a forked child."""
        old, self.file = self.file, -1
        self.file = again(old)
        os.close(old)

    def __del__(self) -> None:
        if self.file >= 0:
            os.close(self.file)


def unfold(path: str) -> int:
    """Open a file of this user's for reading and writing, and nothing that only looks like one."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        reason = "it is a symbolic link" if problem.errno == errno.ELOOP else problem.strerror
        raise StoreUnavailable(f"{path}: {reason}") from problem
    found = os.fstat(file)
    reason = ""
    if not stat.S_ISREG(found.st_mode):
        reason = "it is not a plain file"
    elif found.st_uid != os.geteuid():
        reason = f"it belongs to user {found.st_uid}, and this is user {os.geteuid()}"
    if reason:
        os.close(file)
        raise StoreUnavailable(f"{path}: {reason}")
    return file


def furnish(path: str) -> str:
    """Make a folder that only this user can enter, unless there is one, and answer its path."""
    try:
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
        found = os.lstat(path)
    except OSError as problem:
        raise StoreUnavailable(f"{path}: {problem.strerror}") from problem
    reason = ""
    if stat.S_ISLNK(found.st_mode):
        reason = "it is a symbolic link"
    elif not stat.S_ISDIR(found.st_mode):
        reason = "it is not a folder"
    elif found.st_uid != os.geteuid():
        reason = f"it belongs to user {found.st_uid}, and this is user {os.geteuid()}"
    elif found.st_mode & 0o077:
        reason = f"others may enter it (mode {found.st_mode & 0o777:o}); make it 700"
    if reason:
        raise StoreUnavailable(f"{path}: {reason}")
    return path


def discard(path: str) -> None:
    """Remove a file, unless somebody has it open or is about to."""
    with suppress(OSError):
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if all(seize(file, place, fcntl.F_WRLCK) for place in (DOOR, ROOM)):
                os.unlink(path)
        finally:
            os.close(file)


def again(file: int) -> int:
    """The same file opened once more, though it may have no name any longer."""
    return os.open(f"/proc/self/fd/{file}", os.O_RDWR | os.O_CLOEXEC)


BOLTS: weakref.WeakSet[Bolt] = weakref.WeakSet()


def renew() -> None:
    """Give a forked child locks of its own."""
    for bolt in BOLTS:
        bolt.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=renew)
