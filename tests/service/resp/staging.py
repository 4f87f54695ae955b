"""The service over RESP, in a loop of its own thread, on a clock that is moved by hand.

with RespServiceHost() as host:
    assert host.ask("PING") == "PONG"
"""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

from headgate.rules.model.rules import Rules
from tests.servers.resp import encode, parse
from tests.service.host import ServiceHost, read_rules

API = {"name": "api", "key": "client.ip", "limit": "5/min"}


def plan(*rules: dict[str, Any], **said: Any) -> Rules:
    """Rules, as a file would say them; one of five a minute unless others are given."""
    return read_rules(*(rules or (API,)), **said)


def known(*tokens: str, rules: tuple[str, ...] = (), limit: Any = None) -> SimpleNamespace:
    """What rules say of a caller."""
    return SimpleNamespace(token=tokens, rules=rules, limit=limit)


class RespServiceHost(ServiceHost):
    """A service that speaks RESP; its `clock` moves when it is told to."""

    protocol = "resp"

    def __init__(self, rules: Rules | None = None, *callers: Any, **options: Any) -> None:
        super().__init__(rules or plan(), *callers, **options)

    @property
    def url(self) -> str:
        """Where a store finds it."""
        return f"headgate://127.0.0.1:{self.port}"

    def talk(self) -> Talk:
        """Somebody who is connected."""
        return Talk(self.port)

    def ask(self, *words: str | bytes | float) -> Any:
        """The answer to one command."""
        with self.talk() as talk:
            return talk.ask(*words)


class Talk:
    """A connection to a service, byte by byte."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 20)
        self.unread = b""

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Say these bytes."""
        self.socket.sendall(data)

    def hear(self) -> Any:
        """The next answer; `None` is one, and the end of all answers is an EOFError."""
        while (found := parse(self.unread)) is None:
            data = self.socket.recv(65_536)
            if not data:
                raise EOFError(self.unread)
            self.unread += data
        said, end = found
        self.unread = self.unread[end:]
        return said

    def rest(self) -> bytes:
        """All that is said until it is hung up."""
        data = bytearray(self.unread)
        while True:
            try:
                more = self.socket.recv(65_536)
            except ConnectionResetError:
                return bytes(data)
            if not more:
                return bytes(data)
            data += more

    def ask(self, *words: str | bytes | float) -> Any:
        """The answer to a command."""
        self.send(encode(*words))
        return self.hear()
