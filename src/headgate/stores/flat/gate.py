"""Gate: lets one at a time change the rows of a block, whatever process it is in.

Compiled, the gate is a mutex in the block itself, of the kind that the kernel unlocks when its
holder dies. It is nearly always free; where it is not, the caller tries again for a moment and then
waits, with the interpreter's lock given up. The wait ends when the mutex was free, and not when it
is held: to hold it while others hold the interpreter would stop every process of the machine.

Interpreted, the gate is a lock on one byte of the file, and a lock between threads that a signal
handler may enter again. A decision made in a signal handler in the middle of another one is not
noted: killed in that very moment, a process leaves its row as it was then.

Nobody waits for as long as a second: a holder that was stopped must not stop everybody else.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headgate.clock import SystemClock
from headgate.errors import StoreUnavailable
from headgate.stores.flat.desk import Desk

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

if cython.compiled:
    from cython.cimports.headgate.stores.flat.mutex import attempt, linger, make, spin, unlock

PATIENCE = 900_000
SPINS = 100
# Waits are cut into slices: a wakeup that was lost costs no more than one.
SLICE = 50_000
# The first nap of an interpreted wait in seconds, doubled up to the longest.
NAP = 0.00002
LONGEST = 0.001


class Gate:
    """The gate to the rows before `desk`; `plot` says where it stands."""

    __slots__ = ("desk", "marks", "plot", "thread")

    desk: Desk
    plot: Any
    thread: Any
    marks: list[int]

    def __init__(self, desk: Desk, plot: Any) -> None:
        self.desk = desk
        self.plot = plot
        if cython.compiled:
            # Nobody else is inside, so nobody holds it, whatever the file says.
            if plot.alone and make(self.desk.mutex()) != 0:
                raise StoreUnavailable(f"{plot.path}: this system has no mutexes for it")
        else:
            self.renew()

    def renew(self) -> None:
        # In a forked child, a lock between threads may be held by one that is not there.
        self.thread = threading.RLock()
        self.marks = []

    def enter(self) -> None:
        # Compiled: go in, or raise `StoreUnavailable`. From here to `leave` nothing may raise.
        if cython.compiled and attempt(self.desk.mutex()) != 0:
            self.wait()
        if self.desk.marked() != 0:
            self.desk.undo()

    def wait(self) -> None:
        clock = SystemClock(offset=0)
        until = clock.read() + PATIENCE
        taken = False
        while not taken:
            # Where it stands may change meanwhile; what we wait for must stay where it is.
            desk = self.desk
            taken = spin(desk.mutex(), SPINS) == 0
            if clock.read() > until:
                if taken:
                    unlock(desk.mutex())
                raise StoreUnavailable(late(self.plot.path), "timeout")
            if not taken:
                linger(desk.mutex(), min(until, clock.read() + SLICE))

    def leave(self) -> None:
        self.desk.done()
        if cython.compiled:
            unlock(self.desk.mutex())

    def acquire(self) -> None:
        """Go in, or raise `StoreUnavailable`; interpreted only, as what follows."""
        if not self.thread.acquire(timeout=PATIENCE / 1_000_000):
            raise StoreUnavailable(late(self.plot.path), "timeout")
        # A signal may come between any two of these lines, and its handler go in and out.
        self.marks.append(-1)
        try:
            self.fasten()
        except BaseException:
            self.release()
            raise
        mark = self.desk.marked()
        if mark != 0 and 0 not in self.marks:
            # Not noted by a decision that we interrupt, so by one that was killed.
            self.desk.undo()
            mark = 0
        self.marks[len(self.marks) - 1] = mark

    def fasten(self) -> None:
        if not self.bolted():
            persist(self.bolted, self.plot.path)

    def bolted(self) -> bool:
        return seize(self.plot.bolt.file, self.plot.place, fcntl.F_WRLCK)

    def release(self) -> None:
        try:
            if self.marks[len(self.marks) - 1] == 0:
                self.desk.done()
        finally:
            self.marks.pop()
            if not self.marks:
                seize(self.plot.bolt.file, self.plot.place, fcntl.F_UNLCK)
            self.thread.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, kind: object, *rest: object) -> None:
        try:
            if kind is not None and self.marks[len(self.marks) - 1] == 0:
                # Interrupted, as by Ctrl-C: what was begun is not to stay half done.
                self.desk.undo()
        finally:
            self.release()

    def follow(self, other: Gate) -> None:
        # Stand from now on where `other` does; nobody is inside.
        self.desk = other.desk
        self.plot = other.plot


def persist(attempt: Callable[[], bool], path: str) -> None:
    """Try until it succeeds, with longer and longer naps; raises `StoreUnavailable` if it does not.

    What was tried is a way into the file at `path`.
    """
    clock = SystemClock(offset=0)
    until = clock.now() + PATIENCE
    nap = NAP
    taken = False
    while not taken:
        clock.sleep(nap)
        nap = min(2 * nap, LONGEST)
        taken = attempt()
        if clock.now() > until:
            raise StoreUnavailable(late(path), "timeout")


def seize(file: int, place: int, kind: int) -> bool:
    """Take, change or give up the lock on one byte; false if somebody else has it."""
    wanted = struct.pack("hhqqi", kind, os.SEEK_SET, place, 1, 0)
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, wanted)
    except OSError as problem:
        if problem.errno in {errno.EAGAIN, errno.EACCES}:
            return False
        raise
    return True


def late(path: str) -> str:
    """What is said when the gate stays shut."""
    return (
        f"{path}: no way in within {PATIENCE / 1_000_000} s; the process that is inside is "
        "stopped, or the machine is overloaded"
    )


def form() -> str:
    """How gates are made here: those who make them otherwise cannot share a file."""
    if not cython.compiled:
        return "file"
    name = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else ""
    return f"mutex-{(name or 'libc').split()[0]}-{os.uname().machine}"
