"""Porch: where a connection waits until its proxy has said whom it brings.

The header of the PROXY protocol comes before everything else, TLS as well. So it is looked at
before it is taken: what follows it stays where it is, for whoever reads next.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress

from headgate.gateway.desk import Desk
from headgate.rules.clients.proxy import LONGEST_BINARY, Proxied, ProxyError, parse
from headgate.wire.bell import Bell

# How long a proxy may take to say it.
PATIENCE = 3.0


class Porch:
    """Hears out the connections of proxies that are believed, and hands them on with who it is."""

    def __init__(
        self,
        hand: Callable[[socket.socket, str], None],
        desk: Desk,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._hand = hand
        self._desk = desk
        self._loop = loop
        self._bell = Bell(logging.WARNING, desk.house)
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def waiting(self) -> bool:
        """Whether there is anybody who has not said yet whom it brings."""
        return bool(self._tasks)

    def clear(self) -> None:
        """Hang up on who still waits there."""
        for task in self._tasks:
            task.cancel()

    def welcome(self, guest: socket.socket, peer: str) -> None:
        """Somebody has connected."""
        task = self._loop.create_task(self._receive(guest, peer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _receive(self, guest: socket.socket, peer: str) -> None:
        try:
            self._trust(peer)
            async with asyncio.timeout(PATIENCE):
                said = await self._listen(guest)
        except (ProxyError, OSError) as problem:
            why = str(problem) or f"there was none after {PATIENCE:g} s"
            self._bell.ring("a connection without a PROXY header is closed: %s", why)
            guest.close()
            return
        except BaseException:
            guest.close()
            raise
        if said is None:
            guest.close()
            return
        # Of who came to the proxy by a unix socket there is no address.
        self._hand(guest, said.source if said.kind in ("address", "unix") else peer)

    def _trust(self, peer: str) -> None:
        if not self._desk.manners.client.meet(peer)[1]:
            raise ProxyError(f"{peer or 'a unix socket'} is not among trusted_proxies")

    async def _listen(self, guest: socket.socket) -> Proxied | None:
        heard = b""
        while True:
            await self._readable(guest)
            data = b""
            with suppress(ConnectionResetError):
                data = guest.recv(LONGEST_BINARY, socket.MSG_PEEK)
            if not data and not heard:
                # That is how balancers look whether anybody is there.
                return None
            if not data:
                raise ProxyError("it hung up in the middle")
            said, size = parse(heard + data)
            # As long as the header has no end, there is nothing behind it.
            taken = len(data) if said is None else size - len(heard)
            heard += guest.recv(taken)
            if said is not None:
                return said

    async def _readable(self, guest: socket.socket) -> None:
        ready: asyncio.Future[None] = self._loop.create_future()
        number = guest.fileno()
        self._loop.add_reader(number, wake, ready)
        try:
            await ready
        finally:
            self._loop.remove_reader(number)


def wake(ready: asyncio.Future[None]) -> None:
    """There is something to read."""
    if not ready.done():
        ready.set_result(None)
