"""Stream: what Django streams, held back as rules will have it, and the end of a stay with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.core.handlers.asgi import ASGIRequest
from django.http import Http404, StreamingHttpResponse
from django.http.multipartparser import MultiPartParserError

from headgate.adapters.outflow import Outflow, ending
from headgate.adapters.stay import Outcome, Stay, measured
from headgate.rules.live.entry import Entry
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper
from headgate.rules.live.pieces import cut
from headgate.rules.live.visit import GONE

Keeper = Gatekeeper | AsyncGatekeeper
# What Django answers to these.
STATUSES: dict[type[Exception], int] = {
    Http404: 404,
    PermissionDenied: 403,
    MultiPartParserError: 400,
    BadRequest: 400,
    SuspiciousOperation: 400,
}

END = object()


def attend(keeper: Keeper, entry: Entry, response: Any) -> None:
    """Let a streamed answer flow as rules will have it, and leave when it ends.

    It is streamed in the colour of the server, whatever that of the view is.
    """
    outcome = Outcome(response.status_code, partial(header, response))
    request = entry.request.source
    if response.is_async or isinstance(getattr(request, "_request", request), ASGIRequest):
        parts = response.streaming_content
        response.streaming_content = AsyncOutflow(keeper, entry, outcome, parts)
        return
    stay = Stay(outcome)
    stay.add(Proxy(keeper) if isinstance(keeper, AsyncGatekeeper) else keeper, entry)
    if getattr(response, "file_to_stream", None) is not None and not measured(entry):
        # A file that the server sends by itself; Django has it close the answer then.
        response.close = partial(ending, stay, response.close)
        return
    response.streaming_content = Outflow(stay, response.streaming_content, None)


def header(response: Any, name: str) -> str:
    """A header of an answer; cookies are kept apart from the others."""
    if name == "set-cookie":
        return str(response.cookies)
    return str(response.headers.get(name, ""))


def failed(problem: BaseException) -> int:
    """The status that an exception leads to: 499 if there is nobody to answer, 0 if it is unknown.

    Django makes answers of some; REST framework's say which themselves.
    """
    if isinstance(problem, (asyncio.CancelledError, GeneratorExit)):
        return GONE
    for kind, status in STATUSES.items():
        if isinstance(problem, kind):
            return status
    said = getattr(problem, "status_code", 0)
    return said if isinstance(said, int) else 0


def streamed(response: Any) -> Any:
    """The same answer, streamed."""
    found = StreamingHttpResponse(
        [response.content],
        status=response.status_code,
        reason=response.reason_phrase,
        headers=response.headers,
    )
    found.headers.setdefault("Content-Length", str(len(response.content)))
    found.cookies = response.cookies
    return found


class Proxy:
    """A gatekeeper of the event loop, for a thread outside of it."""

    def __init__(self, keeper: AsyncGatekeeper) -> None:
        self.pour = async_to_sync(keeper.pour)
        self.leave = async_to_sync(keeper.leave)


class AsyncOutflow:
    """`Outflow` for event loops, over what is streamed in either colour."""

    def __init__(self, keeper: Keeper, entry: Entry, outcome: Outcome, parts: Any) -> None:
        self._keeper: Any = keeper
        self._entry = entry
        self._outcome = outcome
        self._pieces = self._flow(parts if hasattr(parts, "__aiter__") else pulled(parts))
        self._farewell: asyncio.Task[None] | None = None

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._pieces)
        except StopAsyncIteration:
            self._entry.complete = True
            await self._leave(self._outcome.status)
            raise
        except BaseException as problem:
            await self._leave(failed(problem))
            raise

    def close(self) -> None:
        """As Django ends an answer, which nobody may want any more: in a thread, or in the loop."""
        if not self._entry.owing:
            return
        leave = partial(self._leave, self._outcome.status)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            async_to_sync(leave)()
        else:
            self._farewell = loop.create_task(leave())

    async def _flow(self, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        size = self._entry.piece if self._entry.bandwidth else 0
        async for part in parts:
            self._outcome.size += len(part)
            self._entry.send(part)
            if not size:
                yield part
                continue
            for piece in cut(part, size):
                await self._perform(partial(self._keeper.pour, self._entry, len(piece)))
                yield piece

    async def _leave(self, status: int) -> None:
        outcome = self._outcome
        leave = partial(self._keeper.leave, self._entry, status, outcome.header, outcome.size)
        await self._perform(leave)

    async def _perform(self, deed: Any) -> None:
        # What holds up a thread must not be the thread of the loop.
        if isinstance(self._keeper, AsyncGatekeeper):
            await deed()
        else:
            await sync_to_async(deed, thread_sensitive=False)()


async def pulled(parts: Any) -> AsyncIterator[bytes]:
    """What is streamed by a plain iterator, which may hold up a thread."""
    iterator = iter(parts)
    while True:
        part: Any = await sync_to_async(partial(next, iterator, END))()
        if part is END:
            return
        yield part
