"""Prometheus's own word on what is told it: its checker of metrics and of rules."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.servers.binaries import program


class Promtool:
    """The checker; raises `Missing` where there is none."""

    def __init__(self) -> None:
        self.program = program("promtool", "apt-get install prometheus")

    def check(self, text: str) -> str:
        """What it has against metrics as they are scraped: nothing, if they are as they should."""
        return self._run("check", "metrics", given=text)[1]

    def test(self, folder: Path, name: str) -> str:
        """What it finds wrong when it tries the rules of a file of tests."""
        status, said = self._run("test", "rules", name, folder=folder)
        return said if status or "SUCCESS" not in said else ""

    def _run(self, *words: str, folder: Path | None = None, given: str = "") -> tuple[int, str]:
        done = subprocess.run(
            [self.program, *words], cwd=folder, input=given, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=60, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout
