"""The life of a watcher: its thread, whom it tells, what it logs, and how it is made."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from headgate.clock import ManualClock
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper
from headgate.rules.matching.request import Request
from headgate.rules.model.rules import Rules
from headgate.rules.watch.sources import FileRules, RedisRules
from headgate.rules.watch.watcher import WATCHING, Status, Watcher
from tests.rules.watch.scenes import Desk, heard, limited, replace, version
from tests.servers.waiting import until

OLD, NEW, BAD = limited("5/min"), limited("7/min"), limited("7/sex")
SOON = 0.002


def test_a_thread_looks_by_itself(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    with Watcher(desk.keeper, desk.file, SOON, 0.0) as watcher:
        wait = heard(watcher)
        replace(desk.file, NEW)
        good = wait(lambda status: status.loads == 1)
        replace(desk.file, BAD)
        bad = wait(lambda status: status.failures == 1)

    assert (good.version, bad.version) == (version(NEW), version(NEW))
    assert (good.problems, len(bad.problems)) == ((), 1)


def test_an_async_gatekeeper_is_watched_from_a_thread_too(tmp_path: Path) -> None:
    async def visited(keeper: AsyncGatekeeper) -> str:
        return (await keeper.enter(Request(client="192.0.2.1"))).version

    file = tmp_path / "rules.json"
    file.write_text(OLD)
    keeper = AsyncGatekeeper(file)
    before = asyncio.run(visited(keeper))
    with Watcher(keeper, file, SOON, 0.0) as watcher:
        wait = heard(watcher)
        replace(file, NEW)
        wait(lambda status: status.loads == 1)

    assert (before, asyncio.run(visited(keeper))) == (version(OLD), version(NEW))


def test_a_gatekeeper_may_watch_by_itself(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text(OLD)
    before = {*threading.enumerate()}
    keeper = Gatekeeper(file, watch=SOON)
    assert keeper.watcher is not None
    wait = heard(keeper.watcher)
    replace(file, NEW)
    wait(lambda status: status.loads == 1)
    keeper.close()

    assert keeper.version == version(NEW)
    assert {*threading.enumerate()} <= before


def test_an_async_gatekeeper_may_watch_by_itself(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text(OLD)
    before = {*threading.enumerate()}

    async def main() -> str:
        keeper = AsyncGatekeeper(file, watch=SOON)
        assert keeper.watcher is not None
        wait = heard(keeper.watcher)
        replace(file, NEW)
        await asyncio.to_thread(wait, lambda status: status.loads == 1)
        await keeper.close()
        return keeper.version

    assert asyncio.run(main()) == version(NEW)
    assert {*threading.enumerate()} <= before


def test_rules_that_stand_nowhere_cannot_be_watched() -> None:
    with pytest.raises(TypeError, match="rules stand in a file or in RedisRules, not in Rules"):
        Gatekeeper(Rules(), watch=1.0)


def test_the_thread_is_a_daemon_of_that_name_and_ends_with_the_block(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    before = {*threading.enumerate()}
    with desk.watcher:
        (thread,) = {*threading.enumerate()} - before

    assert (thread.name, thread.daemon, thread.is_alive()) == ("headgate-rules", True, False)


def test_a_watcher_that_is_started_twice_has_one_thread(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    before = {*threading.enumerate()}
    with desk.watcher.start() as watcher:
        assert len({*threading.enumerate()} - before) == 1

    watcher.close()
    assert {*threading.enumerate()} <= before


def test_a_watcher_that_was_closed_can_be_started_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    with desk.watcher:
        pass
    replace(desk.file, NEW)
    wait = heard(desk.watcher)
    with desk.watcher:
        assert wait(lambda status: status.loads == 1).version == version(NEW)


def test_a_watcher_that_was_closed_before_it_began_goes_on_looking(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    watcher = Watcher(desk.keeper, desk.file, SOON, 0.0)
    watcher.close()
    wait = heard(watcher)
    with watcher:
        replace(desk.file, NEW)
        wait(lambda status: status.loads == 1)
        replace(desk.file, OLD)

        assert wait(lambda status: status.loads == 2).version == version(OLD)


def test_who_is_told_may_close_the_watcher_and_start_it_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    wait = heard(desk.watcher)

    def restart(status: Status) -> None:
        desk.watcher.close()
        desk.watcher.start()

    desk.watcher.listen(restart)
    replace(desk.file, NEW)
    with desk.watcher.start():
        wait(lambda status: status.loads == 1)
        replace(desk.file, BAD)
        wait(lambda status: status.failures == 1)


def test_a_watcher_that_nobody_holds_watches_as_long_as_there_is_a_gatekeeper(
    tmp_path: Path,
) -> None:
    file = tmp_path / "rules.json"
    file.write_text(OLD)
    house = [Gatekeeper(file)]
    before = {*threading.enumerate()}
    Watcher(house[0], file, SOON, 0.0).start()
    (thread,) = {*threading.enumerate()} - before
    gc.collect()
    replace(file, NEW)
    until(lambda: house[0].version == version(NEW), "the new rules")
    house.clear()
    gc.collect()
    thread.join(20.0)

    assert not thread.is_alive()
    assert not WATCHING


def test_a_thread_whose_gatekeeper_is_gone_does_not_wait_for_its_next_look(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text(OLD)
    before = {*threading.enumerate()}
    house = [Gatekeeper(file, watch=3600.0)]
    (thread,) = {*threading.enumerate()} - before
    house.clear()
    gc.collect()
    thread.join(20.0)

    assert not thread.is_alive()
    assert not WATCHING


def test_a_watcher_of_nobody_does_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    watcher = desk.watcher
    del desk
    gc.collect()

    assert (watcher.look(), watcher.status.version) == (False, "")
    assert repr(watcher) == f"<Watcher of {tmp_path / 'rules.json'}: nobody>"


def test_status_says_when_the_version_in_force_was_loaded(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text(OLD)
    clock = ManualClock(100.0)
    keeper = Gatekeeper(file, clock=clock)
    watcher = Watcher(keeper, file, settle=0.25)
    clock.set(200.0)
    file.write_text(NEW)
    watcher.look()
    clock.set(300.0)
    file.write_text(BAD)
    watcher.look()

    problems = watcher.status.problems
    assert watcher.status == Status(version(NEW), 200.25, problems, 1, 1)
    assert repr(watcher) == f"<Watcher of {file}: {version(NEW)}>"


def test_all_who_listen_are_told_of_every_change_and_of_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(tmp_path, OLD)
    told: list[Status] = []

    def fail(status: Status) -> None:
        raise ZeroDivisionError

    desk.watcher.listen(fail)
    assert desk.watcher.listen(told.append) == told.append
    for text in [NEW, NEW, BAD, BAD, NEW, OLD]:
        desk.change(text)

    loads = [(status.loads, status.failures, bool(status.problems)) for status in told]
    assert loads == [(1, 0, False), (1, 1, True), (1, 1, False), (2, 1, False)]
    failed = [line for line in caplog.messages if line.startswith("a listener")]
    assert failed == ["a listener failed; the rules stay as they are now"] * 4


def test_what_happens_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "headgate")
    desk = Desk(tmp_path, OLD)
    for text in [NEW, BAD, BAD]:
        desk.change(text)
    desk.watcher.look()
    desk.file.unlink()
    desk.watcher.look()
    desk.watcher.look()
    desk.change(NEW)

    wrong = 'rate "7/sex": unknown unit "sex" at column 3; try s, min, h or day'
    stays = f"rules stay as they were, version {version(NEW)}:\n"
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", f"rules of {desk.file} are in force: {version(NEW)}"),
        ("ERROR", f"{stays}{desk.file}:1:71: rules[0].limit: {wrong}"),
        ("ERROR", f"{stays}{desk.file}: cannot be read: No such file or directory"),
        ("INFO", f"rules of {desk.file} can be read again"),
    ]


class Broken:
    """A gatekeeper that cannot go by any other rules."""

    def __init__(self) -> None:
        self.rules = Rules()
        self.version = self.rules.digest
        self.lodge: Any = Gatekeeper(self.rules).lodge

    def change(self, rules: Rules) -> Rules:
        """Fail in a way that nobody thought of."""
        raise KeyError


def test_a_failure_that_nobody_thought_of_is_reported_like_any_other(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text(NEW)
    keeper = Broken()
    watcher = Watcher(keeper, file, clock=ManualClock())

    assert not watcher.look()
    assert [str(problem) for problem in watcher.status.problems] == [f"{file}: KeyError"]


def test_what_a_source_may_be() -> None:
    keeper = Gatekeeper(Rules())
    where = [
        "a.yaml",
        Path("a.yaml"),
        "redis://h",
        "valkey://h",
        "unix:///s",
        RedisRules("redis://h"),
    ]

    assert [Watcher(keeper, source).source for source in where] == [
        FileRules("a.yaml"),
        FileRules("a.yaml"),
        RedisRules("redis://h"),
        RedisRules("valkey://h"),
        RedisRules("unix:///s"),
        RedisRules("redis://h"),
    ]


@pytest.mark.parametrize(
    ("said", "error", "message"),
    [
        ({"source": 5}, TypeError, "rules stand in a file or in RedisRules, not in int 5"),
        ({"interval": 0}, ValueError, "Watcher: interval is from 0.001 to 86400, not 0"),
        ({"interval": "1s"}, TypeError, "Watcher: interval is a number, not '1s'"),
        ({"settle": -1}, ValueError, "Watcher: settle is from 0 to 86400, not -1"),
        (
            {"source": "redis://h:99999"},
            ValueError,
            "store 'redis://h:99999': 99999 is no port; they go from 1 to 65535",
        ),
    ],
)
def test_what_is_no_watcher_is_refused(
    said: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as refusal:
        Watcher(Gatekeeper(Rules()), **{"source": "a.yaml", **said})

    assert str(refusal.value) == message
