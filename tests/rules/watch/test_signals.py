"""A signal that makes a process read its rules again."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.rules.watch.scenes import Desk, heard, limited, version

OLD, NEW, BAD = limited("5/min"), limited("7/min"), limited("7/sex")
NUMBER = signal.SIGHUP


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    """What the signal does is as before when the test is over."""
    before = signal.getsignal(NUMBER)
    yield
    signal.signal(NUMBER, before)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A watcher that would not look by itself for a day."""
    desk = Desk(tmp_path, OLD)
    desk.watcher.interval = 86_400.0
    return desk


def test_a_signal_makes_it_look_at_once(desk: Desk) -> None:
    wait = heard(desk.watcher)
    with desk.watcher:
        desk.watcher.obey(NUMBER)
        desk.file.write_text(NEW)
        os.kill(os.getpid(), NUMBER)

        assert wait(lambda status: status.loads == 1).version == version(NEW)


def test_a_signal_makes_it_try_again_what_was_refused(desk: Desk) -> None:
    desk.change(BAD)
    wait = heard(desk.watcher)
    with desk.watcher:
        desk.watcher.obey(NUMBER)
        os.kill(os.getpid(), NUMBER)

        assert wait(lambda status: status.failures == 2)


def test_a_handler_that_was_there_is_called_as_well(desk: Desk) -> None:
    called: list[int] = []
    signal.signal(NUMBER, lambda number, frame: called.append(number))
    wait = heard(desk.watcher)
    with desk.watcher:
        desk.watcher.obey(NUMBER)
        desk.watcher.obey(NUMBER)
        desk.file.write_text(NEW)
        signal.raise_signal(NUMBER)
        wait(lambda status: status.loads == 1)

    assert called == [NUMBER]


@pytest.mark.parametrize("before", [signal.SIG_DFL, signal.SIG_IGN, lambda number, frame: None])
def test_a_closed_watcher_gives_the_signal_back(desk: Desk, before: Any) -> None:
    signal.signal(NUMBER, before)
    with desk.watcher:
        desk.watcher.obey(NUMBER)
        obeyed = signal.getsignal(NUMBER)

    assert obeyed is not before
    assert signal.getsignal(NUMBER) is before


def test_a_handler_that_came_later_stays_and_may_go_on_calling(desk: Desk) -> None:
    called: list[str] = []
    signal.signal(NUMBER, lambda number, frame: called.append("first"))
    with desk.watcher:
        desk.watcher.obey(NUMBER)
        ours: Any = signal.getsignal(NUMBER)

        def later(number: int, frame: Any) -> None:
            called.append("later")
            ours(number, frame)

        signal.signal(NUMBER, later)
    signal.raise_signal(NUMBER)

    assert signal.getsignal(NUMBER) is later
    assert called == ["later", "first"]


def test_a_watcher_that_does_not_watch_does_not_mind(desk: Desk) -> None:
    desk.watcher.obey(NUMBER)
    desk.file.write_text(NEW)
    signal.raise_signal(NUMBER)

    assert desk.watcher.status.version == version(OLD)
    desk.watcher.close()


def test_a_request_that_is_interrupted_may_hold_any_lock(desk: Desk) -> None:
    wait = heard(desk.watcher)
    with desk.watcher:
        desk.watcher.obey(NUMBER)
        desk.file.write_text(NEW)
        with desk.keeper.lodge._lock, desk.keeper.lodge._shelf._lock:
            signal.raise_signal(NUMBER)

        assert wait(lambda status: status.loads == 1)


def test_another_thread_cannot_ask_for_signals(desk: Desk) -> None:
    refused: list[str] = []

    def ask() -> None:
        try:
            desk.watcher.obey(NUMBER)
        except RuntimeError as refusal:
            refused.append(str(refusal))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()

    assert refused == ["obey: SIGHUP can only be heard if the main thread asks for it"]


def test_closing_in_another_thread_leaves_a_signal_that_does_nothing(desk: Desk) -> None:
    called: list[int] = []
    signal.signal(NUMBER, lambda number, frame: called.append(number))
    desk.watcher.start().obey(NUMBER)
    thread = threading.Thread(target=desk.watcher.close)
    thread.start()
    thread.join()
    desk.file.write_text(NEW)
    signal.raise_signal(NUMBER)

    assert (called, desk.watcher.status.version) == ([NUMBER], version(OLD))
