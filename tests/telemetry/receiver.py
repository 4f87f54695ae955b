"""A receiver of webhooks on this machine, that answers as it is told and keeps what it was sent."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple


class Sent(NamedTuple):
    """A request: its path, its headers in lower case, its body, and that as data."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


class Receiver:
    """Answers with these statuses, one after another, and then with 204."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = [*statuses]
        self.sent: list[Sent] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                said = {name.lower(): value for name, value in self.headers.items()}
                receiver.sent.append(Sent(self.path, said, raw))
                status = receiver.statuses.pop(0) if receiver.statuses else 204
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("location", "/elsewhere")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?for=web"
        self.thread = Thread(target=lambda: self.server.serve_forever(0.01), daemon=True)

    def __enter__(self) -> Receiver:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
