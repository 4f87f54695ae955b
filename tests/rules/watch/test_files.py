"""A file that changes, however it is written; and one that is bad, half there or gone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.clock import ManualClock
from headgate.errors import Problem
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.model.rules import Rules
from headgate.rules.watch.watcher import Watcher
from tests.rules.watch.scenes import Desk, limited, replace, version

OLD, NEW = limited("5/min"), limited("7/min")
BAD = limited("7/sex")


def in_place(file: Path, text: str) -> None:
    file.write_text(text)


def removed(file: Path, text: str) -> None:
    file.unlink()
    file.write_text(text)


def swapped(file: Path, text: str) -> None:
    # As vim does it: the old one steps aside, the new one is written, the old one goes.
    aside = file.with_name(f"{file.name}~")
    os.rename(file, aside)
    file.write_text(text)
    aside.unlink()


def same_time_and_size(file: Path, text: str) -> None:
    before = file.stat()
    assert len(text) == before.st_size
    file.write_text(text)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("write", [in_place, replace, removed, swapped, same_time_and_size])
def test_a_changed_file_comes_into_force_however_it_is_written(
    tmp_path: Path, write: Callable[[Path, str], None]
) -> None:
    desk = Desk(tmp_path, OLD)
    write(desk.file, NEW)

    assert desk.watcher.look()
    assert (desk.keeper.version, desk.watcher.status.loads) == (version(NEW), 1)


def test_a_file_that_says_the_same_is_left_alone(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    before = desk.keeper.lodge.book
    replace(desk.file, OLD)
    os.utime(desk.file)

    assert not desk.watcher.look()
    assert desk.keeper.lodge.book is before


def test_other_words_for_the_same_rules_are_no_other_rules(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    before = desk.keeper.lodge.book

    assert not desk.change(OLD.replace(",", " ,\n"))
    assert desk.keeper.lodge.book is before
    assert desk.watcher.status.loads == 0


def test_another_store_is_another_file_although_the_version_is_the_same(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    moved = OLD.replace('{"version"', '{"store": "memory://", "version"')

    assert not desk.change(moved)
    assert desk.change(moved.replace("memory://", "shared://elsewhere"))
    assert desk.keeper.version == version(OLD)


class Mount:
    """A folder as Kubernetes mounts it: two links before the file, one of them exchanged."""

    def __init__(self, folder: Path, text: str) -> None:
        self.folder = folder
        self.count = 0
        self.publish(text)
        self.file = folder / "rules.json"
        self.file.symlink_to("..data/rules.json")

    def publish(self, text: str) -> None:
        """A new folder, then the link to it in one step, then the old folder goes."""
        old = self.folder / f"..{self.count}"
        self.count += 1
        new = self.folder / f"..{self.count}"
        new.mkdir()
        (new / "rules.json").write_text(text)
        (self.folder / "..data_tmp").symlink_to(new.name)
        os.replace(self.folder / "..data_tmp", self.folder / "..data")
        shutil.rmtree(old, ignore_errors=True)


def test_the_links_that_kubernetes_exchanges_are_followed(tmp_path: Path) -> None:
    mount = Mount(tmp_path, OLD)
    keeper = Gatekeeper(mount.file)
    watcher = Watcher(keeper, mount.file, clock=ManualClock())
    seen = [watcher.look(), keeper.version]
    for text in [OLD, NEW, BAD, OLD]:
        mount.publish(text)
        seen += [watcher.look(), keeper.version]

    old, new = version(OLD), version(NEW)
    assert seen == [False, old, False, old, True, new, False, new, True, old]
    assert (watcher.status.loads, watcher.status.failures) == (2, 1)


def test_a_link_that_is_exchanged_directly_is_followed(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(OLD)
    (tmp_path / "two.json").write_text(NEW)
    link = tmp_path / "rules.json"
    link.symlink_to("one.json")
    keeper = Gatekeeper(link)
    watcher = Watcher(keeper, link, clock=ManualClock())
    watcher.look()
    link.unlink()
    link.symlink_to("two.json")

    assert watcher.look()
    assert keeper.version == version(NEW)


def test_what_editors_leave_beside_the_file_is_not_looked_at(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    for name in [".rules.json.swp", "rules.json~", ".#rules.json", "4913", "rules.json.bak"]:
        (tmp_path / name).write_text(BAD)

    assert not desk.watcher.look()
    assert desk.watcher.status.failures == 0


def test_a_bad_file_changes_nothing_and_all_that_is_wrong_is_known(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)

    assert not desk.change(BAD)
    status = desk.watcher.status
    assert (status.version, status.loads, status.failures) == (version(OLD), 0, 1)
    assert [str(problem) for problem in status.problems] == [
        f"{desk.file}:1:71: rules[0].limit: "
        'rate "7/sex": unknown unit "sex" at column 3; try s, min, h or day'
    ]


def test_a_bad_file_is_reported_once_and_tried_again_when_it_changes(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    desk.change(BAD)
    again = [desk.watcher.look() for _ in range(5)]
    worse = desk.change(BAD.replace("sex", "sox"))

    assert (again, worse, desk.watcher.status.failures) == ([False] * 5, False, 2)
    assert desk.change(NEW)
    assert desk.watcher.status.problems == ()


def test_a_bad_file_that_is_made_as_it_was_is_no_longer_a_problem(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    desk.change(BAD)

    assert not desk.change(OLD)
    assert desk.watcher.status.problems == ()
    assert (desk.watcher.status.loads, desk.watcher.status.failures) == (0, 1)


def test_the_same_bad_file_after_a_good_one_is_reported_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    for text in [BAD, NEW, BAD]:
        desk.change(text)

    assert desk.watcher.status.failures == 2


def test_reload_tries_again_what_was_refused(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    desk.change(BAD)

    assert not desk.watcher.reload()
    assert desk.watcher.status.failures == 2


class Writer(ManualClock):
    """A clock by which somebody writes on while others wait for a file to settle."""

    def __init__(self, file: Path, *texts: str) -> None:
        super().__init__()
        self.file = file
        self.texts = [*texts]

    def sleep(self, seconds: float) -> None:
        """Let time pass, and one text more be written."""
        super().sleep(seconds)
        if self.texts:
            self.file.write_text(self.texts.pop(0))


HALF = "version: 1\nrules:\n- {name: api, limit: 5/min}\n"
WHOLE = HALF + "- {name: login, limit: 1/min}\n"


def written(folder: Path, *texts: str) -> tuple[Gatekeeper, Watcher, Path]:
    """A watcher that meets a file in the middle of being written."""
    file = folder / "rules.yaml"
    file.write_text(WHOLE)
    keeper = Gatekeeper(file)
    watcher = Watcher(keeper, file, clock=Writer(file))
    watcher.look()
    watcher.clock = Writer(file, *texts)
    return keeper, watcher, file


def test_a_half_written_file_that_would_be_good_is_waited_for(tmp_path: Path) -> None:
    keeper, watcher, file = written(tmp_path, WHOLE.replace("5", "6"))
    file.write_text(HALF.replace("5", "6"))
    first = watcher.look(), len(keeper.rules.rules), watcher.status.failures

    assert first == (False, 2, 0)
    assert watcher.look()
    assert keeper.rules == Rules.read(WHOLE.replace("5", "6"))


def test_a_file_that_is_empty_for_a_moment_is_no_problem(tmp_path: Path) -> None:
    _, watcher, file = written(tmp_path, WHOLE)
    file.write_text("")

    assert [watcher.look(), watcher.look()] == [False, False]
    assert (watcher.status.failures, watcher.status.problems) == (0, ())


def test_a_file_that_vanishes_for_a_moment_is_no_problem(tmp_path: Path) -> None:
    _, watcher, file = written(tmp_path, WHOLE)
    file.unlink()

    assert [watcher.look(), watcher.look()] == [False, False]
    assert (watcher.status.failures, watcher.status.problems) == (0, ())


def test_a_file_that_stays_away_is_reported_once_until_it_is_back(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    desk.file.unlink()
    seen = [desk.watcher.look() for _ in range(3)]
    gone = desk.watcher.status
    desk.file.write_text(OLD)
    back = desk.watcher.look()

    assert (seen, back) == ([False] * 3, False)
    problem = Problem("cannot be read: No such file or directory", file=str(desk.file))
    assert (gone.version, gone.problems, gone.failures) == (version(OLD), (problem,), 1)
    assert (desk.watcher.status.problems, desk.watcher.status.failures) == ((), 1)


def test_a_bad_file_that_went_away_and_is_back_is_as_bad_as_before(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    desk.change(BAD)
    bad = desk.watcher.status.problems
    desk.file.unlink()
    desk.watcher.look()
    desk.file.write_text(BAD)
    desk.watcher.look()

    assert (desk.watcher.status.problems, desk.watcher.status.failures) == (bad, 2)


def test_a_folder_in_place_of_the_file_is_a_problem(tmp_path: Path) -> None:
    desk = Desk(tmp_path, OLD)
    desk.file.unlink()
    desk.file.mkdir()
    desk.watcher.look()

    problem = Problem("cannot be read: Is a directory", file=str(desk.file))
    assert desk.watcher.status.problems == (problem,)


def test_a_file_is_found_after_the_process_went_to_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.json").write_text(OLD)
    keeper = Gatekeeper("rules.json")
    watcher = Watcher(keeper, "rules.json", clock=ManualClock())
    monkeypatch.chdir("/")
    (tmp_path / "rules.json").write_text(NEW)

    assert watcher.look()


def test_a_file_that_changed_before_it_was_first_looked_at_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text(OLD)
    keeper = Gatekeeper(file)
    file.write_text(NEW)

    assert Watcher(keeper, file, clock=ManualClock()).look()
    assert keeper.version == version(NEW)


LIMITS = st.sampled_from(["1/s", "5/min", "9/h"])
DEEDS = st.one_of(
    st.tuples(st.sampled_from([in_place, replace, removed, swapped]), LIMITS.map(limited)),
    st.tuples(st.just(in_place), st.sampled_from(["", "{", "[]", "null", BAD, OLD[:-1], "\0"])),
    st.tuples(st.just(lambda file, _: file.unlink()), st.just("")),
)


@given(st.lists(DEEDS, max_size=20))
def test_what_is_in_force_is_always_the_last_good_file_that_was_seen(
    tmp_path_factory: pytest.TempPathFactory, deeds: list[tuple[Callable[..., None], str]]
) -> None:
    desk = Desk(tmp_path_factory.mktemp("rules"), OLD)
    good = OLD
    for write, text in deeds:
        if not desk.file.exists():
            desk.file.touch()
        write(desk.file, text)
        desk.watcher.look()
        now = desk.file.read_text() if desk.file.exists() else ""
        good = now if valid(now) else good

        assert desk.watcher.status.version == desk.keeper.version == version(good)
        assert bool(desk.watcher.status.problems) is not valid(now)


@cache
def valid(text: str) -> bool:
    try:
        Rules.read(text, "json")
    except ValueError:
        return False
    return True
