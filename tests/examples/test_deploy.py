"""What stands in `deploy/` can be read by those it is for, and names what there is."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from socket import create_server
from threading import Thread

import click
import pytest
from click.testing import CliRunner

from headgate.cli.program import program
from headgate.rules.model.place import listening
from headgate.rules.model.rules import Rules
from headgate.workers.doors import doors

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMMAND = "/opt/headgate/bin/headgate"
INSTRUCTIONS = {
    "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "RUN", "STOPSIGNAL",
    "USER",
}  # fmt: skip


def unit(name: str) -> ConfigParser:
    """A unit of systemd: much like other files of settings, but capitals matter."""
    found = ConfigParser(interpolation=None, comment_prefixes=("#",), delimiters=("=",))
    found.optionxform = str  # type: ignore[assignment,method-assign]
    found.read(DEPLOY / name)
    return found


def container() -> list[tuple[str, str]]:
    """The instructions of the container's file, each as one line."""
    lines = [
        line
        for line in (DEPLOY / "Containerfile").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    whole = re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in whole)]


def last(word: str) -> str:
    return [rest for found, rest in container() if found == word][-1]


def rules() -> Rules:
    return Rules.load(DEPLOY / "rules.yaml")


def test_a_unit_says_what_the_command_understands() -> None:
    line = unit("headgate-gateway.service")["Service"]["ExecStart"]
    binary, command, file, *options = shlex.split(line)
    found = program.get_command(click.Context(program), command)
    assert found is not None
    known = {option for one in found.params for option in one.opts}

    assert (binary, file) == (COMMAND, "/etc/headgate/rules.yaml")
    assert {option for option in options if option.startswith("-")} <= known


def test_broken_rules_are_not_started_again(tmp_path: Path) -> None:
    service = unit("headgate-gateway.service")["Service"]
    file = tmp_path / "rules.yaml"
    file.write_text("version: 2\n")

    ended = CliRunner().invoke(program, ["gateway", str(file)]).exit_code

    assert ended == int(service["RestartPreventExitStatus"])
    # It is asked of ExecStart alone: whatever fails before that is started again.
    assert not {"ExecStartPre", "ExecCondition"} & {*service}


def test_who_is_in_the_group_may_connect_to_a_socket_and_nobody_else(tmp_path: Path) -> None:
    service = unit("headgate-gateway.service")["Service"]
    place = tmp_path / "web.sock"
    before = os.umask(int(service["UMask"], 8))
    try:
        (door,) = doors([(f"unix:{place}", listening(f"unix:{place}"))], 1, [])
    finally:
        os.umask(before)
    mode = stat.S_IMODE(place.stat().st_mode)
    door.remove()

    assert (mode & 0o066, int(service["RuntimeDirectoryMode"], 8)) == (0o060, 0o750)


def test_whoever_ends_it_waits_longer_than_it_drains() -> None:
    service = unit("headgate-gateway.service")["Service"]

    assert int(service["TimeoutStopSec"]) > rules().gateway.timeouts.drain


def test_systemd_opens_a_socket_for_each_address() -> None:
    socket = unit("headgate-gateway.socket")["Socket"]

    assert [f":{socket['ListenStream']}"] == [one.address for one in rules().gateway.listen]


@pytest.mark.skipif(which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_has_nothing_to_say_against_it(tmp_path: Path) -> None:
    for path in DEPLOY.glob("headgate-gateway.*"):
        # What it runs is not installed there, and it looks.
        text = path.read_text().replace(COMMAND, sys.executable)
        (tmp_path / path.name).write_text(text)

    told = subprocess.run(
        ["systemd-analyze", "verify", *tmp_path.iterdir()],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (told.returncode, told.stdout + told.stderr) == (0, "")


def test_a_container_is_made_of_what_there_is() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    text = (DEPLOY / "Containerfile").read_text()
    (asked,) = re.findall(r'"/source\[([a-z,]+)\]"', text)
    copied = [rest.split() for word, rest in container() if word == "COPY"]

    assert {word for word, _ in container()} <= INSTRUCTIONS
    assert set(asked.split(",")) <= set(extras)
    assert all((ROOT / one[0]).exists() for one in copied if not one[0].startswith("-"))


def test_a_container_serves_by_the_rules_it_has_and_not_as_root() -> None:
    command = json.loads(last("ENTRYPOINT")) + json.loads(last("CMD"))

    assert command[:2] == ["headgate", "gateway"]
    assert ("COPY", f"deploy/rules.yaml {command[2]}") in container()
    assert int(last("USER")) > 0
    assert [f":{last('EXPOSE')}"] == [one.address for one in rules().gateway.listen]


@pytest.mark.parametrize(("status", "ended"), [(200, 0), (503, 1)])
def test_a_container_is_asked_how_it_is_where_the_admin_is(status: int, ended: int) -> None:
    _, *words = json.loads(last("HEALTHCHECK").partition("CMD ")[2])
    host, port = rules().gateway.admin.listen.split(":")
    asked = f"'{host}', {port}"
    assert asked in words[1]

    with admin(status) as (found, lines):
        words[1] = words[1].replace(asked, f"'{host}', {found}")
        # Nobody is there.
        proxies = dict.fromkeys(("http_proxy", "HTTP_PROXY"), "http://127.0.0.1:9")
        told = subprocess.run(
            [sys.executable, *words],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **proxies},
        )

    assert (told.returncode, told.stdout + told.stderr) == (ended, "")
    assert lines == ["GET /health HTTP/1.1"]


@contextmanager
def admin(status: int) -> Iterator[tuple[int, list[str]]]:
    """Somebody who answers one request in this way; the port, and what was asked."""
    lines: list[str] = []
    with create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            line, _ = server.accept()
            with line:
                lines.append(line.recv(65_536).decode().partition("\r\n")[0])
                line.sendall(f"HTTP/1.1 {status} So\r\ncontent-length: 0\r\n\r\n".encode())

        Thread(target=answer, daemon=True).start()
        yield server.getsockname()[1], lines
