"""A gateway in an event loop of its own thread, for tests that talk to it from outside."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from headgate.gateway.gateway import Gateway
from tests.loop_thread import LoopThread, turns


class Running(LoopThread):
    """A gateway with these rules, from the first line of a `with` to its last.

        with Running(Rules.read(text)) as running:
            Talk(running.port)

    What else is said goes to `Gateway`.
    """

    def __init__(self, rules: Any, **options: Any) -> None:
        super().__init__("gateway")
        self.gateway: Gateway = self.call(begin(rules, options))

    @property
    def address(self) -> str:
        """Where it listens first, as it says it itself."""
        return self.gateway.addresses[0]

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def deliver(self, line: socket.socket, pieces: Iterable[bytes]) -> None:
        """Send small pieces on a client's connection; the gateway reads each before the next.

        This costs a third of one `turn` per piece: the test's thread is not woken in between.
        """
        self.call(deliver(line, pieces))

    async def shut_down(self) -> None:
        await self.gateway.close()


async def begin(rules: Any, options: dict[str, Any]) -> Gateway:
    gateway = Gateway(rules, **options)
    await gateway.start()
    return gateway


async def deliver(line: socket.socket, pieces: Iterable[bytes]) -> None:
    # The gateway may hang up before the last piece.
    with suppress(ConnectionError):
        for piece in pieces:
            line.sendall(piece)
            await turns()
