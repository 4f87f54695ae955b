"""Real processes that begin at one moment, and what each of them comes to."""

from __future__ import annotations

import base64
import gc
import os
import pickle
import select
import signal
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.stores.crew import Crew

# Seconds after which a child that has not answered is taken to hang.
PATIENCE = 120.0
WORKER = Path(__file__).with_name("worker.py")


class Child(NamedTuple):
    """A forked process, and the end of the pipe that it answers on."""

    number: int
    pipe: int


def together(works: Sequence[Callable[[], Any]], collecting: bool = False) -> list[Any]:
    """What each of `works` comes to in a process of its own; all begin when all are there.

    Garbage of the parent is let be, unless it is what one looks for.
    """
    gate = os.pipe()
    children = [fork(work, gate, collecting) for work in works]
    # Nobody holds the other end any more: the children, who wait for a word, see its end.
    os.close(gate[0])
    os.close(gate[1])
    try:
        answers = [pickle.loads(heard(child)) for child in children]
    finally:
        for child in children:
            os.kill(child.number, signal.SIGKILL)
            os.waitpid(child.number, 0)
            os.close(child.pipe)
    return results(answers)


def run_together(works: Sequence[Callable[[], Any]]) -> list[Any]:
    """The same for calls that can be pickled, in processes that are forked from a small program.

    A fork of the test process copies the page table of everything that was collected.
    """
    with Crew(len(works), WORKER) as crew:
        loads = [{"work": base64.b64encode(pickle.dumps(work)).decode()} for work in works]
        crew.ask("load", *loads)
        answers = [pickle.loads(base64.b64decode(answer)) for answer in crew.ask("run")]
    return results(answers)


def results(answers: list[tuple[bool, Any]]) -> list[Any]:
    for failed, answer in answers:
        if failed:
            raise AssertionError(f"a child failed:\n{answer}")
    return [answer for _, answer in answers]


def fork(work: Callable[[], Any], gate: tuple[int, int], collecting: bool) -> Child:
    out, into = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of forking with threads; some of what is tried here is just that.
        warnings.simplefilter("ignore", DeprecationWarning)
        number = os.fork()
    if number:
        os.close(into)
        return Child(number, out)
    try:
        # What others have left there is not the child's to end: gRPC's queues wait for threads that
        # are not here.
        if not collecting:
            gc.freeze()
        os.close(gate[1])
        os.read(gate[0], 1)
        answer = pickle.dumps(attempt(work))
        with os.fdopen(into, "wb") as pipe:
            pipe.write(answer)
        # Whoever started us ends us: what we hold open is to be there until all have answered.
        signal.pause()
    finally:
        os._exit(0)


def attempt(work: Callable[[], Any]) -> tuple[bool, Any]:
    try:
        return False, work()
    except BaseException:
        return True, traceback.format_exc()


def heard(child: Child) -> bytes:
    """All that a child says."""
    said = b""
    while True:
        ready, _, _ = select.select([child.pipe], [], [], PATIENCE)
        if not ready:
            raise TimeoutError(f"process {child.number} hangs")
        more = os.read(child.pipe, 1 << 20)
        if not more:
            return said
        said += more
