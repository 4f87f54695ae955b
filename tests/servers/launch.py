"""A real Valkey or Redis on a free port of this machine, up in a moment, gone with the tests."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.servers.binaries import find
from tests.servers.process import ServerProcess, launch
from tests.servers.wire import Login, Refusal, Wire

ALWAYS = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
# A replica has its copy at once: no waiting for others who want one, no file between.
REPLICATION = ("--repl-diskless-sync-delay", "0", "--repl-diskless-load", "swapdb")


class Server(ServerProcess):
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
        self.binary = find(kind)
        super().__init__(kind)
        self.kind = kind
        self.options = options
        self.login = login
        self.authority = authority
        self.paused = False

    def command(self) -> Sequence[str]:
        door = "--port" if self.authority is None else "--tls-port"
        return (str(self.binary), *self.options, *ALWAYS, door, str(self.port))

    def is_ready(self) -> bool:
        """Whether the process itself answers, and not another one on its port."""
        return self.ask("PING") == "PONG" and self.info("server")["process_id"] == str(self.pid)

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

    def restart(self) -> None:
        """End it, and begin again at the same port with nothing in memory."""
        self.stop()
        launch(self)

    def reap(self) -> None:
        super().reap()
        self.paused = False


def fields(text: str) -> dict[str, str]:
    """The lines `name:value` of INFO and CLUSTER INFO."""
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
