"""Notice: what systemd is told of a service that wants to be asked (sd_notify)."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress

VARIABLE = "NOTIFY_SOCKET"


def notify(environment: Mapping[str, str], said: str) -> None:
    """Say it, if somebody asked; nothing depends on whether it is heard."""
    path = environment.get(VARIABLE, "")
    if not path:
        return
    # A name that begins so stands in no file system.
    address = f"\0{path[1:]}" if path.startswith("@") else path
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.sendto(said.encode(), address)
