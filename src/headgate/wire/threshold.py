"""Threshold: a socket that is listened on, and those who step over it, one after another."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable

logger = logging.getLogger("headgate.wire")

# Seconds until it is tried again to take somebody in, after it could not be.
REST = 1.0
# So many are taken in before others are looked after.
GROUP = 64


class Threshold:
    """Calls `welcome` with each socket that connects, and the address of who did, if any."""

    def __init__(
        self,
        line: socket.socket,
        welcome: Callable[[socket.socket, str], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._line = line
        self._welcome = welcome
        self._loop = loop
        self._later: asyncio.TimerHandle | None = None
        self._begin()

    def close(self) -> None:
        """Take nobody in any more."""
        if self._later is not None:
            self._later.cancel()
        self._loop.remove_reader(self._line.fileno())
        self._line.close()

    def _begin(self) -> None:
        self._loop.add_reader(self._line.fileno(), self._accept)

    def _accept(self) -> None:
        for _ in range(GROUP):
            try:
                guest, address = self._line.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as problem:
                # There are too many files open; who waits in line would wake us up at once.
                logger.warning("no connection can be taken in: %s", problem)
                self._loop.remove_reader(self._line.fileno())
                self._later = self._loop.call_later(REST, self._begin)
                return
            guest.setblocking(False)
            self._welcome(guest, address[0] if isinstance(address, tuple) else "")
