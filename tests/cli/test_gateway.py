"""`headgate gateway`: what it says when it serves, and when it cannot."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("click")
pytest.importorskip("httptools")

from click.testing import CliRunner

from headgate.cli.program import program
from headgate.rules.model.rules import Rules
from tests.servers.waiting import until
from tests.workers.process import Process

RULES = """\
version: 1
rules: [{name: all, limit: 5/min}]
gateway:
  listen: ["127.0.0.1:0", "unix:FOLDER/web.sock"]
  admin: 127.0.0.1:0
  routes: [{upstream: "http://127.0.0.1:9000"}]
  limits: {connections: 100}
"""
BARE = """\
version: 1
gateway:
  listen: {address: "127.0.0.1:0", tls: {certificate: no.pem, key: no.key}}
  routes: [{upstream: "http://127.0.0.1:9000"}]
"""
SHUT = """\
version: 1
rules: [{name: shut, deny: true}]
gateway:
  listen: unix:FOLDER/web.sock
  routes: [{upstream: "http://127.0.0.1:9000"}]
"""


def test_it_says_what_is_there_and_ends_well() -> None:
    with Process(RULES, "--store", "memory://", "--workers", "2", "--token-file", "token") as one:
        said = one.log.splitlines()
        token = (one.folder / "token").read_text().strip()
        assert stat.S_IMODE((one.folder / "token").stat().st_mode) == 0o600
        assert one.ask("GET /status", token=token).body["draining"] is False
        one.signal(signal.SIGTERM)
        assert one.end() == 0
        # It is in the file, and who reads logs need not know it.
        assert token not in one.log

    assert said == [
        f"listening on http://127.0.0.1:{one.port}",
        f"listening on unix:{one.folder}/web.sock",
        f"rules.yaml: 1 rule, 1 route, version {Rules.load(one.rules).digest}",
        "2 workers, counting in memory://",
        f"admin on http://127.0.0.1:{one.admin}",
        "warning: each of 2 workers counts by itself in memory://, so limits are that much wider; "
        "use shared://NAME or redis://HOST",
    ]
    assert len(token) == 43


def test_in_quiet_it_says_only_what_nobody_else_knows(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES.replace("FOLDER", str(tmp_path)))
    command = [sys.executable, "-m", "headgate.cli", "gateway", str(file), "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()

    assert (first.startswith("admin token: "), rest, process.returncode) == (True, "", 0)


def test_in_json_it_says_it_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES.replace("FOLDER", str(tmp_path)))
    command = [sys.executable, "-m", "headgate.cli", "gateway", str(file), "--json"]
    words = ["--store", "memory://", "--workers", "2"]
    with subprocess.Popen(
        [*command, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()

    http, unix = said.pop("listening")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", http)
    assert unix == f"unix:{tmp_path}/web.sock"
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", said.pop("admin"))
    assert len(said.pop("admin_token")) == 43
    assert (rest, said) == (
        "",
        {
            "started": True,
            "serves": "gateway",
            "file": str(file),
            "version": Rules.load(file).digest,
            "rules": 1,
            "workers": 2,
            "store": "memory://",
            "warnings": [
                "each of 2 workers counts by itself in memory://, so limits are that much wider; "
                "use shared://NAME or redis://HOST"
            ],
        },
    )


def test_what_is_wrong_is_said_in_json_as_well(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("version: 1\ngateway: {workers: 0}\n")
    broken = CliRunner().invoke(program, ["gateway", str(file), "--json"])
    file.write_text(BARE)
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        taken = CliRunner().invoke(program, ["gateway", str(file), "--json", "--listen", address])

    assert (broken.exit_code, taken.exit_code) == (2, 1)
    assert json.loads(broken.stdout)["problems"][0]["line"] == 2
    assert json.loads(taken.stdout) == {
        "started": False,
        "problem": f"cannot listen on {address}: Address already in use",
    }


@pytest.mark.parametrize("words", [[], ["--quiet"]], ids=["aloud", "quiet"])
def test_who_is_refused_is_a_line_of_json_and_nothing_else(words: list[str]) -> None:
    process = Process(SHUT, *words)
    with closing(process):
        process.spawn()
        place = str(process.folder / "web.sock")
        decision = until(lambda: refusal(place), "a refusal")
        until(lambda: decision in process.log, "its line")
        lines = [line for line in process.log.splitlines() if decision in line]

    assert [json.loads(line)["decision"] for line in lines] == [decision]


def test_for_machines_every_line_of_its_log_is_json() -> None:
    process = Process(SHUT.replace("  listen", "  admin: 127.0.0.1:0\n  listen"),
                      "--log-format", "json", "--workers", "2", "--store", "memory://")  # fmt: skip
    with closing(process):
        process.spawn()
        place = str(process.folder / "web.sock")
        decision = until(lambda: refusal(place), "a refusal")
        until(lambda: decision in process.log and "started" in process.log, "its line")
        process.signal(signal.SIGTERM)
        assert process.end() == 0
        lines = [json.loads(line) for line in process.log.splitlines()]

    assert all({"ts", "level", "logger", "pid", "message"} <= line.keys() for line in lines)
    told = {line["event"]: line for line in lines if "event" in line}
    assert [told["started"][word] for word in ("serves", "workers")] == ["gateway", 2]
    assert len(told["token"]["admin_token"]) == 43
    assert (told["refused"]["decision"], told["refused"]["rule"]) == (decision, "shut")
    assert told["refused"]["message"] == "refused by shut: denied"
    assert told["refused"]["pid"] != told["started"]["pid"] == process.pid
    assert any(line["message"].startswith("each of 2 workers counts") for line in lines)


def refusal(place: str) -> str:
    """Ask there; the name that the answer gives to a refusal."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(place)
        client.sendall(b"GET / HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: client.recv(65_536), b"")).decode()
    (name,) = re.findall("headgate-decision: ([0-9a-f]+)", answer, re.IGNORECASE)
    return str(name)


def test_what_a_worker_cannot_read_is_said_once(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(BARE)

    code, said = run(str(file), "--workers", "2")

    assert code == 1
    assert said.startswith("headgate: ")
    assert said.count("No such file") == 1
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("name", "problem"),
    [("nowhere/token", "[Errno 2] No such file or directory"), ("", "[Errno 21] Is a directory")],
    ids=["nowhere", "folder"],
)
def test_a_token_that_cannot_be_written_is_said_with_its_file(
    name: str, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES.replace("FOLDER", str(tmp_path)))
    token = tmp_path / name

    # In a process of its own: the ports that it has opened by then close with the process.
    assert run(str(file), "--token-file", str(token)) == (1, f"headgate: {problem}: '{token}'\n")
    assert [*tmp_path.iterdir()] == [file]


def test_where_somebody_listens_it_does_not(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(BARE)
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"

        code, said = run(str(file), "--listen", address)

    assert (code, said) == (1, f"headgate: cannot listen on {address}: Address already in use\n")


def test_bad_rules_are_shown_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("version: 1\ngateway: {workers: 0}\n")

    result = CliRunner().invoke(program, ["gateway", str(file)])

    assert (result.exit_code, result.stderr) == (
        2,
        f"{file}:2:20: gateway.workers: is how many, a whole number from 1 to 1,000, not 0\n"
        "  gateway: {workers: 0}\n"
        "                     ^\n",
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--listen", "8080"],
            "Invalid value for '--listen': \"8080\": write 127.0.0.1:8080, or :8080 for all "
            "interfaces",
        ),
        (
            ["--store", "redsi://me:secret@host"],
            "Invalid value for '--store': \"redsi://***@host\": did you mean redis?",
        ),
        (["--workers", "0"], "Invalid value for '--workers': 0 is not in the range 1<=x<=1000."),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], said: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(BARE)

    result = CliRunner().invoke(program, ["gateway", str(file), *words])

    assert (result.exit_code, result.stderr.splitlines()[-1]) == (2, f"Error: {said}")


def run(*words: str) -> tuple[int, str]:
    """How it ends, and what it complains of."""
    done = subprocess.run(
        [sys.executable, "-m", "headgate.cli", "gateway", *words],
        capture_output=True, text=True, check=False, timeout=30, env=dict(os.environ),
    )  # fmt: skip
    return done.returncode, done.stderr
