"""Whoever types along with the tutorial of the gateway gets what it shows."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path
from shutil import which

import headgate
from headgate import SharedStore
from headgate.rules.model.rules import Rules
from headgate.workers.orders import Orders
from tests.examples.pages import Step, blocks, steps
from tests.servers.keeper import keeper
from tests.servers.ports import Port
from tests.servers.waiting import until

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorial" / "a-gateway-in-ten-minutes.md"
PORTS = ("8080", "9000", "9901")
STAND_IN = shlex.join([sys.executable, str(Path(__file__).with_name("stand_in.py"))])
CURL = which("curl") or STAND_IN
FOUND = [str(Path(headgate.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, FOUND))}


class Reader:
    """Somebody who types along, on ports that are free."""

    def __init__(self) -> None:
        # Nobody else has them while a gateway ends and the next begins.
        self.kept = [Port() for _ in PORTS]
        self.ports = {usual: str(one.number) for usual, one in zip(PORTS, self.kept, strict=True)}
        self.rooms: list[tuple[Path, subprocess.Popen[bytes]]] = []
        self.folder = keeper().room("tutorial")
        self.rules = self.folder / "rules.yaml"
        self.gateway: subprocess.Popen[bytes] | None = None

    def here(self, text: str) -> str:
        """A text of the page, with our ports for its own."""
        for port, ours in self.ports.items():
            text = text.replace(port, ours)
        return text

    @property
    def log(self) -> list[str]:
        """What the gateway has said."""
        return (self.rooms[-1][0] / "log").read_text().splitlines()

    def read(self, kind: str, text: str) -> None:
        """Do what a block of the page says."""
        if kind == "python":
            (self.folder / "service.py").write_text(self.here(text))
        elif kind == "yaml":
            self.save(self.here(text))
        elif kind == "text":
            self.err(text.splitlines())
        else:
            for step in steps(text):
                self.type(step)

    def save(self, text: str) -> None:
        self.rules.write_text(text)
        if self.gateway is not None and "workers" not in text:
            said = f"rules of rules.yaml are in force: {Rules.load(self.rules).digest}"
            until(lambda: any(said in line for line in self.log), said)

    def err(self, shown: list[str]) -> None:
        good = self.rules.read_text()
        self.rules.write_text(good.replace("5/min", "5/mim", 1))
        said = shown[1]
        until(lambda: said in self.log, said)
        self.rules.write_text(good)

    def type(self, step: Step) -> None:
        step = Step(self.here(step.command), [self.here(line) for line in step.shown])
        if step.command.startswith("pip"):
            return
        command = step.command.replace("headgate ", f"{sys.executable} -m headgate.cli ", 1)
        if step.command.startswith(("python", "headgate gateway")):
            self.start(step, shlex.split(command)[1:])
            return
        told = subprocess.check_output(
            ["sh", "-c", command.replace("curl", CURL, 1)],
            cwd=self.folder,
            env=ENVIRONMENT,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert step.true([line.rstrip() for line in told.splitlines()]), (command, told)

    def start(self, step: Step, words: list[str]) -> None:
        gateway = step.command.startswith("headgate")
        if gateway and self.gateway is not None:
            self.stop()
        room = keeper().room("tutorial")
        path = f"PYTHONPATH={ENVIRONMENT['PYTHONPATH']}"
        folder = str(self.folder)
        process = keeper().start(room, "env", "-C", folder, path, sys.executable, *words)
        self.rooms.append((room, process))
        if gateway:
            self.gateway = process
            self.shown(step)
        else:
            port = int(self.ports["9000"])
            until(lambda: not socket.create_connection(("127.0.0.1", port)).close(), step.command)

    def shown(self, step: Step) -> None:
        """Wait until it says what the page says."""
        try:
            until(lambda: step.true(self.log), step.command)
        except TimeoutError as problem:
            problem.add_note("\n".join(self.log))
            raise

    def stop(self) -> None:
        """Ctrl-C."""
        assert self.gateway is not None
        self.gateway.send_signal(signal.SIGINT)
        assert self.gateway.wait(20) == 0

    def close(self) -> None:
        for one in self.kept:
            one.close()
        for room, process in self.rooms:
            if process.poll() is None:
                process.kill()
            process.wait(20)
            keeper().forget(room, process)
        # Where its workers counted, as the file names no store.
        SharedStore(Orders(str(self.rules)).sharing().spare.removeprefix("shared://")).remove()


def test_the_tutorial_shows_what_one_gets() -> None:
    reader = Reader()
    try:
        for kind, text in blocks(PAGE.read_text()):
            reader.read(kind, text)
        reader.stop()
    finally:
        reader.close()
