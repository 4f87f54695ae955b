"""Traffic for a page to show: some clients who ask again and again, one of them with a bad name."""

from __future__ import annotations

import itertools
import socket
from contextlib import suppress
from threading import Event, Thread
from urllib.parse import quote

HOSTILE = "<img src=x onerror=hit=1>"
ASK = "GET {path} HTTP/1.1\r\nhost: a.example\r\nx-api-key: {key}\r\n\r\n"
# Few of them come by the rule that has a limit, so that most are let in.
BAD = f"/v1/{quote(HOSTILE, safe='')}"
WHO = [("/", "calm")] * 6 + [("/v1/items", "worn-out"), (BAD, HOSTILE)]


class Traffic:
    """Asks at a port, about a hundred times a second, until it ends."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._over = Event()
        self._thread = Thread(target=self._run, name="traffic", daemon=True)

    def __enter__(self) -> Traffic:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.is_set():
            # Whoever is cut off comes again.
            with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 5) as line:
                self._ask(line)

    def _ask(self, line: socket.socket) -> None:
        for path, key in itertools.cycle(WHO):
            if self._over.wait(0.008):
                return
            line.sendall(ASK.format(path=path, key=key).encode())
            if not line.recv(65_536):
                return
