"""Ports that stay ours from the moment they are chosen until we let them go."""

from __future__ import annotations

import socket


class Port:
    """A free port of the loopback, reserved although nobody listens on it yet.

    A socket is bound to it and never listens, so a client is refused as at any dead port, nobody
    else can bind it, and no client is given it as its own end. Only when it is bound is it marked
    as reusable: then Linux lets one more socket that says the same bind it and listen, which is
    what every server does. The port outlives the server, so that this can be started again on it.
    """

    def __init__(self) -> None:
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.number: int = self.socket.getsockname()[1]

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()
