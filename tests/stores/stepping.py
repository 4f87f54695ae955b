"""Stepping: how far a change of common memory has come whenever its process may be killed.

Compiled, a forked child is walked through its work one instruction of the processor at a time.
Interpreted, that would take minutes, and nothing is written but through the cells of the rows and
of the desk: it is enough to look after each of those writes.
"""

from __future__ import annotations

import ctypes
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

import pytest

import headgate

TRACEME, CONT, STEP = 0, 7, 9


def watch(ledger: Any, work: Callable[[], object], look: Callable[[], object]) -> None:
    """Have `work` done, and `look` called wherever it could have been killed."""
    if headgate.COMPILED:
        for _ in walk(work):
            look()
        return
    with observed(ledger, look):
        work()


@contextmanager
def halted(
    ledger: Any, work: Callable[[], object], reached: Callable[[], bool]
) -> Iterator[Callable[[], None]]:
    """A child stopped in the middle of `work`, where `reached` is true; it is killed at the end.

    What is given is how to let it go on to its end before that.
    """
    if headgate.COMPILED:
        way = walk(work)
        child = next(child for child in way if reached())
        yield lambda: resume(child)
        way.close()
        return

    def stop() -> None:
        if reached():
            os.kill(os.getpid(), signal.SIGSTOP)

    def stumble() -> None:
        with observed(ledger, stop):
            work()

    child = fork(stumble)
    os.waitpid(child, os.WUNTRACED)

    def go_on() -> None:
        stopped = True
        while stopped:
            os.kill(child, signal.SIGCONT)
            _, status = os.waitpid(child, os.WUNTRACED)
            stopped = os.WIFSTOPPED(status)

    yield go_on
    end(child)


def walk(work: Callable[[], object]) -> Iterator[int]:
    """Fork a child that does `work`; yields its process id after every instruction of it.

    Whoever stops early leaves the child standing where it is until the iterator is closed.
    """

    def traced() -> None:
        trace(TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        work()

    child = fork(traced)
    try:
        while os.WIFSTOPPED(os.waitpid(child, 0)[1]):
            yield child
            if trace(STEP, child) < 0:
                pytest.skip("this system lets nobody walk a process through its work")
    finally:
        end(child)


def resume(child: int) -> None:
    """Let a child that is being walked run to its end."""
    trace(CONT, child)
    os.waitpid(child, 0)


def trace(request: int, child: int) -> int:
    return int(ptrace()(request, child, None, None))


@cache
def ptrace() -> Callable[..., int]:
    """The system call, looked up once: it is called for every instruction."""
    call = ctypes.CDLL(None).ptrace
    call.restype = ctypes.c_long
    call.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    return call


def fork(work: Callable[[], object]) -> int:
    with warnings.catch_warnings():
        # Newer Pythons warn of forking with threads.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child


def end(child: int) -> None:
    with suppress(ProcessLookupError, ChildProcessError):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


class Observed:
    """Cells that call `look` after each write."""

    def __init__(self, cells: Any, look: Callable[[], object]) -> None:
        self.cells = cells
        self.look = look

    def __getitem__(self, place: int) -> Any:
        return self.cells[place]

    def __setitem__(self, place: int, value: int) -> None:
        self.cells[place] = value
        self.look()


@contextmanager
def observed(ledger: Any, look: Callable[[], object]) -> Iterator[None]:
    """Have `look` called after each write to the only drawer of an interpreted ledger."""
    rows = ledger.drawers[0].rows
    cells = rows.cells
    rows.cells = rows.desk.cells = Observed(cells, look)
    try:
        yield
    finally:
        rows.cells = rows.desk.cells = cells
