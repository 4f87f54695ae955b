"""Listening: the ports of a service, and who comes in by them."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from typing import Any

from headgate.measures import MILLION
from headgate.service.hall import Hall
from headgate.wire.bell import Bell
from headgate.wire.berth import BACKLOG, context
from headgate.wire.handshake import Handshake
from headgate.wire.pipe import Pipe
from headgate.wire.threshold import Threshold
from headgate.wire.wheel import Wheel

# Of a guest, who is told the hall, the port it comes in by, and its address.
Welcome = Callable[[Hall, Any, str], Any]
# As TLS calls what is spoken; of the others it has no word.
CALLED = {"http": "http/1.1", "grpc": "h2"}


def welcome(speaks: str) -> Welcome:
    """What makes a guest of who connects; of a protocol that nobody speaks nothing is loaded."""
    if speaks == "http":
        from headgate.service.http.reception import receive  # noqa: PLC0415 - as told

        return receive
    if speaks == "grpc":
        from headgate.service.grpc.channel import Channel  # noqa: PLC0415 - as told

        return Channel
    if speaks == "resp":
        from headgate.service.resp.connection import Connection  # noqa: PLC0415 - as told

        return Connection
    from headgate.service.spop.agent import Agent  # noqa: PLC0415 - as told

    return Agent


class Listener:
    """A port that is listened on."""

    def __init__(self, port: Any, line: socket.socket, hall: Hall, wheel: Wheel | None) -> None:
        self._port = port
        self._line = line
        self._hall = hall
        self._wheel = wheel
        self._welcome = welcome(port.speaks)
        self._bell = Bell(logging.INFO, hall.house)
        self._context: ssl.SSLContext | None = None
        self._threshold: Threshold | None = None

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take guests in."""
        self._loop = loop
        if self._port.tls is not None:
            self._context = context(self._port.tls, CALLED.get(self._port.speaks, ""))
        self._line.listen(BACKLOG)
        self._threshold = Threshold(self._line, self._meet, loop)

    def _meet(self, line: socket.socket, peer: str) -> None:
        guest = self._welcome(self._hall, self._port, peer)
        if self._wheel is not None and self._context is None:
            Pipe(self._wheel, line, guest)
        elif self._hall.seat(guest):
            task = self._loop.create_task(self._agree(line, guest))
            Handshake(line, guest, task, self._bell)
        else:
            line.close()

    async def _agree(self, line: socket.socket, guest: Any) -> None:
        secure: dict[str, Any] = {}
        if self._context is not None:
            # Who does not even greet is not waited for longer than for a first word.
            patience = self._hall.house.until_head / MILLION
            secure = {"ssl": self._context, "ssl_handshake_timeout": patience}
        await self._loop.connect_accepted_socket(lambda: guest, line, **secure)

    @property
    def address(self) -> str:
        """Where it is, as rules write it."""
        name = self._line.getsockname()
        if self._line.family == socket.AF_UNIX:
            return f"{self._port.speaks}://unix:{name}"
        host = f"[{name[0]}]" if ":" in name[0] else name[0]
        return f"{self._port.speaks}://{host}:{name[1]}"

    def close(self) -> None:
        """Take nobody in any more."""
        if self._threshold is not None:
            self._threshold.close()
            self._threshold = None
        self._line.close()
