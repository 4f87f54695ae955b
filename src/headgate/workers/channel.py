"""Channel: lines of JSON between two processes, over a pair of sockets.

When one of them dies the other reads the end of the line, however that happened.
"""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

# A status tells of every rule and every server, in one line.
LONGEST = 1 << 26


class Channel:
    """One end of it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, line: socket.socket) -> Channel:
        """The channel on a socket, which belongs to it from now on."""
        return cls(*await asyncio.open_unix_connection(sock=line, limit=LONGEST))

    def send(self, **message: Any) -> None:
        """Say something; nobody hears it if the other is gone."""
        if not self._writer.is_closing():
            self._writer.write(json.dumps(message).encode() + b"\n")

    async def receive(self) -> dict[str, Any]:
        """What the other says next; nothing at all when it is gone."""
        try:
            line = await self._reader.readline()
        except ConnectionError:
            return {}
        # Who was killed in the middle of a line has not said it.
        return json.loads(line) if line.endswith(b"\n") else {}

    async def close(self) -> None:
        """Hang up, when all is said."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return
