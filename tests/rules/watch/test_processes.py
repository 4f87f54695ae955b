"""Several processes: each has its own watcher, and what they share goes on in all of them."""

from __future__ import annotations

import gc
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from headgate import SharedStore
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.model.rules import Rules
from headgate.rules.watch.watcher import WATCHING, Watcher
from tests.rules.watch.scenes import API, Desk, left, limited, replace, spelled, version, visit
from tests.servers.waiting import until
from tests.stores.redis.processes import together

OLD, NEW = limited("10/h"), limited("20/h")
OTHER: dict[str, Any] = {"name": "other", "match": {"path": "/other"}, "limit": "9/min"}
PLACES: dict[str, Any] = {"name": "places", "key": "client.ip"}


@pytest.fixture
def store() -> Iterator[str]:
    """A store that processes of this machine share."""
    name = f"watch-{uuid4().hex}"
    yield f"shared://{name}"
    SharedStore(name).remove()


@pytest.fixture
def pair(tmp_path: Path, store: str) -> Iterator[Callable[[str], Pair]]:
    """Two processes that begin with these rules."""
    pairs: list[Pair] = []

    def begin(text: str) -> Pair:
        pairs.append(Pair(tmp_path, text, store))
        return pairs[0]

    yield begin
    for one in pairs:
        one.close()


class Pair:
    """Two processes by one file, told what to do one after the other."""

    def __init__(self, folder: Path, text: str, store: str) -> None:
        self.desk = Desk(folder, text, store)
        self.asked, self.told = os.pipe(), os.pipe()
        self.child = self._fork(folder, store)
        # It has read the file before anybody changes it.
        os.read(self.told[0], 1)

    def _fork(self, folder: Path, store: str) -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child:
            return child
        try:
            keeper = Gatekeeper(self.desk.file, store, self.desk.clock)
            watcher = Watcher(keeper, self.desk.file, clock=self.desk.clock, settle=0.0)
            entries = []
            os.write(self.told[1], b".")
            while deed := os.read(self.asked[0], 1):
                if deed == b"i":
                    entries.append(visit(keeper))
                    said = int(bool(entries[-1]))
                else:
                    said = int(watcher.look()) if deed == b"l" else left(keeper)
                os.write(self.told[1], said.to_bytes(4, "little", signed=True))
        finally:
            os._exit(0)

    def other(self, deed: bytes) -> int:
        """What comes of it in the other process: to look, to visit, or to visit and stay."""
        os.write(self.asked[1], deed)
        return int.from_bytes(os.read(self.told[0], 4), "little", signed=True)

    def close(self) -> None:
        """End it."""
        os.close(self.asked[1])
        os.kill(self.child, 9)
        os.waitpid(self.child, 0)
        for end in (self.asked[0], *self.told):
            os.close(end)


def test_what_did_not_change_is_counted_together_while_processes_change_one_by_one(
    pair: Callable[..., Pair],
) -> None:
    both = pair(spelled(API, OTHER))
    before = [left(both.desk.keeper), both.other(b"v")]
    both.desk.change(spelled(API, {**OTHER, "limit": "1/h"}))
    between = [left(both.desk.keeper), both.other(b"v")]
    looked = both.other(b"l")

    assert (before, between, looked) == ([4, 3], [2, 1], 1)
    assert [left(both.desk.keeper), both.other(b"v")] == [0, -1]


def test_what_changed_is_carried_over_once_and_found_by_whoever_changes_later(
    pair: Callable[..., Pair],
) -> None:
    both = pair(OLD)
    before = [left(both.desk.keeper), both.other(b"v"), left(both.desk.keeper), both.other(b"v")]
    both.desk.change(NEW)
    # Six of ten are twelve of twenty. Who has not looked yet goes by the old limit, as it stood.
    between = [left(both.desk.keeper), both.other(b"v")]
    both.other(b"l")

    assert (before, between) == ([9, 8, 7, 6], [11, 5])
    assert [left(both.desk.keeper), both.other(b"v")] == [10, 9]


