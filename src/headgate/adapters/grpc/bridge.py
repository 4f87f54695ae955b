"""Bridge: from a thread to the event loop that has lent it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from headgate.rules.live.entry import Entry
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.live.visit import GONE
from headgate.rules.matching.request import Request


class Bridge:
    """The gatekeeper of an event loop, asked from one of the threads that it has lent.

    When a stream is cancelled, grpcio leaves its thread waiting for ever. So what a stream holds is
    given back when the `task` of its call is over, if it was not before.
    """

    def __init__(self, keeper: AsyncGatekeeper, task: asyncio.Task[Any], streams: bool) -> None:
        self._keeper = keeper
        self._task = task
        self._streams = streams

    def enter(self, request: Request) -> Entry:
        """`Gatekeeper.enter`."""
        return self._wait(self._enter(request))  # type: ignore[no-any-return]

    def leave(self, entry: Entry, *how: Any) -> None:
        """`Gatekeeper.leave`."""
        if not entry.idle:
            self._wait(self._keeper.leave(entry, *how))

    def pour(self, entry: Entry, size: int) -> None:
        """`Gatekeeper.pour`."""
        self._wait(self._keeper.pour(entry, size))

    async def _enter(self, request: Request) -> Entry:
        entry = await self._keeper.enter(request)
        if self._streams and not entry.idle:
            self._task.add_done_callback(lambda _: self._end(entry))
        return entry

    def _end(self, entry: Entry) -> None:
        self._ending = asyncio.ensure_future(self._keeper.leave(entry, GONE))

    def _wait(self, doing: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(doing, self._task.get_loop()).result()
