"""Basket: takes up a body that comes in chunks, as an exchange would send it on."""

from __future__ import annotations

from typing import Any

from headgate.wire.ear import Bytes
from headgate.wire.exchange import CHUNKED, Exchange

# What a chunk ends with, and how the last of them begins.
END = b"\r\n"
LAST = b"0\r\n"


class Basket:
    """A body so far. To an exchange it is the connection that takes it in.

    However slowly it comes, it has to be here at the inlet's deadline, as it is now.
    """

    def __init__(self, inlet: Any) -> None:
        self.body = bytearray()
        self._inlet = inlet
        self._deadline = inlet.deadline

    def write(self, part: Bytes) -> None:
        """Take a chunk."""
        self._inlet.deadline = self._deadline
        chunk = bytes(part)
        if not chunk.startswith(LAST):
            self.body += chunk[chunk.index(END) + 2 : -2]

    def pause(self) -> None:
        """Nothing: there is room for all of it."""

    def resume(self) -> None:
        """Nothing, likewise."""


def fetch(exchange: Exchange) -> None:
    """Have a body that comes in chunks taken up, with what has come of it."""
    basket = Basket(exchange.inlet)
    for part in exchange.backlog or ():
        basket.write(part)
    exchange.outlet, exchange.backlog = basket, None


def body(exchange: Exchange) -> bytes:
    """The body of a request that is whole."""
    if exchange.length == CHUNKED and exchange.outlet is None:
        fetch(exchange)
    if exchange.outlet is not None:
        return bytes(exchange.outlet.body)
    return b"".join(exchange.backlog or ())
