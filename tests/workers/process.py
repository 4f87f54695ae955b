"""`headgate gateway`, or `headgate serve`, as a process, with all that it starts."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import headgate
from headgate.stores.shared.store import SharedStore
from tests.servers.process import ServerProcess
from tests.servers.waiting import until

TOKEN = "a-token-that-is-long-enough"
FOUND = Path(headgate.__file__).parents[1]


class Reply(NamedTuple):
    """What the admin says: its status, its head, and its body as data, or a plain text as it is."""

    status: int
    head: str
    body: Any


class Process(ServerProcess):
    """A gateway, or a service, by the rules in a text, in a FOLDER of its own.

        with Process(RULES, "--workers", "2") as process:
            talk(process.port)

    The words are those on its line after its `command`.
    `port` is where it listens first. `ask` asks its admin; `pid` is the master's, also after
    another has taken over. What it says is in `log`. `start` is what Python is told to run.
    """

    def __init__(
        self,
        text: str,
        *words: str,
        start: tuple[str, ...] = ("-m", "headgate.cli"),
        command: str = "gateway",
    ) -> None:
        path = os.pathsep.join([str(FOUND), *filter(None, [os.environ.get("PYTHONPATH")])])
        line = ("env", f"PYTHONPATH={path}", sys.executable, *start, command, "rules.yaml", *words)
        super().__init__(command, line, {"rules.yaml": text}, ports=())
        self.rules = self.folder / "rules.yaml"
        self.text = self.rules.read_text()

    def is_ready(self) -> bool:
        return "counting in" in self.log

    @property
    def port(self) -> int:
        return int(self.find(r"listening on https?://\S*:([0-9]+)"))

    @property
    def ports(self) -> dict[str, int]:
        """Where a service listens, by what is spoken there."""
        found = re.findall(r"listening on ([a-z]+)://\S*:([0-9]+)", self.log)
        return {speaks: int(port) for speaks, port in found}

    @property
    def admin(self) -> int:
        return int(self.find(r"admin on http://\S*:([0-9]+)"))

    @property
    def workers(self) -> list[dict[str, Any]]:
        """What the admin says of each worker."""
        found: list[dict[str, Any]] = self.ask("GET /status").body["workers"]
        return found

    def find(self, pattern: str) -> str:
        found = re.search(pattern, self.log)
        assert found is not None, self.log
        return found[1]

    def ask(self, line: str, *headers: str, token: str = TOKEN, host: str = "localhost") -> Reply:
        """What the admin answers; its token is shown unless it is empty."""
        shown = [f"authorization: Bearer {token}"] if token else []
        named = [f"host: {host}"] if host else []
        head = "\r\n".join([f"{line} HTTP/1.1", *named, *shown, *headers, "", ""])
        with socket.create_connection(("127.0.0.1", self.admin), 10) as client:
            client.sendall(head.encode("latin-1"))
            return reply(client)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def succeed(self) -> None:
        """Have a new master take over, and come back when the old one is gone."""
        old = self.pid
        self.signal(signal.SIGUSR2)
        self.pid = until(self.heir, "a new master")
        # Who watches over what tests leave behind looks there.
        (self.folder / "pid").write_text(str(self.pid))
        until(lambda: gone(old), "the old master to end")

    def heir(self) -> int:
        """The number of the master that serves instead of this one, if there is one."""
        found = re.search(rf"headgate\[{self.pid}\] INFO master ([0-9]+) serves now", self.log)
        return 0 if found is None else int(found[1])

    def restore_rules(self) -> bool:
        """Go by the first rules again; whether this process still serves."""
        if not self.alive or self.process is None or self.pid != self.process.pid:
            return False
        self.rules.write_text(self.text)
        until(lambda: all(worker["up"] for worker in self.workers), "its workers to be up")
        return self.ask("POST /reload").status == 200

    def end(self) -> int:
        """Wait until the process that was started has ended; its status."""
        assert self.process is not None
        return self.process.wait(20)

    def stop(self) -> None:
        """End it on the spot, whoever is the master now; its workers see it and go, too."""
        with suppress(ProcessLookupError):
            self.signal(signal.SIGKILL)
        self.kill()
        for name in set(re.findall("shared://((?:gateway|service)-[0-9a-f]+)", self.log)):
            SharedStore(name).remove()


def gone(pid: int) -> bool:
    """Whether a process has ended, buried or not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def reply(client: socket.socket) -> Reply:
    """All that is said until the other side hangs up."""
    data = b"".join(iter(lambda: client.recv(65_536), b""))
    if not data:
        return Reply(0, "", 0)
    head, _, body = data.decode().partition("\r\n\r\n")
    plain = "content-type: text/plain" in head
    return Reply(int(head.split()[1]), head, body if plain else json.loads(body))


def refused(port: int) -> bool:
    """Whether nobody listens there."""
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except ConnectionRefusedError:
        return True
    return False
