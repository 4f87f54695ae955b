"""An ASGI application served for real on this machine, and clients that hang up when they like."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any, NamedTuple

import uvicorn
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)

from tests.servers.launch import Server


class Said(NamedTuple):
    """An answer, its headers in the order they came in."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def all(self, name: str) -> list[str]:
        """Every line of a header."""
        return [value for word, value in self.headers if word.lower() == name]

    def line(self, name: str) -> str:
        """The only line of a header."""
        (value,) = self.all(name)
        return value


class Site:
    """Where a served application is."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(
        self,
        path: str,
        method: str = "GET",
        headers: dict[str, str] | None = None,
        body: bytes = b"",
    ) -> Said:
        """Ask once, over a connection of its own."""
        with self.open(path, method, headers, body) as answer:
            return Said(answer.status, answer.getheaders(), answer.read())

    @contextmanager
    def open(
        self,
        path: str,
        method: str = "GET",
        headers: dict[str, str] | None = None,
        body: bytes = b"",
    ) -> Iterator[HTTPResponse]:
        """An answer to be read bit by bit; hangs up at the end, read or not."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, path, body or None, headers or {})
        answer = connection.getresponse()
        try:
            yield answer
        finally:
            answer.close()
            connection.close()

    @contextmanager
    def socket(self, path: str, **headers: str) -> Iterator[Talk]:
        """A WebSocket, which is not closed but left at the end."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as line:
            yield Talk(
                line, path, [(name.encode(), text.encode()) for name, text in headers.items()]
            )


class Talk:
    """A WebSocket as a client has it: `status` is 101 if it was let in."""

    def __init__(self, line: socket.socket, path: str, headers: list[tuple[bytes, bytes]]) -> None:
        self._line = line
        self._wire = WSConnection(ConnectionType.CLIENT)
        self._events: list[Event] = []
        self._send(Request(host="127.0.0.1", target=path, extra_headers=headers))
        first = self._next()
        assert isinstance(first, (AcceptConnection, RejectConnection))
        accepted = isinstance(first, AcceptConnection)
        self.status = 101 if accepted else first.status_code  # type: ignore[union-attr]
        found = first.extra_headers if accepted else first.headers  # type: ignore[union-attr]
        self.headers = [(name.decode(), text.decode()) for name, text in found]

    def refusal(self) -> Said:
        """The whole answer of one that was not let in."""
        body = b""
        while True:
            event = self._next()
            assert isinstance(event, RejectData)
            body += event.data
            if event.body_finished:
                return Said(self.status, self.headers, body)

    def say(self, text: str) -> None:
        """Send a text."""
        self._send(TextMessage(data=text))

    def hear(self) -> str | int:
        """The next text, or the code that it was closed with."""
        text = ""
        while True:
            event = self._next()
            if isinstance(event, CloseConnection):
                return event.code
            if isinstance(event, (TextMessage, BytesMessage)):
                text += event.data if isinstance(event, TextMessage) else event.data.decode()
                if event.message_finished:
                    return text

    def close(self) -> None:
        """Say goodbye."""
        self._send(CloseConnection(code=1000))

    def _send(self, event: Event) -> None:
        self._line.sendall(self._wire.send(event))

    def _next(self) -> Event:
        while not self._events:
            data = self._line.recv(65536)
            self._wire.receive_data(data or None)
            self._events += self._wire.events()
        return self._events.pop(0)


@contextmanager
def serving(app: Any, **options: Any) -> Iterator[Site]:
    """An application behind uvicorn for as long as it is needed."""
    settings = {"log_level": "critical", "lifespan": "auto", "ws": "wsproto", "loop": "asyncio"}
    server = uvicorn.Server(uvicorn.Config(app, **(settings | options)))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        # Who comes before it has begun waits in line.
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield Site(listener.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join()


def connections(server: Server) -> set[str]:
    """Who is connected to a store's server, but for whoever asks."""
    listed = server.ask("CLIENT", "LIST").splitlines()
    return {line.partition(" ")[0] for line in listed if "cmd=client|list" not in line}
