"""Line: how the admin of a gateway or a service is asked for a reading, from this machine."""

from __future__ import annotations

import json
import socket
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from typing import Any

from headgate.errors import HeadgateError

UNIX = "unix:"
# How long an answer may take.
PATIENCE = 5.0
# More than this is no reading.
MOST = 16 << 20
SAID = {
    401: "{} does not know this token; write the admin's into a file, and say --token-file FILE",
    403: "{} answers only who asks by a name of its own machine, such as 127.0.0.1",
    404: "{} has no readings; is it the admin of a gateway or a service of this version?",
}


class Unreachable(HeadgateError):
    """Nobody answers there, or not with a reading; it may be otherwise in a moment."""


class Unwelcome(HeadgateError):
    """It will not answer, however often it is asked."""


class Line:
    """The way to an admin: `http://127.0.0.1:9901`, `127.0.0.1:9901` or `unix:/run/admin.sock`.

    Raises ValueError if it is none.
    """

    def __init__(self, address: str, token: str) -> None:
        self.address = address
        self.token = token
        self.path = address.removeprefix(UNIX) if address.startswith(UNIX) else ""
        plain = address.removeprefix("http://").rstrip("/")
        host, mark, port = plain.rpartition(":")
        self.host, self.port = host.strip("[]"), 0
        if self.path:
            return
        if not (mark and host and port.isdecimal() and 0 < int(port) < 65_536) or "/" in plain:
            raise ValueError(
                f'"{address}" is no address of an admin; write one such as '
                "http://127.0.0.1:9901 or unix:/run/headgate/admin.sock"
            )
        self.port = int(port)

    def read(self) -> Any:
        """The reading of this moment; raises `Unreachable`, or `Unwelcome`."""
        try:
            with closing(self._connect()) as line:
                return self._ask(line)
        except (OSError, HTTPException, ValueError, LookupError) as problem:
            reason = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
            raise Unreachable(f"{self.address} does not answer: {reason}") from None

    def _connect(self) -> HTTPConnection:
        line = HTTPConnection(self.host or "localhost", self.port or None, timeout=PATIENCE)
        if self.path:
            line.sock = socket.socket(socket.AF_UNIX)
            line.sock.settimeout(PATIENCE)
            line.sock.connect(self.path)
        return line

    def _ask(self, line: HTTPConnection) -> Any:
        shown = {"authorization": f"Bearer {self.token}"} if self.token else {}
        line.request("GET", "/reading", headers={**shown, "accept": "application/json"})
        with line.getresponse() as answer:
            if answer.status in SAID:
                raise Unwelcome(SAID[answer.status].format(self.address))
            if answer.status != 200:
                raise ValueError(f"it says {answer.status}")
            found = json.loads(answer.read(MOST))
        if not isinstance(found, dict) or not {"at", "rules", "store"} <= found.keys():
            raise ValueError("what it says is no reading")
        return found
