"""Listening: the sockets that clients connect to, with TLS or with a proxy's header before it."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
import stat
import sys
from contextlib import suppress
from typing import Any

from headgate.gateway.desk import Desk
from headgate.gateway.porch import Porch
from headgate.gateway.threshold import Threshold
from headgate.gateway.wire.house import House
from headgate.gateway.wire.inlet import Inlet
from headgate.gateway.wire.pipe import Pipe
from headgate.gateway.wire.wheel import Wheel
from headgate.measures import MILLION
from headgate.rules.model.place import Place

logger = logging.getLogger("headgate.gateway")

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
        family = socket.AF_INET6 if ":" in place.host or not place.host else socket.AF_INET
        line = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            # All interfaces are those of both families.
            line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(bool(place.host)))
        line.bind((place.host, place.port))
    line.setblocking(False)
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
        self._secure: dict[str, Any] = {}
        self._server: Any = None

    async def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take clients in."""
        self._loop = loop
        tls = self._listen.tls
        if tls is not None:
            # Who does not even greet is not waited for longer than for a head.
            patience = self._house.until_head / MILLION
            self._secure = {"ssl": context(tls), "ssl_handshake_timeout": patience}
        if self._listen.proxy_protocol:
            self._line.listen(BACKLOG)
            self._server = Porch(self._line, self._hand, self._desk, loop)
        elif self._wheel is not None and tls is None:
            self._line.listen(BACKLOG)
            self._server = Threshold(self._line, self._welcome, loop)
        else:
            self._server = await self._serve()

    async def _serve(self) -> Any:
        make: Any = self._make
        options: dict[str, Any] = {"sock": self._line, "backlog": BACKLOG, **self._secure}
        if not self._unix:
            return await self._loop.create_server(make, **options)
        if sys.version_info >= (3, 13) and isinstance(self._loop, asyncio.BaseEventLoop):
            # Others may listen on it after us.
            options["cleanup_socket"] = False
        return await self._loop.create_unix_server(make, **options)

    def _welcome(self, guest: socket.socket, address: Any) -> None:
        if self._wheel is not None:
            peer = address[0] if isinstance(address, tuple) else ""
            Pipe(self._wheel, guest, self._make(peer))

    async def _hand(self, guest: socket.socket, peer: str) -> None:
        if self._wheel is not None and not self._secure:
            Pipe(self._wheel, guest, self._make(peer))
            return
        make: Any = lambda: self._make(peer)  # noqa: E731
        try:
            await self._loop.connect_accepted_socket(make, guest, **self._secure)
        except OSError as problem:
            logger.info("TLS with %s failed: %s", peer, problem)

    @property
    def address(self) -> str:
        """Where it is, as rules write it."""
        name = self._line.getsockname()
        if self._unix:
            return f"unix:{name}"
        host = f"[{name[0]}]" if ":" in name[0] else name[0]
        return f"{host}:{name[1]}"

    def close(self) -> None:
        """Take nobody in any more."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def _make(self, peer: str | None = None) -> Inlet:
        scheme = "http" if self._listen.tls is None else "https"
        return Inlet(self._desk, self._house, scheme, peer)

    @property
    def _unix(self) -> bool:
        return self._line.family == socket.AF_UNIX


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
