"""The file of permits: who disagrees is told, what is damaged or left over counts for nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from headgate import StoreMismatch, StoreUnavailable, TokenBucket
from headgate.permits.shared.permits import SharedPermits
from headgate.stores.shared.facts import PAGE, page, read
from headgate.stores.shared.store import SharedStore

ADVICE = (
    "others are using it: start all of them anew with the same settings, or give this one a store "
    "of another name"
)
LIMIT = 3


def opened(folder: Path, limit: int = LIMIT, capacity: int = 100) -> SharedPermits:
    return SharedPermits("inn", limit, capacity, str(folder))


def left(folder: Path) -> Path:
    """The file of permits that were all taken, by somebody who has let go of it since."""
    permits = opened(folder)
    for _ in range(LIMIT):
        permits.enter("a")
    return next(folder.rglob("*.permits"))


def free(permits: SharedPermits) -> int:
    return len(list(iter(lambda: permits.enter("a"), None)))


def rewrite(path: Path, **facts: str) -> None:
    """Let a file say something else about itself."""
    with path.open("r+b") as file:
        said = read(file.read(PAGE))
        file.seek(0)
        file.write(page({**said, **facts}))


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 8)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def scribble(path: Path) -> None:
    path.write_bytes(os.urandom(path.stat().st_size))


def replace(path: Path) -> None:
    path.write_bytes(b"#!/bin/sh\necho a file of somebody else's\n")


def scribble_rows(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(PAGE)
        file.write(os.urandom(path.stat().st_size - PAGE))


def test_a_file_says_what_it_is(tmp_path: Path) -> None:
    path = left(tmp_path)
    said = read(path.read_bytes()[:PAGE])

    assert path.relative_to(tmp_path).as_posix() == f"headgate-{os.geteuid()}/inn/=.permits"
    assert path.stat().st_mode & 0o777 == 0o600
    assert said.pop("boot") == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert said.pop("namespaces").startswith("pid:[")
    assert len(said.pop("seed")) == 16
    assert said == {
        "version": "1",
        "holds": "permits",
        "capacity": "100",
        "size": str(path.stat().st_size),
    }


def test_programs_that_do_not_agree_are_told_about_what(tmp_path: Path) -> None:
    inside = opened(tmp_path)
    with pytest.raises(StoreMismatch) as caught:
        opened(tmp_path, LIMIT, 99)

    path = next(tmp_path.rglob("*.permits"))
    assert str(caught.value) == (
        f"{path}: it has capacity 100, this program wants capacity 99, and {ADVICE}"
    )
    assert free(inside) == LIMIT


def test_while_a_limit_is_being_changed_all_count_together(tmp_path: Path) -> None:
    before, after = opened(tmp_path), opened(tmp_path, 5)
    for _ in range(LIMIT):
        assert before.enter("a") is not None

    assert before.enter("a") is None
    assert [after.enter("a") is not None for _ in range(3)] == [True, True, False]


def test_another_limit_is_taken_up_when_nobody_is_there(tmp_path: Path) -> None:
    left(tmp_path)

    assert free(opened(tmp_path, 5)) == 5


def test_permits_that_were_closed_are_in_nobodys_way(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.enter("a")
    first.close()

    assert free(opened(tmp_path, 5)) == 5


def test_what_is_left_by_those_who_are_gone_counts_for_nothing(tmp_path: Path) -> None:
    left(tmp_path)

    assert free(opened(tmp_path)) == LIMIT


def test_a_start_of_the_machine_begins_anew(tmp_path: Path) -> None:
    left(tmp_path)
    rewrite(next(tmp_path.rglob("charter")), boot="another")

    assert free(opened(tmp_path)) == LIMIT


@pytest.mark.parametrize("damage", [truncate, empty, scribble, replace, scribble_rows])
def test_a_damaged_file_that_nobody_has_open_is_made_anew(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    damage(left(tmp_path))

    assert free(opened(tmp_path)) == LIMIT


def test_a_damaged_file_that_others_have_open_is_refused(tmp_path: Path) -> None:
    inside = opened(tmp_path)
    path = next(tmp_path.rglob("*.permits"))
    kept = path.read_bytes()[:PAGE]
    with path.open("r+b") as file:
        file.write(os.urandom(PAGE))
    with pytest.raises(StoreMismatch) as caught:
        opened(tmp_path)
    with path.open("r+b") as file:
        file.write(kept)

    assert str(caught.value) == f"{path}: it is damaged, or no file of rows at all, and {ADVICE}"
    assert (free(inside), opened(tmp_path).inside("a")) == (LIMIT, LIMIT)


def test_a_limiters_file_is_not_taken_for_one_of_permits(tmp_path: Path) -> None:
    path = left(tmp_path)
    limits = (TokenBucket("10/h"),)
    ledger = SharedStore("inn", 100, str(tmp_path)).open(limits, "")
    ledger.take("a", 4, 1_800_000_000_000_000, 0)
    rows = next(tmp_path.rglob("*.rows"))
    path.unlink()
    path.hardlink_to(rows)

    with pytest.raises(StoreMismatch, match=r"it has .*limits .*, this program wants holds perm"):
        opened(tmp_path)

    assert ledger.peek("a", 0, 1_800_000_000_000_000).remaining == 6


def test_a_file_of_permits_is_not_taken_for_a_limiters(tmp_path: Path) -> None:
    limits = (TokenBucket("10/h"),)
    SharedStore("inn", 100, str(tmp_path)).open(limits, "")
    rows = next(tmp_path.rglob("*.rows"))
    inside = opened(tmp_path)
    rows.unlink()
    rows.hardlink_to(next(tmp_path.rglob("*.permits")))

    with pytest.raises(StoreMismatch, match=r"it has .*holds permits"):
        SharedStore("inn", 100, str(tmp_path)).open(limits, "")

    assert free(inside) == LIMIT


def test_permits_and_limiters_of_one_store_do_not_meet(tmp_path: Path) -> None:
    ledger = SharedStore("inn", 100, str(tmp_path)).open((TokenBucket("10/h"),), "a")
    permits = opened(tmp_path)

    assert ledger.take("a", 4, 1_800_000_000_000_000, 0).remaining == 6
    assert free(permits) == LIMIT


def test_permits_that_do_not_fit_into_their_folder_say_so(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        opened(tmp_path, capacity=1 << 30)

    path = next(tmp_path.rglob("*.permits"))
    assert (path.stat().st_size, str(caught.value)) == (
        0,
        f"{path}: there is no room for it; choose a smaller capacity or another folder "
        "(103,079,219,232 bytes)",
    )


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        opened(tmp_path / "absent")

    folder = tmp_path / "absent" / f"headgate-{os.geteuid()}"
    assert str(caught.value) == f"{folder}: No such file or directory"


def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / f"headgate-{os.geteuid()}"
    folder.mkdir()
    folder.chmod(0o755)
    with pytest.raises(StoreUnavailable) as caught:
        opened(tmp_path)

    assert str(caught.value) == f"{folder}: others may enter it (mode 755); make it 700"


def test_a_file_that_is_a_link_is_refused_and_what_it_leads_to_is_left_alone(
    tmp_path: Path,
) -> None:
    path = left(tmp_path)
    target = tmp_path / "precious"
    target.write_text("mine")
    path.unlink()
    path.symlink_to(target)
    with pytest.raises(StoreUnavailable) as caught:
        opened(tmp_path)

    assert (str(caught.value), target.read_text()) == (f"{path}: it is a symbolic link", "mine")


@pytest.mark.parametrize("bulkhead", [".", "../x", "a/b", "ü", "n" * 65, "=", "\ud800"])
def test_names_that_no_file_should_have_are_replaced_by_digests(
    tmp_path: Path, bulkhead: str
) -> None:
    named = SharedPermits("inn", LIMIT, 100, str(tmp_path), bulkhead=bulkhead)
    taken = free(named)

    inside = tmp_path / f"headgate-{os.geteuid()}" / "inn"
    assert {path.parent for path in tmp_path.rglob("*.permits")} == {inside}
    assert (taken, free(opened(tmp_path))) == (LIMIT, LIMIT)
