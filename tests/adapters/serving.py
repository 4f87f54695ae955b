"""A real server for WSGI applications, with a thread for each request, and clients that may go."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server


class Server(ThreadingMixIn, WSGIServer):
    """`wsgiref`'s server, with threads."""

    daemon_threads = True


class Handler(WSGIRequestHandler):
    """One that says nothing."""

    def log_message(self, *args: Any) -> None:
        """Say nothing."""

    def get_stderr(self) -> Any:
        """Where nobody looks."""
        return NOWHERE


class Nowhere:
    """A file that forgets."""

    def write(self, text: str) -> None:
        """Forget."""

    def flush(self) -> None:
        """Nothing to do."""


NOWHERE = Nowhere()


@contextmanager
def served(app: Any) -> Iterator[int]:
    """The port at which the application is served."""
    server = make_server("127.0.0.1", 0, app, Server, Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Guest:
    """A client that reads as much as it likes of an answer, and goes when it likes."""

    def __init__(self, port: int, path: str, **headers: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 10)
        said = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        self._socket.sendall(f"GET {path} HTTP/1.0\r\nhost: a\r\n{said}\r\n".encode())
        self._file = self._socket.makefile("rb")
        self.status = int(self._file.readline().split()[1])
        self.headers: dict[str, str] = {}
        while line := self._file.readline().strip():
            name, _, value = line.decode().partition(": ")
            self.headers[name.lower()] = value

    def read(self, size: int = -1) -> bytes:
        """So many bytes of the body, or all there are."""
        return self._file.read(size)

    def go(self) -> None:
        """Close the connection, whatever is yet to come."""
        self._file.close()
        self._socket.close()
