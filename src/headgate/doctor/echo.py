"""Echo: stands behind the proxies in the place of a gateway, and says who it believes has asked.

It answers every request with what it was told, by the rules' own `client`: who connected, what the
header said, and who the client is therefore. Nothing else of a request is told.
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from headgate.explain.hops import follow
from headgate.explain.opinion import finite
from headgate.rules.clients.client import Client

# What an answer begins with that is an echo's.
MARK = "headgate-echo"
# Seconds for a request to come in.
PATIENCE = 5.0


class Echo(ThreadingHTTPServer):
    """Listens at `address`, and believes whom `client` believes. Used in a `with`."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], client: Client) -> None:
        super().__init__(address, Answer)
        self.client = client


class Answer(BaseHTTPRequestHandler):
    """The answer to one request."""

    server: Echo
    timeout = PATIENCE
    server_version = "headgate"
    sys_version = ""

    def do_GET(self) -> None:
        """Say who has asked, and how that is known."""
        header = self.server.client.header
        lines = self.headers.get_all(header) or []
        way = follow(self.server.client, self.client_address[0], lines)
        said: dict[str, Any] = {"answers": MARK, "header": header, "lines": lines}
        body = json.dumps({**said, "client": finite(way)}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *values: Any) -> None:  # noqa: A002 - as it is called there
        """Say nothing of it."""
