"""Server processes of the tests: started in a folder and on ports of their own, and ended."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.servers.keeper import keeper
from tests.servers.ports import Port
from tests.servers.waiting import until

# Seconds between SIGTERM and SIGKILL.
STOP_SECONDS = 2.0
LOG_LINES = 20


class ServerStartError(Exception):
    """A server process ended before it was ready; the message quotes the end of its log."""


class ServerProcess:
    """One server process, from the first line of a `with` to its last.

        with ServerProcess("caddy", ("caddy", "run"), {"Caddyfile": text}) as server:
            connect(server.port)

    It runs in `folder`, where `files` are written before it starts. In the files and in the
    command, PORT stands for the first of its `ports` and FOLDER for the folder. Ports stay
    reserved until `close`, so a server that was stopped can be started again on the same port.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path] = (),
        files: Mapping[str, str] | None = None,
        ports: Sequence[str] = ("main",),
    ) -> None:
        self.name = name
        self.folder = keeper().room(name)
        self.reserved = {port: Port() for port in ports}
        self.words = [self.fill(str(word)) for word in command]
        self.process: subprocess.Popen[bytes] | None = None
        self.pid = 0
        for file, text in (files or {}).items():
            (self.folder / file).write_text(self.fill(text))

    def __enter__(self) -> Self:
        try:
            launch(self)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{self.name} on {', '.join(str(one.number) for one in self.reserved.values())}>"

    def port_of(self, name: str) -> int:
        """The port with this name."""
        return self.reserved[name].number

    def fill(self, text: str) -> str:
        """Replaces PORT and FOLDER in a text."""
        if self.reserved:
            text = text.replace("PORT", str(self.port))
        return text.replace("FOLDER", str(self.folder))

    def command(self) -> Sequence[str]:
        """The command line that starts the server."""
        return self.words

    def is_ready(self) -> bool:
        """Whether the server answers; any server that listens does, unless a subclass asks more."""
        with socket.create_connection(("127.0.0.1", self.port), 5.0):
            return True

    @property
    def port(self) -> int:
        return next(iter(self.reserved.values())).number

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """What the process wrote to its standard output and standard error."""
        return (self.folder / "log").read_text("utf-8", "replace")

    @property
    def alive(self) -> bool:
        """Whether the process exists, paused or not."""
        if self.process is not None and self.process.poll() is not None:
            self.reap()
        return self.process is not None

    def signal(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(number)

    def spawn(self) -> None:
        """Starts the process without waiting for it; `launch` also waits."""
        if self.alive:
            raise RuntimeError(f"{self} is running already")
        self.process = keeper().start(self.folder, *self.command())
        self.pid = self.process.pid

    def check_ready(self) -> bool:
        """Whether the server is ready; raises ServerStartError if its process has ended."""
        if not self.alive:
            words = self.log.splitlines()[-LOG_LINES:]
            raise ServerStartError("\n  ".join([f"{self} did not start:", *words]))
        return self.is_ready()

    def kill(self) -> None:
        """Ends the process with SIGKILL."""
        if self.alive:
            self.signal(signal.SIGKILL)
            self.reap()

    def stop(self) -> None:
        """Ends the process with SIGTERM, or with SIGKILL if it does not end in time."""
        stop(self)

    def close(self) -> None:
        """Stops the process and gives its ports back."""
        self.stop()
        for port in self.reserved.values():
            port.close()

    def reap(self) -> None:
        """Waits for the end of the process."""
        if self.process is not None:
            self.process.wait()
            keeper().forget(self.folder, self.process)
            self.process = None


def launch(*servers: ServerProcess) -> None:
    """Starts all of them at once, and returns when every one is ready."""
    for server in servers:
        server.spawn()
    for server in servers:
        until(server.check_ready, f"{server} to be ready")


def stop(*servers: ServerProcess) -> None:
    """Stops all of them at once."""
    running = [server for server in servers if server.alive]
    for server in running:
        server.signal(signal.SIGTERM)
        # A paused process handles SIGTERM only after it is resumed.
        server.signal(signal.SIGCONT)
    for server in running:
        with suppress(subprocess.TimeoutExpired):
            if server.process is not None:
                server.process.wait(STOP_SECONDS)
        server.kill()
