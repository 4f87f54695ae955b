"""What stands around a gateway under load: a server behind it, and a look at its worker."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from tests.servers.process import ServerProcess
from tests.workers.process import TOKEN, Process

PROGRAM = Path(__file__).with_name("origin_process.py")


class Origin(ServerProcess):
    """A server in a process of its own, from the first line of a `with` to its last.

    `name`, `places` and `work` are what it is called, how many it serves at once, and how many
    seconds that takes.
    """

    def __init__(self, **terms: Any) -> None:
        command = (sys.executable, "-P", str(PROGRAM), json.dumps(terms))
        super().__init__("origin", command, ports=())

    def is_ready(self) -> bool:
        return self.port > 0

    @property
    def port(self) -> int:
        found = re.search("port ([0-9]+)\n", self.log)
        return 0 if found is None else int(found[1])


def plan(*rules: Any, upstreams: Any, routes: Any, **terms: Any) -> str:
    """A file of rules for a gateway with an admin. What is JSON is YAML as well."""
    gateway = {
        "listen": "127.0.0.1:0",
        "admin": {"listen": "127.0.0.1:0", "token": TOKEN},
        "upstreams": upstreams,
        "routes": routes,
        **terms,
    }
    return json.dumps({"version": 1, "rules": rules, "gateway": gateway})


def worker(gateway: Process) -> int:
    """The number of a gateway's only worker."""
    (found,) = gateway.workers
    return int(found["pid"])


def files(pid: int) -> int:
    """How many files a process has open."""
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def most(pid: int) -> int:
    """How many it may have."""
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("Max open files")).split()[3])


def forget(pid: int) -> int:
    """Begin to measure a process's memory anew: what it takes now, in bytes."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return peak(pid)


def peak(pid: int) -> int:
    """The most memory that it took since, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) * 1024
