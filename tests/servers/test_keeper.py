"""However the tests end, no server stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.launch import Server
from tests.servers.waiting import until

ROOT = Path(__file__).parents[2]
# Whoever runs the tests in the background has them ignore an interrupt; this one may not.
START = """
import os, select, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from tests.servers.keeper import keeper
from tests.servers.launch import Server, launch
servers = [Server("valkey"), Server("valkey")]
launch(*servers)
servers[1].pause()
"""
FORK = """
if os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
"""
# The child puts its input where the pipe was, and the grandchild looks for it there.
TWICE = """
place = keeper().held
if os.fork() == 0:
    os.dup2(0, place)
    if os.fork() == 0:
        os.fstat(place)
        os._exit(0)
    os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""
# Says the folder of its servers, the number of their keeper and their own; stays until its input
# ends. By and by it looks up: a signal that comes just before a read would not end the read.
STAY = """
print(keeper().folder, keeper().shell.pid, *(server.pid for server in servers), flush=True)
while not select.select([0], [], [], 0.05)[0]:
    pass
"""


@pytest.mark.parametrize("script", [START + STAY, START + FORK + STAY], ids=["alone", "a child"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_servers_of_a_process_that_is_killed_go_with_it(
    script: str, number: signal.Signals
) -> None:
    with host(script) as process:
        folder, shell, *servers = introduced(process)
        # Whoever ends tests may mean everybody; the keeper stays until its work is done.
        os.kill(shell, signal.SIGTERM)
        process.send_signal(number)
        # Its child is still there meanwhile: it goes when its input ends.
        until(lambda: not any(map(lives, servers)), "the servers to end")
        until(lambda: not list(folder.parent.glob(f"{folder.name}*")), "their folder to go")
        process.communicate()

    assert process.returncode == -number


def test_the_servers_of_a_process_that_ends_are_gone_before_it() -> None:
    with host(START + STAY) as process:
        folder, *numbers = introduced(process)
        said = process.communicate()

    assert [lives(number) for number in numbers] == [False] * 3
    assert list(folder.parent.glob(f"{folder.name}*")) == []
    assert (said, process.returncode) == (("", ""), 0)


def test_a_grandchild_keeps_what_its_parent_has_opened() -> None:
    with host(START + TWICE) as process:
        said = process.communicate()

    assert (said, process.returncode) == (("", ""), 0)


def test_an_interrupt_from_the_keyboard_is_not_for_the_servers(valkey: Server) -> None:
    assert os.getpgid(valkey.pid) == os.getsid(valkey.pid) == valkey.pid


def host(script: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-B", "-W", "error", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def introduced(process: subprocess.Popen[str]) -> tuple[Path, int, int, int]:
    """The folder, the keeper and the two servers of a host, as it says; they are there."""
    assert process.stdout is not None
    folder, *words = process.stdout.readline().split()
    keeper, first, second = (int(word) for word in words)
    assert Path(folder).is_dir()
    assert [lives(number) for number in (keeper, first, second)] == [True] * 3
    return Path(folder), keeper, first, second


def lives(number: int) -> bool:
    """Whether there is such a process, and it is not merely waiting for somebody to bury it."""
    try:
        text = Path(f"/proc/{number}/stat").read_text()
    except FileNotFoundError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"
