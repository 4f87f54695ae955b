"""A test is played again only where it failed while the machine stood still."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LULLS = """
import time
from pathlib import Path
from tests import encore, lulls
# So short is the test.
encore.STILL = 0.001
lulls.notes = Path(__file__).with_name("notes")
now = time.perf_counter()
lulls.notes.write_text({notes})
"""
FAILING = """
from pathlib import Path

import pytest

times = Path(__file__).with_name("times")


@pytest.fixture(scope="session")
def made():
    times.touch()
    times.write_text(times.read_text() + "x")
    assert len(times.read_text()) > {fails}, "not yet"


def test_it(made):
    pass
"""
# From a minute ago on, all the time; and long ago, on one core of two.
STOOD, WAS = 'f"0 {now - 60} {now + 60}"', 'f"0 {now - 60} {now - 50}\\n1 {now - 50} {now - 40}"'


@pytest.mark.parametrize(
    ("notes", "fails", "plays", "outcome"),
    [
        pytest.param(STOOD, 0, 1, "1 passed", id="it passes"),
        pytest.param(STOOD, 2, 3, "1 passed", id="it fails twice while the machine stands still"),
        pytest.param(STOOD, 3, 3, "1 error", id="it fails three times"),
        pytest.param(WAS, 1, 1, "1 error", id="it fails while the machine is awake"),
    ],
)
def test_who_fails_while_the_machine_stands_still_is_played_again(
    tmp_path: Path, notes: str, fails: int, plays: int, outcome: str
) -> None:
    (tmp_path / "conftest.py").write_text(LULLS.format(notes=notes))
    (tmp_path / "test_it.py").write_text(FAILING.format(fails=fails))
    (tmp_path / "pytest.ini").write_text("[pytest]")
    run = [sys.executable, "-m", "pytest", "-p", "tests.encore", "-p", "no:cacheprovider", "-q"]
    told = subprocess.run(
        [*run, "-c", str(tmp_path / "pytest.ini"), str(tmp_path)],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    ).stdout  # fmt: skip

    assert outcome in told
    assert len((tmp_path / "times").read_text()) == plays
    assert told.count("not yet") >= plays - 1
    assert ("played again" in told) == (plays > 1)
