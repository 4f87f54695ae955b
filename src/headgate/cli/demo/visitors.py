"""Visitors: each comes again and again, from an address of its own.

They say who they are in `X-Forwarded-For`, which the rules of the demo believe from this machine.
What they spend is not yours: `curl` comes from 127.0.0.1.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import NamedTuple

from headgate.clock import SystemClock

HOST = "127.0.0.1"
BLOCK = 65_536


class Visitor(NamedTuple):
    """Somebody who sends the same request `together` times at once, and again after a pause."""

    address: str
    request: str
    together: int = 1
    pause: float = 1.0
    key: str = ""


VISITORS = [
    Visitor("192.0.2.1", "GET /v1/hello", 12),
    Visitor("192.0.2.2", "GET /v1/hello", 1, key="ada"),
    Visitor("192.0.2.3", "POST /login", 7, 2.0),
    Visitor("192.0.2.4", "GET /v1/slow", 8, 2.0, key="grace"),
    Visitor("192.0.2.5", "GET /files/big", 2),
    Visitor("203.0.113.9", "GET /", 1, 2.0),
]


async def come(port: int) -> None:
    """Have all of them come, until it is cancelled."""
    await asyncio.gather(*(visit(port, one) for one in VISITORS))


async def visit(port: int, visitor: Visitor) -> None:
    """Have one of them come again and again."""
    while True:
        await asyncio.gather(*(ask(port, visitor) for _ in range(visitor.together)))
        await SystemClock().asleep(visitor.pause)


async def ask(port: int, visitor: Visitor) -> None:
    """Ask once, and take in all of the answer; a gateway that is gone is not asked."""
    lines = [
        f"{visitor.request} HTTP/1.1",
        f"host: {HOST}:{port}",
        f"x-forwarded-for: {visitor.address}",
        *([f"x-api-key: {visitor.key}"] if visitor.key else []),
        "content-length: 0",
        "connection: close",
    ]
    with suppress(OSError):
        reader, writer = await asyncio.open_connection(HOST, port)
        try:
            writer.write("\r\n".join([*lines, "", ""]).encode())
            while await reader.read(BLOCK):
                pass
        finally:
            writer.close()
