"""Listening: the sockets that clients connect to, with TLS or with a proxy's header before it."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import ssl
import stat
from contextlib import suppress
from typing import Any

from headgate.gateway.bell import Bell
from headgate.gateway.desk import Desk
from headgate.gateway.handshake import Handshake
from headgate.gateway.porch import Porch
from headgate.gateway.threshold import Threshold
from headgate.gateway.wire.house import House
from headgate.gateway.wire.inlet import Inlet
from headgate.gateway.wire.pipe import Pipe
from headgate.gateway.wire.wheel import Wheel
from headgate.measures import MILLION
from headgate.rules.model.place import Place

BACKLOG = 2048


def bind(place: Place) -> socket.socket:
    """A socket that is bound to a place, to be listened on; several processes may have one each."""
    if place.path:
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # One that a process left behind which is no more.
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(os.stat(place.path).st_mode):
                os.unlink(place.path)
        line.bind(place.path)
    else:
        line = plug(place)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        line.bind((place.host, place.port))
    line.setblocking(False)
    return line


def plug(place: Place) -> socket.socket:
    """A socket of the family that a host and a port are of, to be bound to them."""
    family = socket.AF_INET6 if ":" in place.host or not place.host else socket.AF_INET
    try:
        line = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as problem:
        if place.host or problem.errno != errno.EAFNOSUPPORT:
            raise
        # Where the kernel has no IPv6, all interfaces are those of IPv4.
        family = socket.AF_INET
        line = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        # All interfaces are those of both families.
        line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(bool(place.host)))
    return line


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
            self._context = context(self._listen.tls)
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

    def clear(self) -> None:
        """Hang up on who is no client yet."""
        if self._porch is not None:
            self._porch.clear()


def context(tls: Any) -> ssl.SSLContext:
    """How TLS is spoken to clients."""
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        made.load_cert_chain(tls.certificate, tls.key)
    except OSError as problem:
        said = f"tls: {tls.certificate} and {tls.key} are no certificate and its key: {problem}"
        raise OSError(said) from None
    if tls.clients:
        try:
            made.load_verify_locations(tls.clients)
        except OSError as problem:
            raise OSError(f"tls: {tls.clients} has no certificates: {problem}") from None
        made.verify_mode = ssl.CERT_REQUIRED
    made.set_alpn_protocols(["http/1.1"])
    return made
