"""`headgate doctor`: what is wrong, why it matters, what to do, and codes for scripts."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("click")
pytest.importorskip("rich")
pytest.importorskip("httptools")

from click.testing import CliRunner, Result

from headgate.cli.program import program
from tests.doctor.scenes import GATEWAY, PROXY, write

# What depends on where tests run.
MACHINE = [
    word for name in ("form", "clock", "files") for word in ("--skip", f"machine.{name}")
]  # fmt: skip
ALONE = """\

bad     rules.alone  FILE:LINE: each of 4 workers counts by itself in memory://
        In memory:// each worker counts by itself, so every limit is as many times as wide.
        Write store: shared://NAME for one machine, or redis://HOST for several.
        docs/reference/doctor.md#rulesalone

4 good, 1 bad
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(program, ["doctor", *map(str, arguments)])


def test_what_is_bad_is_told_with_why_and_how_to_mend_it(tmp_path: Path) -> None:
    gateway = {**GATEWAY, "workers": 4}
    file = write(tmp_path, store="memory://", client=PROXY, gateway=gateway)
    result = run(file, "--quiet", *MACHINE)
    line = [
        number for number, text in enumerate(file.read_text().splitlines(), 1) if "store" in text
    ]

    assert result.exit_code == 2
    assert result.output == ALONE.replace("FILE", str(file)).replace("LINE", str(line[0]))


@pytest.mark.parametrize(("strict", "status"), [((), 0), (("--strict",), 1)])
def test_doubts_end_with_1_if_one_says_so(
    strict: tuple[str, ...], status: int, tmp_path: Path
) -> None:
    file = write(tmp_path, client={"header": "cf-connecting-ip"})

    assert run(file, *strict, *MACHINE).exit_code == status


def test_all_is_well_in_a_sound_setup(tmp_path: Path) -> None:
    result = run(write(tmp_path, client=PROXY), "--json", *MACHINE)
    told = json.loads(result.output)

    assert result.exit_code == 0
    assert told["verdict"] == "good"
    assert {one["verdict"] for one in told["checks"]} == {"good"}


def test_broken_rules_are_bad(tmp_path: Path) -> None:
    file = write(tmp_path, rules=[{"name": "a", "limit": "1/sex"}])
    result = run(file, "--json")
    (told,) = json.loads(result.output)["checks"]

    assert result.exit_code == 2
    assert (told["check"], told["verdict"]) == ("rules.read", "bad")
    assert told["found"].startswith("rules[0].limit: ")


def test_no_secret_is_told(tmp_path: Path) -> None:
    store = "redis://me:hunter2hunter2@127.0.0.1:1"
    file = write(tmp_path, store=store)
    plain = run(file, "--json", *MACHINE).output + run(file, *MACHINE).output

    assert "store.reach" in plain
    assert "hunter2" not in plain


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--skip", "x"], '"x" is no check; there are rules.read, '),
        (["--expect", "127.0.0.1"], "--expect is what --probe should see; say where to ask"),
        (["--echo", "unix:/run/x"], '"unix:/run/x": write a host and a port, as in 127.0.0.1:8099'),
        (["--echo", "8099"], '"8099": write 127.0.0.1:8099, or :8099 for all interfaces'),
        (["--store", "redi://x"], '"redi://x": did you mean redis?'),
    ],
)
def test_what_cannot_be_asked_is_refused(arguments: list[str], said: str, tmp_path: Path) -> None:
    result = run(write(tmp_path), *arguments)

    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_an_echo_is_asked_through_the_command(tmp_path: Path) -> None:
    file = write(tmp_path)
    command = [sys.executable, "-m", "headgate.cli", "doctor", str(file), "--echo", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as echo:
        assert echo.stderr is not None
        place = echo.stderr.readline().split(";")[0].removeprefix("echo on ")
        found = run(file, "--probe", f"http://{place}/", "--expect", "127.0.0.1")
        echo.send_signal(signal.SIGINT)
        try:
            status = echo.wait(60)
        finally:
            echo.kill()

    assert found.exit_code == 0
    assert found.output.splitlines()[-1] == "3 good"
    assert status == 0
