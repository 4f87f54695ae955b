"""The files of a shared store: nobody is fooled by what stands in their place."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate import HeadgateError, SlidingLog, StoreMismatch, StoreUnavailable, TokenBucket
from headgate.stores.flat.gate import form
from headgate.stores.shared.cabinet import Cabinet
from headgate.stores.shared.facts import PAGE, page, read
from headgate.stores.shared.store import SharedStore

NOW = 1_800_000_000_000_000
LIMITS = (TokenBucket("10/h"),)
ADVICE = (
    "others are using it: start all of them anew with the same settings, or give this one a store "
    "of another name"
)


def opened(folder: Path, name: str = "logins", capacity: int = 100) -> Cabinet:
    return SharedStore("api", capacity, str(folder)).open(LIMITS, name)


def left(folder: Path) -> int:
    """What a key has left after another one has opened the store that spent 4 of 10."""
    return opened(folder).peek("a", 0, NOW).remaining


def spent(folder: Path) -> Path:
    """The file of a limiter that nobody has open, in which 4 of 10 are spent."""
    opened(folder).take("a", 4, NOW, 0)
    return rows(folder)


def rows(folder: Path) -> Path:
    return next(folder.rglob("*.rows"))


def rewrite(path: Path, **facts: str) -> None:
    """Let a file say something else about itself."""
    with path.open("r+b") as file:
        said = read(file.read(PAGE))
        file.seek(0)
        file.write(page({**said, **facts}))


def refusal(work: Callable[[], Any], kind: type[HeadgateError]) -> str:
    with pytest.raises(kind) as caught:
        work()
    return str(caught.value)


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 8)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def scribble(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(os.urandom(PAGE))


def replace(path: Path) -> None:
    path.write_bytes(b"#!/bin/sh\necho a file of somebody else's\n")


DAMAGE = [truncate, empty, scribble, replace]


def test_a_file_says_what_it_is(tmp_path: Path) -> None:
    path = spent(tmp_path)

    said = read(path.read_bytes()[:PAGE])

    assert path.read_text("latin-1").startswith("file headgate\nversion 1\nlock ")
    assert said.pop("boot") == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert len(said.pop("seed")) == 16
    assert said == {
        "version": "1",
        "lock": form(),
        "capacity": "100",
        "limits": '[TokenBucket("10/h")]',
        "drawers": "1",
        "groups": "22",
        "stride": "4",
        "size": str(path.stat().st_size),
    }


def test_only_its_user_can_enter(tmp_path: Path) -> None:
    spent(tmp_path)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}

    folder = f"headgate-{os.geteuid()}"
    assert {modes.pop(folder), modes.pop("api")} == {0o700}
    assert set(modes.values()) == {0o600}


def test_all_of_the_memory_is_there_from_the_start(tmp_path: Path) -> None:
    found = spent(tmp_path).stat()

    assert found.st_blocks * 512 >= found.st_size


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_that_nobody_has_open_is_made_anew(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    damage(spent(tmp_path))

    assert left(tmp_path) == 10


@pytest.mark.parametrize("damage", DAMAGE[2:])
def test_a_damaged_file_that_others_have_open_is_refused(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    # Cutting a file short under those who have it mapped would end them: that is not tried.
    inside = opened(tmp_path)
    path = rows(tmp_path)
    size = path.stat().st_size
    with path.open("r+b") as file:
        kept = file.read()
        damage(path)
        message = refusal(lambda: opened(tmp_path), StoreMismatch)
        os.truncate(path, size)
        file.seek(0)
        file.write(kept)

    assert message == f"{path}: it is damaged, or no file of rows at all, and {ADVICE}"
    assert inside.take("a", 1, NOW, 0).remaining == 9


@pytest.mark.parametrize(
    ("fact", "has", "wants"),
    [("version", "0", "1"), ("lock", "quill", form()), ("capacity", "7", "100")],
)
def test_a_file_that_others_use_otherwise_is_refused(
    tmp_path: Path, fact: str, has: str, wants: str
) -> None:
    inside = opened(tmp_path)
    path = rows(tmp_path)
    rewrite(path, **{fact: has})

    message = refusal(lambda: opened(tmp_path), StoreMismatch)

    assert (
        message == f"{path}: it has {fact} {has}, this program wants {fact} {wants}, and {ADVICE}"
    )
    assert inside.take("a", 1, NOW, 0).remaining == 9


def test_all_that_two_programs_disagree_on_is_said_at_once(tmp_path: Path) -> None:
    inside = opened(tmp_path)
    path = rows(tmp_path)
    rewrite(path, version="0", lock="quill", groups="1")

    message = refusal(lambda: opened(tmp_path), StoreMismatch)

    assert message == (
        f"{path}: it has version 0, lock quill, this program wants version 1, lock {form()}, "
        f"and {ADVICE}"
    )
    assert inside.take("a", 1, NOW, 0).remaining == 9


@pytest.mark.parametrize("fact", ["version", "lock", "capacity", "boot", "seed", "groups"])
def test_a_file_that_is_used_by_nobody_else_is_made_anew_where_it_does_not_fit(
    tmp_path: Path, fact: str
) -> None:
    rewrite(spent(tmp_path), **{fact: "0"})

    assert left(tmp_path) == 10


def test_a_file_that_fits_is_kept(tmp_path: Path) -> None:
    spent(tmp_path)

    assert left(tmp_path) == 6


def test_a_start_of_the_machine_begins_anew(tmp_path: Path) -> None:
    spent(tmp_path)
    charter = next(tmp_path.rglob("charter"))
    seed = read(charter.read_bytes())["seed"]
    rewrite(charter, boot="another")

    assert left(tmp_path) == 10
    assert read(charter.read_bytes())["seed"] != seed


def test_a_charter_that_others_use_and_that_is_damaged_is_refused(tmp_path: Path) -> None:
    inside = SharedStore("api", 100, str(tmp_path))
    charter = next(tmp_path.rglob("charter"))
    kept = charter.read_bytes()
    scribble(charter)
    message = refusal(lambda: SharedStore("api", 100, str(tmp_path)), StoreMismatch)
    charter.write_bytes(kept)

    assert message == (
        f"{charter}: it is damaged, or from another version of Headgate, and others are using it: "
        "start all of them anew with the same one, or give this one a store of another name"
    )
    assert SharedStore("api", 100, str(tmp_path)).clock().offset == inside.clock().offset


def test_a_damaged_charter_that_nobody_has_open_is_written_anew(tmp_path: Path) -> None:
    spent(tmp_path)
    scribble(next(tmp_path.rglob("charter")))

    # Rows marked under another seed mean nothing.
    assert left(tmp_path) == 10


def test_a_clock_set_while_nobody_was_there_is_followed_by_the_next_one(tmp_path: Path) -> None:
    spent(tmp_path)
    charter = next(tmp_path.rglob("charter"))
    offset = int(read(charter.read_bytes())["offset"])
    rewrite(charter, offset=str(offset - 3_600_000_000))

    alone = SharedStore("api", 100, str(tmp_path)).clock().offset

    assert abs(alone - offset) < 60_000_000


def test_a_clock_set_while_others_are_there_is_not_followed(tmp_path: Path) -> None:
    inside = SharedStore("api", 100, str(tmp_path))
    charter = next(tmp_path.rglob("charter"))
    offset = int(read(charter.read_bytes())["offset"])
    rewrite(charter, offset=str(offset - 3_600_000_000))

    second = SharedStore("api", 100, str(tmp_path)).clock().offset

    assert (inside.clock().offset, second) == (offset, offset - 3_600_000_000)


def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / f"headgate-{os.geteuid()}"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)

    message = refusal(lambda: opened(tmp_path), StoreUnavailable)

    assert message == f"{folder}: others may enter it (mode 755); make it 700"


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder = tmp_path / f"headgate-{os.geteuid()}"
    folder.symlink_to(tmp_path / "elsewhere")

    message = refusal(lambda: opened(tmp_path), StoreUnavailable)

    assert message == f"{folder}: it is a symbolic link"


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / f"headgate-{os.geteuid()}"
    folder.write_text("")

    message = refusal(lambda: opened(tmp_path), StoreUnavailable)

    assert message == f"{folder}: it is not a folder"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    message = refusal(lambda: opened(tmp_path / "absent"), StoreUnavailable)

    folder = tmp_path / "absent" / f"headgate-{os.geteuid()}"
    assert message == f"{folder}: No such file or directory"


def test_a_file_that_is_a_link_is_refused_and_what_it_leads_to_is_left_alone(
    tmp_path: Path,
) -> None:
    path = spent(tmp_path)
    target = tmp_path / "precious"
    target.write_text("mine")
    path.unlink()
    path.symlink_to(target)

    message = refusal(lambda: opened(tmp_path), StoreUnavailable)

    assert (message, target.read_text()) == (f"{path}: it is a symbolic link", "mine")


def test_a_file_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    path = spent(tmp_path)
    path.unlink()
    os.mkfifo(path)

    message = refusal(lambda: opened(tmp_path), StoreUnavailable)

    assert message == f"{path}: it is not a plain file"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("which", ["folder", "file"])
def test_what_belongs_to_somebody_else_is_refused(tmp_path: Path, which: str) -> None:
    path = spent(tmp_path)
    path = path if which == "file" else path.parent
    os.chown(path, 12345, -1)

    message = refusal(lambda: opened(tmp_path), StoreUnavailable)

    assert message == f"{path}: it belongs to user 12345, and this is user 0"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../api", "a/b", ".hidden", "n" * 65, "ü", "a\nb", "\ud800", "~x"]
)
def test_names_that_no_file_should_have_are_replaced_by_digests(tmp_path: Path, name: str) -> None:
    ledger = SharedStore(name or "x", 100, str(tmp_path)).open(LIMITS, name)
    ledger.take("a", 4, NOW, 0)

    # Two folders below, however the name is spelled, and another name is another file.
    inside = tmp_path / f"headgate-{os.geteuid()}"
    assert {path.parent.parent for path in tmp_path.rglob("*.rows")} == {inside}
    other = SharedStore(name or "x", 100, str(tmp_path)).open(LIMITS, name + ".")
    assert other.peek("a", 0, NOW).remaining == 10


def test_a_store_that_does_not_fit_into_its_folder_says_so(tmp_path: Path) -> None:
    # Eight logs of a million moments for each of a billion keys.
    limits = (SlidingLog("1000000/h"),) * 8
    store = SharedStore("api", 1 << 30, str(tmp_path))

    message = refusal(lambda: store.open(limits, "logins"), StoreUnavailable)

    path = rows(tmp_path)
    assert (path.stat().st_size, message) == (
        0,
        f"{path}: there is no room for it; choose a smaller capacity or another folder "
        "(120,259,357,942,952,960 bytes)",
    )
