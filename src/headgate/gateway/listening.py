"""Listening: the sockets that clients connect to, with TLS or with a proxy's header before it."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from typing import Any

from headgate.gateway.desk import Desk
from headgate.gateway.porch import Porch
from headgate.measures import MILLION
from headgate.wire.bell import Bell
from headgate.wire.berth import BACKLOG, context
from headgate.wire.handshake import Handshake
from headgate.wire.house import House
from headgate.wire.inlet import Inlet
from headgate.wire.pipe import Pipe
from headgate.wire.threshold import Threshold
from headgate.wire.wheel import Wheel


class Listener:
    """A socket that clients connect to."""

    def __init__(
        self, listen: Any, line: socket.socket, desk: Desk, house: House, wheel: Wheel | None
    ) -> None:
        self._line = line
        self._listen = listen
        self._desk = desk
        self._house = house
        self._wheel = wheel
        self._bell = Bell(logging.INFO, house)
        self._context: ssl.SSLContext | None = None
        self._porch: Porch | None = None
        self._threshold: Threshold | None = None

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take clients in."""
        self._loop = loop
        if self._listen.tls is not None:
            self._context = context(self._listen.tls, "http/1.1")
        welcome = self._meet
        if self._listen.proxy_protocol:
            self._porch = Porch(self._meet, self._desk, loop)
            welcome = self._porch.welcome
        self._line.listen(BACKLOG)
        self._threshold = Threshold(self._line, welcome, loop)

    def _meet(self, guest: socket.socket, peer: str) -> None:
        scheme = "http" if self._context is None else "https"
        inlet = Inlet(self._desk, self._house, scheme, peer)
        if self._wheel is not None and self._context is None:
            Pipe(self._wheel, guest, inlet)
        elif self._desk.lobby.seat(inlet):
            task = self._loop.create_task(self._agree(guest, inlet))
            Handshake(guest, inlet, task, self._bell)
        else:
            guest.close()

    async def _agree(self, guest: socket.socket, inlet: Inlet) -> None:
        # It is a protocol by what it does; a compiled class has no ancestors of Python's.
        make: Any = lambda: inlet  # noqa: E731
        secure: dict[str, Any] = {}
        if self._context is not None:
            # Who does not even greet is not waited for longer than for a head.
            patience = self._house.until_head / MILLION
            secure = {"ssl": self._context, "ssl_handshake_timeout": patience}
        await self._loop.connect_accepted_socket(make, guest, **secure)

    @property
    def address(self) -> str:
        """Where it is, as rules write it."""
        name = self._line.getsockname()
        if self._line.family == socket.AF_UNIX:
            return f"unix:{name}"
        host = f"[{name[0]}]" if ":" in name[0] else name[0]
        return f"{host}:{name[1]}"

    @property
    def waiting(self) -> bool:
        """Whether there is anybody who has come in, and is no client yet."""
        return self._porch is not None and self._porch.waiting

    def close(self) -> None:
        """Take nobody in any more."""
        if self._threshold is not None:
            self._threshold.close()
            self._threshold = None
        self._line.close()

    def clear(self) -> None:
        """Hang up on who is no client yet."""
        if self._porch is not None:
            self._porch.clear()
