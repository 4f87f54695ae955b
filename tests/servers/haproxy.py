"""A real HAProxy with a configuration of the test's."""

from __future__ import annotations

import socket

from tests.servers.binaries import program
from tests.servers.process import ServerProcess

# It is asked there how it sees its servers.
ADMIN = "\nglobal\n    stats socket FOLDER/admin.sock mode 600 level admin\n"


class Haproxy(ServerProcess):
    """Serves on `port`, as `files` will have it, by their names; `haproxy.cfg` is the first.

    In all of them `PORT` is that port, and `FOLDER` where the files are.
    """

    def __init__(self, files: dict[str, str]) -> None:
        # In the foreground: the process that was started is the one that serves.
        found = program("haproxy", "apt-get install haproxy")
        files = {**files, "haproxy.cfg": files["haproxy.cfg"] + ADMIN}
        super().__init__("haproxy", (found, "-db", "-f", "haproxy.cfg"), files)

    def is_ready(self) -> bool:
        return "Uptime" in self.tell("show info")

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
