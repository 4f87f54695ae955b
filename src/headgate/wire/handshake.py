"""Handshake: stands for a client's connection while TLS is being agreed on.

By then the client has its place in the lobby: who connects and never says a word takes up a file
as everybody else does, and has to be counted, and turned away, like everybody else.
"""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from typing import Any

from headgate.wire.bell import Bell


class Handshake:
    """What an inlet has for a transport until `task` has made the real one of a guest's socket."""

    def __init__(
        self, guest: socket.socket, inlet: Any, task: asyncio.Task[Any], bell: Bell
    ) -> None:
        self._task = task
        self._bell = bell
        inlet.transport = self
        task.add_done_callback(partial(self._part, guest, inlet))

    def abort(self) -> None:
        """Hang up now."""
        self._task.cancel()

    def _part(self, guest: socket.socket, inlet: Any, task: asyncio.Task[Any]) -> None:
        problem = None if task.cancelled() else task.exception()
        # Who hangs up or says nothing may just have looked whether anybody is there.
        if problem is not None and not isinstance(problem, ConnectionError):
            self._bell.ring("TLS with %s failed: %s", inlet.peer, problem)
        # Otherwise it is the transport's by now to say when the connection is over.
        if inlet.transport is self:
            guest.close()
            inlet.connection_lost(None)
