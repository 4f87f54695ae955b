"""Prometheus's own word on what is told it: its checker of metrics and of rules."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.servers.binaries import Missing


class Promtool:
    """The checker; raises `Missing` where there is none."""

    def __init__(self) -> None:
        found = shutil.which("promtool")
        if found is None:
            raise Missing("no promtool here; apt-get install prometheus, or put promtool on PATH")
        self.program = found

    def check(self, text: str) -> str:
        """What it has against metrics as they are scraped: nothing, if they are as they should."""
        return self._run(["check", "metrics"], Path.cwd(), text)[1]

    def test(self, folder: Path, name: str) -> str:
        """What it finds wrong when it tries the rules of a file of tests."""
        status, said = self._run(["test", "rules", name], folder, "")
        return said if status or "SUCCESS" not in said else ""

    def _run(self, words: list[str], folder: Path, given: str) -> tuple[int, str]:
        done = subprocess.run(
            [self.program, *words], cwd=folder, input=given, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=60, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout
