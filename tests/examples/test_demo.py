"""`headgate demo` shows what it says, and the README shows what `curl` really gets from it."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_UN, flock
from pathlib import Path
from shutil import which
from tempfile import gettempdir
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner

import headgate
from headgate.cli.demo.command import written
from headgate.cli.demo.service import serve
from headgate.cli.program import program
from headgate.rules.model.rules import Rules
from tests.examples.pages import Step, blocks, steps
from tests.servers.waiting import until

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
STAND_IN = shlex.join([sys.executable, str(Path(__file__).with_name("stand_in.py"))])
CURL = which("curl") or STAND_IN
ADDRESS = re.compile(r"The gateway is at http://(\S+),")
ROW = re.compile(r"^([a-z-]+) .* (\d+) +(\d+) *$", re.MULTILINE)
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# This takes nine seconds, so all else is asked meanwhile. It never takes less; whether it takes
# more, on a busy machine, is not asked here.
LONG = "/files/big"
TOOK = re.compile(r"(?<=bytes in )(\d+\.\d+)(?= s)")


class Demo:
    """The demo as a process, with these words on its line, in a terminal or in a pipe.

    What it says is in a file. `answers` are those to what was asked already.
    """

    def __init__(self, folder: Path, *words: str, terminal: bool = False) -> None:
        self.answers: dict[str, Future[list[str]]] = {}
        self.file = folder / "said"
        self.file.touch()
        mine, theirs = pty.openpty() if terminal else os.pipe()
        found = [str(Path(headgate.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        path = os.pathsep.join(filter(None, found))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headgate.cli", "demo", *words],
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "PYTHONPATH": path, "TERM": "xterm", "COLUMNS": "120"},
        )
        os.close(theirs)
        self.reader = Thread(target=self.read, args=(mine,), daemon=True)
        self.reader.start()

    def read(self, line: int) -> None:
        # A terminal at which nobody is any more is an error on Linux.
        with self.file.open("ab", buffering=0) as file, suppress(OSError):
            while data := os.read(line, 65_536):
                file.write(data)
        os.close(line)

    @property
    def said(self) -> str:
        """All of it, as it would be without colours and without a cursor that moves."""
        return ESCAPES.sub("", self.file.read_text(errors="replace")).replace("\r", "")

    @property
    def address(self) -> str:
        assert self.process.poll() is None, self.said
        found = ADDRESS.search(self.said)
        return found[1] if found else ""

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """What each rule let in and refused, by the latest table."""
        rows = ROW.findall(self.said)
        return {name: (int(passed), int(refused)) for name, passed, refused in rows}

    def end(self) -> int:
        """Wait until it has ended, and all it said is there; its status."""
        status = self.process.wait(60)
        self.reader.join(60)
        return status


@contextmanager
def demo(folder: Path, *words: str, terminal: bool = False) -> Iterator[Demo]:
    # One at a time: of two that look for a free port at once, one would find it taken after all.
    with (Path(gettempdir()) / "headgate-demo").open("w") as turn:
        flock(turn, LOCK_EX)
        running = Demo(folder, *words, terminal=terminal)
        try:
            until(lambda: running.address, "the demo to begin", 60.0)
            flock(turn, LOCK_UN)
            yield running
        finally:
            running.process.terminate()
            running.end()


def asked() -> list[Step]:
    """All commands of the README that ask the demo something."""
    page = (ROOT / "README.md").read_text()
    found = [step for kind, text in blocks(page) if kind == "console" for step in steps(text)]
    return [step for step in found if "localhost:8080" in step.command]


def run(command: str, address: str, curl: str = CURL) -> list[str]:
    """What a command prints."""
    asked = command.replace("localhost:8080", address).replace("curl", curl, 1)
    told = subprocess.check_output(["sh", "-c", asked], stderr=subprocess.DEVNULL, text=True)
    return [line.rstrip() for line in told.splitlines()]


def test_the_rules_are_those_that_are_described() -> None:
    rules = Rules.load(EXAMPLES / "gateway.yaml")

    assert [rule.name for rule in rules.rules] == [
        "banned", "login", "members", "strangers", "five-at-once", "downloads", "overload",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with (
        demo(tmp_path_factory.mktemp("demo"), "--alone", terminal=True) as found,
        ThreadPoolExecutor() as pool,
    ):
        for command, _ in asked():
            if LONG in command:
                found.answers[command] = pool.submit(run, command, found.address)
        yield found


def test_in_a_pipe_it_ends_by_itself_with_a_table(tmp_path: Path, running: Demo) -> None:
    with demo(tmp_path, "--once", "2") as other:
        assert other.end() == 0, other.said
        counts = other.counts

    # The one that runs beside it has the port.
    assert "Port 8080 is taken, so it is another one." in other.said
    assert [*counts] == [rule.name for rule in Rules.load(EXAMPLES / "gateway.yaml").rules]
    assert (counts["login"][0], counts["strangers"][0], counts["downloads"]) == (5, 10, (2, 0))
    assert counts["five-at-once"][0] >= 5
    for name, least in (("banned", 1), ("login", 2), ("strangers", 2), ("five-at-once", 3)):
        assert counts[name][1] >= least


def test_what_stands_in_for_curl_prints_the_same(running: Demo) -> None:
    told = [run("curl -i localhost:8080/healthz", running.address, one) for one in (CURL, STAND_IN)]

    assert told[0] == told[1] != []


def test_the_readme_shows_what_one_gets(running: Demo) -> None:
    heard = [
        running.answers[command].result()
        if command in running.answers
        else run(command, running.address)
        for command, _ in asked()
    ]

    for step, told in zip(asked(), heard, strict=True):
        timed = [TOOK.sub(lambda took: f"{min(float(took[1]), 9.0):f}", line) for line in told]
        assert step.true(timed), (step.command, told)


def test_the_numbers_are_live_and_ctrl_c_ends_it(running: Demo) -> None:
    for _ in range(7):
        run("curl -s -X POST localhost:8080/login", running.address)

    until(lambda: running.counts["login"] == (5, 2), "the table to tell of the logins")
    running.process.send_signal(signal.SIGINT)
    assert running.end() == 0
    assert "Traceback" not in running.said


def test_rules_of_ones_own_are_written_once_and_then_gone_by(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    assert written(str(file)) == file
    assert file.read_bytes() == (EXAMPLES / "gateway.yaml").read_bytes()
    file.write_text(file.read_text().replace("name: strangers", "name: guests"))

    said = subprocess.check_output(
        [sys.executable, "-m", "headgate.cli", "demo", "--once", "0", "--json", "--rules", file]
    )

    assert "guests" in json.loads(said)["reading"]["rules"]


def test_a_gateway_that_does_not_start_is_said(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("version: 1\nrules: 5\n")

    result = CliRunner().invoke(program, ["demo", "--once", "0", "--rules", str(file)])

    assert (result.exit_code, result.stderr.splitlines()[0]) == (
        1,
        "headgate: the gateway does not start:",
    )
    assert f"{file}:2:8: rules: is a list of rules, not 5" in result.stderr


def test_a_request_that_is_under_way_when_the_service_ends_is_cut_without_a_word() -> None:
    troubles: list[dict[str, Any]] = []

    async def end() -> bytes:
        asyncio.get_running_loop().set_exception_handler(lambda _, said: troubles.append(said))
        async with await serve() as server:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            # They come together, so who has answered one has begun with the other.
            writer.write(b"GET /healthz HTTP/1.1\r\n\r\nGET /v1/slow HTTP/1.1\r\n\r\n")
            await reader.readuntil(b'"well"\n')
            # What asyncio.run does with all that is left at the end.
            meeting = asyncio.all_tasks() - {asyncio.current_task()}
            for task in meeting:
                task.cancel()
            await asyncio.wait(meeting)
            heard = await asyncio.wait_for(reader.read(), 20)
            writer.close()
            await writer.wait_closed()
        return heard

    assert (asyncio.run(end()), troubles) == (b"", [])
