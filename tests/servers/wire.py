"""A blocking connection to a server, which knows no more of Redis than its wire format.

The judge of a store should not be a client that the store may itself be using.
"""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from typing import Any, NamedTuple

from tests.servers.resp import Refusal, encode, parse

__all__ = ["Login", "Refusal", "Wire"]


class Login(NamedTuple):
    """Who speaks; the user `default` is the one that `requirepass` gives a password."""

    name: str
    password: str


class Wire:
    """One connection to a port of this machine; whatever takes longer than `timeout` seconds
    raises TimeoutError.
    """

    def __init__(
        self,
        port: int,
        login: Login | None = None,
        authority: Path | None = None,
        timeout: float = 20.0,
    ) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.data = b""
        try:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if authority is not None:
                context = ssl.create_default_context(cafile=str(authority))
                self.socket = context.wrap_socket(self.socket, server_hostname="127.0.0.1")
            if login is not None:
                self.ask("AUTH", *login)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, *command: str | bytes | float) -> Any:
        """What the server answers; raises what it refuses as `Refusal`."""
        self.send(encode(*command))
        reply = self.read()
        if isinstance(reply, Refusal):
            raise reply
        return reply

    def send(self, data: bytes) -> None:
        """Bytes as they are, for pipelines and for what is not a command at all."""
        self.socket.sendall(data)

    def read(self) -> Any:
        """The next reply; an error is returned. Raises ConnectionError at the end of the wire."""
        while (found := parse(self.data)) is None:
            more = self.socket.recv(65_536)
            if not more:
                raise ConnectionError("the server hung up")
            self.data += more
        reply, end = found
        self.data = self.data[end:]
        return reply

    def close(self) -> None:
        self.socket.close()