def test_who_is_inside_in_one_process_is_counted_in_the_other_when_places_change(
    pair: Callable[..., Pair],
) -> None:
    both = pair(spelled({**PLACES, "concurrent": 2}))
    entries = [visit(both.desk.keeper), visit(both.desk.keeper)]
    both.desk.change(spelled({**PLACES, "concurrent": 3}))
    late = both.other(b"i")
    both.other(b"l")
    inside = [both.other(b"i"), both.other(b"i"), int(bool(visit(both.desk.keeper)))]
    for entry in entries:
        both.desk.keeper.leave(entry)

    # By the old rules there was no place left, by the new ones there is one.
    assert (late, inside) == (0, [1, 0, 0])
    assert [both.other(b"i"), both.other(b"i"), both.other(b"i")] == [1, 1, 0]


def test_a_forked_child_has_a_watcher_of_its_own_from_its_first_request_on(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path, OLD)

    def work() -> tuple[list[str], str, list[str]]:
        replace(desk.file, NEW)
        idle = threads()
        first = visit(desk.keeper).version
        busy = threads()
        until(lambda: desk.keeper.version == version(NEW), "the new rules")
        return idle, first, busy

    # The parent's own thread has looked, and does not look again while the test lasts.
    with Watcher(desk.keeper, desk.file, 3600.0, 0.0) as watcher:
        until(lambda: watcher._seen, "the first look")
        assert together([work]) == [([], version(OLD), ["headgate-rules"])]
        assert (threads(), desk.keeper.version) == (["headgate-rules"], version(OLD))


def test_a_child_that_changes_rules_before_its_first_request_watches_all_the_same(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path, OLD)

    def work() -> tuple[str, list[str]]:
        desk.keeper.change(Rules.read(NEW, "json"))
        first = visit(desk.keeper).version
        return first, threads()

    with Watcher(desk.keeper, desk.file, 3600.0, 0.0) as watcher:
        until(lambda: watcher._seen, "the first look")
        assert together([work]) == [(version(NEW), ["headgate-rules"])]


def threads() -> list[str]:
    """The watchers' threads."""
    return [one.name for one in threading.enumerate() if one.name == "headgate-rules"]


@pytest.fixture
def apart() -> None:
    """Whoever looks for garbage finds only what the test has made."""
    gc.collect()
    gc.freeze()


@pytest.mark.usefixtures("apart")
def test_a_watcher_that_nobody_holds_goes_on_in_a_child(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    watchers = [Watcher(desk.keeper, desk.file, 3600.0, 0.0).start()]
    watching = weakref.ref(watchers.pop())

    def work() -> list[str]:
        # What a thread that is not here any more held is no reason to be alive.
        gc.collect()
        visit(desk.keeper)
        return threads()

    try:
        assert together([work], collecting=True) == [["headgate-rules"]]
        assert watching() in WATCHING
    finally:
        for watcher in [*WATCHING]:
            watcher.close()


def test_children_of_a_child_have_watchers_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)

    def grandchild() -> str:
        visit(desk.keeper)
        until(lambda: desk.keeper.version == version(NEW), "the new rules")
        return desk.keeper.version

    def child() -> str:
        return str(together([grandchild])[0])

    with desk.watcher:
        replace(desk.file, NEW)
        assert together([child]) == [version(NEW)]


def test_a_child_of_a_parent_that_does_not_watch_does_not_either(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    with desk.watcher:
        pass

    def work() -> list[str]:
        visit(desk.keeper)
        return threads()

    assert together([work]) == [[]]


def test_a_child_may_close_its_watcher_before_its_first_request(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)

    def work() -> tuple[list[str], int]:
        desk.watcher.close()
        return threads(), left(desk.keeper) + len(threads())

    with desk.watcher:
        assert together([work]) == [([], 9)]


def test_a_child_that_is_forked_in_the_middle_of_a_load_catches_up(tmp_path: Path) -> None:
    # Everything that the parent's thread holds at that moment, and what it has noted already.
    desk = Desk(tmp_path, OLD)
    text = spelled()

    def work() -> tuple[bool, str]:
        return desk.watcher.look(), desk.keeper.version

    with desk.watcher._lock, desk.keeper.lodge._lock:
        replace(desk.file, text)
        found = desk.watcher.source.fetch("")
        assert found is not None
        desk.watcher._seen = found.mark
        told = together([work])

    assert told == [(True, version(text))]
