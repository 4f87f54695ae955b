"""Handshake: stands for a client's connection while TLS is being agreed on.

By then the client has its place in the lobby: who connects and never says a word takes up a file
as everybody else does, and has to be counted, and turned away, like everybody else.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from functools import partial
from typing import Any

from headgate.gateway.wire.inlet import Inlet

logger = logging.getLogger("headgate.gateway")


class Handshake:
    """What an inlet has for a transport until `task` has made the real one of a guest's socket."""

    def __init__(self, guest: socket.socket, inlet: Inlet, task: asyncio.Task[Any]) -> None:
        self._task = task
        inlet.transport = self
        task.add_done_callback(partial(self._part, guest, inlet))

    def abort(self) -> None:
        """Hang up now."""
        self._task.cancel()

    def _part(self, guest: socket.socket, inlet: Inlet, task: asyncio.Task[Any]) -> None:
        problem = None if task.cancelled() else task.exception()
        if isinstance(problem, Exception):
            logger.info("TLS with %s failed: %s", inlet.peer, problem)
        # Otherwise it is the transport's by now to say when the connection is over.
        if inlet.transport is self:
            guest.close()
            inlet.connection_lost(None)
