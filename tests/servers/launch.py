"""A real Valkey or Redis on a free port of this machine, up in a moment, gone with the tests."""

from __future__ import annotations

import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.servers.binaries import find
from tests.servers.keeper import keeper
from tests.servers.ports import Port
from tests.servers.waiting import until
from tests.servers.wire import Login, Refusal, Wire

ALWAYS = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
# A replica has its copy at once: no waiting for others who want one, no file between.
REPLICATION = ("--repl-diskless-sync-delay", "0", "--repl-diskless-load", "swapdb")
# What a server told to end may still take before it is killed, in seconds.
GRACE = 2.0


class Stillborn(Exception):
    """A server ended before it answered; with its last words."""


class Server:
    """A server of a kind, `valkey` or `redis`, with its options as on the command line.

        with Server("valkey", "--maxmemory", "2mb") as server:
            server.ask("SET", "key", "value")

    It keeps nothing on disk. The same port is its own until it is closed, so `restart` comes back
    at the same address, empty. With an `authority` it speaks TLS, and its `options` have to say
    with which certificate; `ask` and `url` use the `login`.
    """

    def __init__(
        self,
        kind: str,
        *options: str,
        login: Login | None = None,
        authority: Path | None = None,
    ) -> None:
        self.kind = kind
        self.options = options
        self.login = login
        self.authority = authority
        self.binary = find(kind)
        self.folder = keeper().room(kind)
        self.place = Port()
        self.paused = False
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Server:
        try:
            launch(self)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{self.kind} on {self.port}>"

    @property
    def port(self) -> int:
        return self.place.number

    @property
    def url(self) -> str:
        return self.address(self.login)

    @property
    def patient(self) -> str:
        """The URL for those who wait for it even where the machine is busy."""
        return f"{self.url}?budget=20"

    def address(self, login: Login | None) -> str:
        """The URL as which `login` reaches this server."""
        scheme = "redis" if self.authority is None else "rediss"
        user = "" if login is None else f"{login.name}:{login.password}@"
        return f"{scheme}://{user}127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        if self.process is None:
            raise RuntimeError(f"{self} is not running")
        return self.process.pid

    @property
    def alive(self) -> bool:
        """Whether its process is there, paused or not."""
        if self.process is not None and self.process.poll() is not None:
            self.bury()
        return self.process is not None

    def wire(self, timeout: float = 20.0) -> Wire:
        """A connection of one's own, for all that needs more than one command on it."""
        return Wire(self.port, self.login, self.authority, timeout)

    def ask(self, *command: str | bytes | float) -> Any:
        """The answer to one command, asked on a fresh connection."""
        with self.wire() as wire:
            return wire.ask(*command)

    def info(self, section: str) -> dict[str, str]:
        """A section of INFO by its fields."""
        return fields(self.ask("INFO", section))

    def heal(self) -> None:
        """Back to an empty server that runs, whatever was done to its keys or its process."""
        self.resume()
        try:
            self.flush()
        except (OSError, Refusal):
            self.kill()
            launch(self)

    def flush(self) -> None:
        """Forget all keys, scripts and functions; who does not within a second, does not."""
        with self.wire(timeout=1.0) as wire:
            wire.ask("FLUSHALL")
            wire.ask("SCRIPT", "FLUSH")
            # Redis 6 knows no functions.
            with suppress(Refusal):
                wire.ask("FUNCTION", "FLUSH")

    def pause(self) -> None:
        """Freeze the process: connections are accepted and kept, and nothing answers."""
        self.signal(signal.SIGSTOP)
        self.paused = True

    def resume(self) -> None:
        """Let a paused process go on; one that runs does not notice."""
        self.signal(signal.SIGCONT)
        self.paused = False

    def kill(self) -> None:
        """End the process on the spot, with no goodbye to anybody."""
        if self.alive:
            self.signal(signal.SIGKILL)
            self.bury()

    def stop(self) -> None:
        """End the process in its own way, or at last by force."""
        stop(self)

    def restart(self) -> None:
        """End it, and begin again at the same port with nothing in memory."""
        self.stop()
        launch(self)

    def close(self) -> None:
        """Stop it and give the port back."""
        self.stop()
        self.place.close()

    def signal(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(number)

    def spawn(self) -> None:
        """Begin the process without waiting for it; `launch` does both."""
        if self.alive:
            raise RuntimeError(f"{self} is running already")
        door = "--port" if self.authority is None else "--tls-port"
        command = (str(self.binary), *self.options, *ALWAYS, door, str(self.port))
        self.process = keeper().start(self.folder, *command)

    def ready(self) -> bool:
        """Whether the process itself answers; raises with its last words when it has ended."""
        if not self.alive:
            words = (self.folder / "log").read_text("utf-8", "replace").splitlines()[-5:]
            raise Stillborn("\n  ".join([f"{self} did not start:", *words]))
        return self.ask("PING") == "PONG" and self.info("server")["process_id"] == str(self.pid)

    def wait(self, seconds: float) -> None:
        if self.process is not None:
            self.process.wait(seconds)

    def bury(self) -> None:
        if self.process is not None:
            self.process.wait()
            keeper().forget(self.folder, self.process)
            self.process, self.paused = None, False


def launch(*servers: Server) -> None:
    """Start all of them at once, and come back when every one answers PING."""
    for server in servers:
        server.spawn()
    for server in servers:
        until(server.ready, f"{server} to answer")


def stop(*servers: Server, grace: float = GRACE) -> None:
    """End all of them at once: asked first, and killed where that does not help in time."""
    running = [server for server in servers if server.alive]
    for server in running:
        server.signal(signal.SIGTERM)
        # A paused process does not hear of it otherwise.
        server.signal(signal.SIGCONT)
    for server in running:
        with suppress(subprocess.TimeoutExpired):
            server.wait(grace)
        server.kill()


def fields(text: str) -> dict[str, str]:
    """The lines `name:value` of INFO and CLUSTER INFO."""
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
