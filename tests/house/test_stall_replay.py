"""A test runs again only if it failed while the machine stood still."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLUGINS = ("tests.stalls", "tests.stall_replay")
# Each test counts its attempts; some write into the log of the monitors that a core stood still.
TESTS = """
import os
import signal
import time
from pathlib import Path

import pytest

from tests import stall_replay, stalls

# These tests are over sooner than a stall that counts.
stall_replay.MIN_STALL = 1e-9
file = Path(__file__).with_name("attempts")


def attempt(name):
    with file.open("a") as attempts:
        attempts.write(name + "\\n")
    return file.read_text().split().count(name)


def stall():
    now = time.perf_counter()
    with stalls.log_path.open("a") as log:
        log.write(f"0 {now - 1} {now}\\n")


@pytest.fixture(scope="session")
def server():
    number = attempt("fixture")
    stall()
    assert number == 2, "not yet"


def test_passes():
    attempt("passes")
    stall()


def test_recovers():
    number = attempt("recovers")
    stall()
    assert number == 3, "not yet"


def test_fails_always():
    attempt("fails_always")
    stall()
    assert False, "never"


def test_fails_awake():
    attempt("fails_awake")
    assert False, "awake"


def test_needs_fixture(server):
    pass


def test_crashes():
    attempt("crashes")
    stall()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_failure_runs_again_only_if_machine_stalled(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(TESTS)
    options = ("-c", str(ROOT / "pyproject.toml"), "-o", f"cache_dir={tmp_path / 'cache'}")
    plugins = [word for name in PLUGINS for word in ("-p", name)]

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "1", *options, *plugins, str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert Counter((tmp_path / "attempts").read_text().split()) == {
        "passes": 1,
        "recovers": 3,
        "fails_always": 3,
        "fails_awake": 1,
        "fixture": 2,
        "crashes": 1,
    }, run.stdout
    assert "3 failed, 3 passed, 5 rerun" in run.stdout
    pattern = r"::(\w+): a core stood still for \d\.\d s: (.*)"
    assert re.findall(pattern, run.stdout) == [
        ("test_recovers", "AssertionError: not yet"),
        ("test_recovers", "AssertionError: not yet"),
        ("test_fails_always", "AssertionError: never"),
        ("test_fails_always", "AssertionError: never"),
        ("test_needs_fixture", "AssertionError: not yet"),
    ]
