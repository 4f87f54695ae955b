"""Dialer: opens connections to servers."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

from headgate.gateway.upstreams.server import Server
from headgate.gateway.wire.house import House
from headgate.gateway.wire.outlet import Outlet

# So much is kept for a server that does not take it in, before its client is made to wait.
HIGH = 262_144


class Dialer:
    """Opens connections; contexts for TLS are made once."""

    def __init__(self, loop: asyncio.AbstractEventLoop, house: House) -> None:
        self._loop = loop
        self._house = house
        self._contexts: dict[Any, ssl.SSLContext] = {}

    async def open(self, server: Server, assurance: Any) -> Outlet:
        """A connection to a server; raises OSError if there is none to be had."""
        place = server.place
        outlet = Outlet(server, self._house)
        # It is one by what it does; a compiled class has no ancestors of Python's.
        make: Any = lambda: outlet  # noqa: E731
        if place.scheme == "unix":
            transport, _ = await self._loop.create_unix_connection(make, place.path)
        else:
            secure: dict[str, Any] = {}
            if place.scheme == "https":
                name = (assurance.name if assurance is not None else "") or place.host
                secure = {"ssl": self.context(assurance), "server_hostname": name}
            transport, _ = await self._loop.create_connection(
                make, place.host, place.port, **secure
            )
        transport.set_write_buffer_limits(HIGH)
        return outlet

    def context(self, assurance: Any) -> ssl.SSLContext:
        """How TLS is spoken to an upstream."""
        found = self._contexts.get(assurance)
        if found is None:
            ca = assurance.ca if assurance is not None else ""
            found = ssl.create_default_context(cafile=ca or None)
            if assurance is not None and not assurance.verify:
                found.check_hostname = False
                found.verify_mode = ssl.CERT_NONE
            found.set_alpn_protocols(["http/1.1"])
            self._contexts[assurance] = found
        return found
