"""A real server with a configuration of the test's own, at a port of this machine."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.servers.keeper import keeper
from tests.servers.ports import Port
from tests.servers.waiting import until

# What one that is told to end may still take before it is killed, in seconds.
GRACE = 2.0
Command = Callable[[Path], tuple[str, ...]]


class Front:
    """A program that listens at `port`, from the first line of a `with` to its last.

    `plan` makes its configuration, which is written to the file `name`, of the port and of a folder
    of its own; `command` is how it is started there.
    """

    def __init__(self, name: str, plan: Callable[[int, Path], str], command: Command) -> None:
        self.name = name
        self.folder = keeper().room(name)
        self.place = Port()
        self.port = self.place.number
        self.command = command
        (self.folder / name).write_text(plan(self.port, self.folder))
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Front:
        self.process = keeper().start(self.folder, *self.command(self.folder))
        try:
            until(self.ready, f"{self} to listen")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{self.name} on {self.port}>"

    def ready(self) -> bool:
        """Whether it listens; raises with its last words when it has ended."""
        if self.process is not None and self.process.poll() is not None:
            raise RuntimeError(f"{self} did not start: {self.words()}")
        with socket.create_connection(("127.0.0.1", self.port), 5.0):
            return True

    def words(self) -> str:
        """What it has said."""
        return (self.folder / "log").read_text("utf-8", "replace")

    def close(self) -> None:
        """End it and give the port back."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE)
            self.process.kill()
            self.process.wait()
            keeper().forget(self.folder, self.process)
            self.process = None
        self.place.close()
