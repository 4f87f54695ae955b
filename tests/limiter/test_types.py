"""A type checker sees through the surface."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_knows_what_every_verb_gives_and_takes() -> None:
    # What `make check` has found out about the package is not found out again.
    command = ["mypy", "--strict", "tests/limiter/typed.py"]

    checked = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert checked.stdout == "Success: no issues found in 1 source file\n", checked.stderr
