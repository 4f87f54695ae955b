"""A real HAProxy with a configuration of the test's."""

from __future__ import annotations

import signal
import socket
import subprocess
from contextlib import suppress

from tests.servers.binaries import program
from tests.servers.keeper import keeper
from tests.servers.ports import Port
from tests.servers.waiting import until

# It is asked there how it sees its servers.
ADMIN = "\nglobal\n    stats socket FOLDER/admin.sock mode 600 level admin\n"
GRACE = 2.0


class Haproxy:
    """Serves on `port`, as `files` will have it, by their names; `haproxy.cfg` is the first.

    In all of them `PORT` is that port, and `FOLDER` where the files are.
    """

    name = "haproxy"

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files
        self.binary = program("haproxy", "apt-get install haproxy")
        self.folder = keeper().room("haproxy")
        self.place = Port()
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Haproxy:
        for name, text in self.files.items():
            said = text + ADMIN if name == "haproxy.cfg" else text
            said = said.replace("PORT", str(self.port)).replace("FOLDER", str(self.folder))
            (self.folder / name).write_text(said)
        # In the foreground: the process that was started is the one that serves.
        self.process = keeper().start(self.folder, str(self.binary), "-db", "-f", "haproxy.cfg")
        try:
            until(self.ready, f"{self} to answer")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<haproxy on {self.port}>"

    @property
    def port(self) -> int:
        return self.place.number

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def tell(self, command: str) -> str:
        """What it answers to a command of its administrator."""
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(5.0)
            line.connect(f"{self.folder}/admin.sock")
            line.sendall(f"{command}\n".encode())
            return b"".join(iter(lambda: line.recv(65_536), b"")).decode()

    def up(self, server: str) -> bool:
        """Whether it takes a server, named as in `backend/server`, to be well."""
        backend, _, name = server.partition("/")
        lines = self.tell(f"show servers state {backend}").splitlines()
        rows = [line.split() for line in lines[2:]]
        return any(row[3] == name and row[5] == "2" for row in rows if row)

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

    def ready(self) -> bool:
        """Whether it answers; raises with its last words when it has ended."""
        if self.process is not None and self.process.poll() is not None:
            raise RuntimeError(f"{self} did not start: {self.words}")
        return "Uptime" in self.tell("show info")

    @property
    def words(self) -> str:
        """What it has said."""
        return (self.folder / "log").read_text("utf-8", "replace")
