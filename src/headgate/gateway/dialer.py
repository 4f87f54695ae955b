"""Dialer: opens connections to servers."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress
from ipaddress import ip_address
from typing import Any

from headgate.gateway.upstreams.server import Server
from headgate.wire.house import House
from headgate.wire.outlet import Outlet
from headgate.wire.pipe import Pipe
from headgate.wire.wheel import Wheel

# So much is kept for a server that does not take it in, before its client is made to wait.
HIGH = 262_144


class Dialer:
    """Opens connections; contexts for TLS are made once."""

    def __init__(self, loop: asyncio.AbstractEventLoop, house: House, wheel: Wheel | None) -> None:
        self._loop = loop
        self._house = house
        self._wheel = wheel
        self._contexts: dict[Any, ssl.SSLContext] = {}

    async def open(self, server: Server, assurance: Any) -> Outlet:
        """A connection to a server; raises OSError if there is none to be had."""
        place = server.place
        outlet = Outlet(server, self._house)
        if self._wheel is not None and place.scheme != "https":
            Pipe(self._wheel, await self._connect(place), outlet)
        else:
            await self._loop_connect(place, outlet, assurance)
        outlet.transport.set_write_buffer_limits(HIGH)
        return outlet

    async def _connect(self, place: Any) -> socket.socket:
        if place.scheme == "unix":
            return await self._reach(socket.AF_UNIX, place.path)
        problem = OSError(f"{place.host} has no address")
        for family, address in await self._find(place.host, place.port):
            try:
                return await self._reach(family, address)
            except OSError as failed:
                problem = failed
        raise problem

    async def _find(self, host: str, port: int) -> list[tuple[int, Any]]:
        # Who is named by an address need not be looked up, which takes a thread.
        with suppress(ValueError):
            version = ip_address(host).version
            return [(socket.AF_INET if version == 4 else socket.AF_INET6, (host, port))]
        found = await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return [(family, address) for family, _, _, _, address in found]

    async def _reach(self, family: int, address: Any) -> socket.socket:
        line = socket.socket(family, socket.SOCK_STREAM)
        line.setblocking(False)
        try:
            await self._loop.sock_connect(line, address)
        except BaseException:
            line.close()
            raise
        return line

    async def _loop_connect(self, place: Any, outlet: Outlet, assurance: Any) -> None:
        # It is one by what it does; a compiled class has no ancestors of Python's.
        make: Any = lambda: outlet  # noqa: E731
        if place.scheme == "unix":
            await self._loop.create_unix_connection(make, place.path)
            return
        secure: dict[str, Any] = {}
        if place.scheme == "https":
            name = (assurance.name if assurance is not None else "") or place.host
            secure = {"ssl": self.context(assurance), "server_hostname": name}
        await self._loop.create_connection(make, place.host, place.port, **secure)

    def context(self, assurance: Any) -> ssl.SSLContext:
        """How TLS is spoken to an upstream."""
        found = self._contexts.get(assurance)
        if found is None:
            ca = assurance.ca if assurance is not None else ""
            try:
                found = ssl.create_default_context(cafile=ca or None)
            except OSError as problem:
                raise OSError(f"tls: {ca} has no certificates: {problem}") from None
            if assurance is not None and not assurance.verify:
                found.check_hostname = False
                found.verify_mode = ssl.CERT_NONE
            found.set_alpn_protocols(["http/1.1"])
            self._contexts[assurance] = found
        return found
