"""Ushers: they lead calls in and out, in a thread or in an event loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from functools import partial
from typing import Any, NamedTuple

import grpc

from headgate.adapters.arrivals import Manners, Reception
from headgate.adapters.grpc.call import Call, Visit
from headgate.adapters.grpc.status import Abort, Metadata, abort
from headgate.rules.live.entry import Entry, Refusal
from headgate.rules.live.gatekeeper import AsyncGatekeeper

Behaviour = Callable[[Any, Any], Any]

CODES = {code.value[0]: code for code in grpc.StatusCode}


class Usher:
    """Leads calls in and out, in a thread."""

    def __init__(self, keeper: Any, reception: Reception, details: Any, handler: Any) -> None:
        self._keeper = keeper
        self._reception = reception
        self._details = details
        self._behave: Behaviour = getattr(handler, shape(handler))
        self._serialize = handler.response_serializer or bytes

    def answer(self, request: Any, context: Any) -> Any:
        """One message in answer."""
        with self._visit(context) as visit:
            if visit is None:
                return None
            return self._poured(visit, self._behave(request, context))

    def stream(self, request: Any, context: Any) -> Iterator[Any]:
        """A stream of messages in answer."""
        with self._visit(context) as visit:
            for message in () if visit is None else self._behave(request, context):
                yield self._poured(visit, message)  # type: ignore[arg-type]

    @contextmanager
    def _visit(self, context: Any) -> Iterator[Visit | None]:
        manners = self._reception.manners
        entry = self._keeper.enter(Call(self._details, context, manners))
        fields = told(manners, entry)
        if entry.refusal is not None:
            code, message, metadata = refused(manners, entry.refusal)
            context.set_trailing_metadata((*metadata, *fields))
            # This raises, but not where an event loop has lent its thread.
            context.abort(CODES[code], message)
            yield None
            return
        visit = Visit(context, entry, fields)
        try:
            yield visit
            visit.done = True
        except BaseException as problem:
            visit.left = cancelled(problem, context)
            raise
        finally:
            visit.tell()
            self._keeper.leave(entry, visit.status(), visit.header, visit.size)

    def _poured(self, visit: Visit, message: Any) -> Any:
        if not visit.measured:
            return message
        content = self._serialize(message)
        for size in visit.pieces(len(content)):
            self._keeper.pour(visit.entry, size)
        return Ready(content)


class AsyncUsher:
    """Leads calls in and out, in an event loop."""

    def __init__(
        self, keeper: AsyncGatekeeper, reception: Reception, details: Any, handler: Any
    ) -> None:
        self._keeper = keeper
        self._reception = reception
        self._details = details
        self._behave: Behaviour = getattr(handler, shape(handler))
        self._serialize = handler.response_serializer or bytes

    async def answer(self, request: Any, context: Any) -> Any:
        """One message in answer."""
        async with self._visit(context) as visit:
            return await self._poured(visit, await self._behave(request, context))

    async def stream(self, request: Any, context: Any) -> None:
        """A stream of messages in answer, written one by one: who is cancelled ends in here."""
        async with self._visit(context) as visit:
            writer = Writer(context, partial(self._poured, visit)) if visit.measured else context
            if not inspect.isasyncgenfunction(self._behave):
                await self._behave(request, writer)
                return
            async with aclosing(self._behave(request, writer)) as messages:
                async for message in messages:
                    await writer.write(message)

    @asynccontextmanager
    async def _visit(self, context: Any) -> AsyncIterator[Visit]:
        manners = self._reception.manners
        entry = await self._keeper.enter(Call(self._details, context, manners))
        fields = told(manners, entry)
        if entry.refusal is not None:
            code, message, metadata = refused(manners, entry.refusal)
            await context.abort(CODES[code], message, (*metadata, *fields))
        visit = Visit(context, entry, fields)
        try:
            yield visit
            visit.done = True
        except BaseException as problem:
            visit.left = cancelled(problem, context)
            raise
        finally:
            visit.tell()
            await self._keeper.leave(entry, visit.status(), visit.header, visit.size)

    async def _poured(self, visit: Visit, message: Any) -> Any:
        if not visit.measured:
            return message
        content = self._serialize(message)
        for size in visit.pieces(len(content)):
            await self._keeper.pour(visit.entry, size)
        return Ready(content)


class Writer:
    """A context through which messages are written as rules will have it."""

    def __init__(self, context: Any, pour: Callable[[Any], Any]) -> None:
        self._context = context
        self._pour = pour

    async def write(self, message: Any) -> None:
        """Write one message when it may be sent."""
        await self._context.write(await self._pour(message))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


class Ready(NamedTuple):
    """A message that is serialized already, to know how large it is."""

    content: bytes


def rewired(handler: Any, behave: Behaviour) -> Any:
    """The handler with something else to do."""
    serialize = handler.response_serializer

    def serialized(message: Any) -> Any:
        if isinstance(message, Ready):
            return message.content
        return message if serialize is None else serialize(message)

    make = getattr(grpc, f"{shape(handler)}_rpc_method_handler")
    return make(behave, handler.request_deserializer, serialized)


def shape(handler: Any) -> str:
    """Under which name a handler has what it does, such as `unary_stream`."""
    asked = "stream" if handler.request_streaming else "unary"
    return f"{asked}_{'stream' if handler.response_streaming else 'unary'}"


def awaited(behave: Behaviour) -> bool:
    """Whether it runs in the event loop."""
    return inspect.iscoroutinefunction(behave) or inspect.isasyncgenfunction(behave)


def cancelled(problem: BaseException, context: Any) -> bool:
    """Whether a call ends like this because its client has gone."""
    if isinstance(problem, (asyncio.CancelledError, GeneratorExit)):
        return True
    return not getattr(context, "is_active", lambda: True)()


def refused(manners: Manners, refusal: Refusal) -> Abort:
    """What a call is ended with."""
    if refusal.kind == "key":
        manners.herald.missed(refusal)
    return abort(refusal)


def told(manners: Manners, entry: Entry) -> Metadata:
    """How limits stand, as metadata."""
    fields = manners.herald.fields(entry)
    return tuple((name.decode("ascii"), value.decode("ascii")) for name, value in fields)
