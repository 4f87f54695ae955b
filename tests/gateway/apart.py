"""A gateway in a process of its own, so that one can see how much memory it takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from headgate.rules.model.rules import Rules

PROGRAM = """
import asyncio, json, sys
from headgate.gateway.gateway import Gateway
from headgate.rules.model.rules import Rules
from tests.loop_thread import new_loop

async def main():
    async with Gateway(Rules.read(sys.stdin.readline())) as gateway:
        sys.stdout.write(gateway.addresses[0] + "\\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

with asyncio.Runner(loop_factory=new_loop) as runner:
    runner.run(main())
"""
ROOT = Path(__file__).parents[2]


class Apart:
    """A gateway on `port`, from the first line of a `with` to its last."""

    def __init__(self, rules: Rules) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(rules.spelled()) + "\n")
        self.process.stdin.flush()
        self.port = int(self.process.stdout.readline().rpartition(":")[2])

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()

    def settle(self) -> int:
        """Begin to measure: what it takes now, in bytes."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")
        return self.peak()

    def peak(self) -> int:
        """The most that it took since, in bytes."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        found = next(line for line in lines if line.startswith("VmHWM:"))
        return int(found.split()[1]) * 1024
