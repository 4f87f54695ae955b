"""A server on this machine that answers as it was told, and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Answer(NamedTuple):
    """What the server says once."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b"welcome"


class Asked(NamedTuple):
    """What it was asked."""

    method: str
    path: str
    body: bytes


REFUSED = Answer(429, (("Retry-After", "5"), ("RateLimit", '"burst";r=0;t=5')), b"no" * 50_000)


class Server(ThreadingHTTPServer):
    """Gives its answers in order, and once they are used up, welcomes everybody."""

    daemon_threads = True

    def __init__(self, answers: list[Answer]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.asked: list[Asked] = []

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}/here"


class Handler(BaseHTTPRequestHandler):
    """Speaks HTTP/1.1, so that connections are kept."""

    protocol_version = "HTTP/1.1"
    server: Server

    def answer(self) -> None:
        body = self.body()
        self.server.asked.append(Asked(self.command, self.path, body))
        answer = self.server.answers.pop(0) if self.server.answers else Answer()
        self.send_response(answer.status)
        for name, text in answer.headers:
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_POST = answer  # noqa: N815 - as the standard library looks for them

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        found = b""
        while size := int(self.rfile.readline(), 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return found

    def handle(self) -> None:
        # Who was told enough hangs up, and may do so in the middle of it.
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True

    def log_message(self, *said: object) -> None:
        return None


@contextmanager
def serving(*answers: Answer) -> Iterator[Server]:
    """A server for as long as it is needed."""
    with Server(list(answers)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
