"""Who lives: told by the kernel's own table, and nobody is buried who may be alive."""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import headgate
from headgate.permits.shared.census import BITS, DEAD, UNKNOWN, Census, hidden
from headgate.permits.shared.permits import SharedPermits, renew
from tests.permits.village import Village
from tests.stores.stepping import end, fork

EXIT = {"x86_64": 60, "aarch64": 93}


def ended() -> int:
    """The number of a process that has ended and was waited for."""
    child = fork(lambda: None)
    os.waitpid(child, 0)
    return child


def test_this_process_lives_under_its_number_and_the_moment_it_began() -> None:
    census = Census()
    owner = census.myself()
    words = Path("/proc/self/stat").read_text().rpartition(")")[2].split()

    assert owner == int(words[19]) << BITS | os.getpid()
    assert census.lives(owner)
    assert not census.lives(owner + (1 << BITS))


def test_a_child_is_another_owner() -> None:
    census = Census()
    mine = census.myself()
    child = fork(lambda: os._exit(int(census.myself() == mine or not census.lives(mine))))

    assert os.waitpid(child, 0)[1] == 0


def test_a_process_that_ended_is_dead_whether_or_not_somebody_asked_how() -> None:
    census = Census()
    child = fork(lambda: os.read(os.pipe()[0], 1))
    owner = census.begun(child) << BITS | child
    before = census.lives(owner)
    os.kill(child, 9)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    listed = Path(f"/proc/{child}/stat").exists()
    after = census.lives(owner)
    os.waitpid(child, 0)

    assert (before, listed, after, census.lives(owner)) == (True, True, False, False)


def test_a_name_with_spaces_and_brackets_does_not_confuse(tmp_path: Path) -> None:
    program = tmp_path / "a) Z 1 ("
    shutil.copy("/bin/sleep", program)
    with subprocess.Popen([program, "60"]) as process:
        began = Census().begun(process.pid)
        process.kill()

    assert began >= Census().begun(os.getpid())


@pytest.mark.skipif(platform.machine() not in EXIT, reason="how a thread ends is not known here")
def test_a_process_whose_first_thread_has_ended_lives() -> None:
    out, into = os.pipe()
    told, tell = os.pipe()

    def work() -> None:
        def stay() -> None:
            until_zombie(os.getpid())
            os.write(tell, b".")
            os.read(out, 1)
            os._exit(0)

        threading.Thread(target=stay).start()
        ctypes.CDLL(None).syscall(EXIT[platform.machine()], 0)

    child = fork(work)
    os.read(told, 1)
    began = Census().begun(child)
    os.close(into)
    end(child)
    for file in (out, told, tell):
        os.close(file)

    assert began >= Census().begun(os.getpid())


def until_zombie(pid: int) -> None:
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        os.sched_yield()


@pytest.mark.parametrize(
    ("pid", "expected"),
    [(os.getpid, UNKNOWN), (ended, DEAD), (lambda: 0, DEAD), (lambda: 1, UNKNOWN)],
    ids=["this one", "one that ended", "none at all", "somebody else's"],
)
def test_a_process_that_is_not_shown_is_dead_only_if_signals_do_not_find_it(
    pid: Callable[[], int], expected: int
) -> None:
    assert hidden(pid()) == expected


def test_a_process_that_may_open_no_more_files_buries_nobody() -> None:
    parent = os.getpid()

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
        os._exit(0 if Census().begun(parent) == UNKNOWN else 1)

    assert os.waitpid(fork(work), 0)[1] == 0


# Namespaces


def test_a_process_of_another_world_is_refused_while_anybody_is_inside(tmp_path: Path) -> None:
    village = Village()
    inside = village.permits(tmp_path, 1, 3)
    stranger = village.born(2)
    stranger.world = lambda: "pid:[1] time:[2]"  # type: ignore[method-assign]

    with pytest.raises(headgate.StoreMismatch) as caught:
        SharedPermits("inn", 3, 100, str(tmp_path), census=stranger)

    assert (
        f"it has namespaces {Census().world()}, this program wants namespaces pid:[1] time:[2]"
        in str(caught.value)
    )
    assert inside.enter("a") is not None


def test_a_child_in_another_world_has_to_open_permits_of_its_own(tmp_path: Path) -> None:
    village = Village()
    permits = village.permits(tmp_path, 1, 3)
    renew(permits)
    permits.census.world = lambda: "pid:[1] time:[2]"  # type: ignore[method-assign]

    with pytest.raises(headgate.StoreUnavailable) as caught:
        permits.enter("a")

    path = next(tmp_path.rglob("*.permits"))
    assert str(caught.value) == (
        f"{path}: this process is in another pid namespace than the one that opened it; give it "
        "permits of its own"
    )


@pytest.mark.parametrize(
    ("mounted", "expected"),
    [
        (True, "StoreMismatch: {path}: it has namespaces {world}, this program wants namespaces "),
        (False, "StoreUnavailable: /proc: it belongs to another pid namespace, and shows process "),
    ],
    ids=["with a /proc of its own", "with the /proc of another"],
)
def test_a_container_does_not_bury_those_outside(
    tmp_path: Path, mounted: bool, expected: str
) -> None:
    permits = SharedPermits("inn", 1, 100, str(tmp_path))
    assert permits.enter("a") is not None
    script = (
        "import sys, headgate\n"
        "from headgate.permits.shared.permits import SharedPermits\n"
        "try:\n"
        "    sys.stdout.write(str(SharedPermits('inn', 1, 100, sys.argv[1]).enter('a')))\n"
        "except headgate.HeadgateError as problem:\n"
        "    sys.stdout.write(f'{type(problem).__name__}: {problem}')\n"
    )
    unshare = ["unshare", "--pid", "--fork", *(["--mount-proc"] if mounted else [])]
    if not shutil.which("unshare") or subprocess.run([*unshare, "true"], check=False).returncode:
        pytest.skip("this system lets us make no namespaces")
    package = str(Path(str(headgate.__file__)).parents[1])
    answer = subprocess.run(
        [*unshare, sys.executable, "-c", script, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": package},
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip

    path = next(tmp_path.rglob("*.permits"))
    assert answer.startswith(expected.format(path=path, world=Census().world()))
    assert permits.inside("a") == 1
