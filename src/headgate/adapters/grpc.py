"""gRPC: the rules in front of a server of grpcio, in threads or in an event loop.

    grpc.server(pool, interceptors=[HeadgateInterceptor("rules.yaml")])
    grpc.aio.server(interceptors=[AsyncHeadgateInterceptor("rules.yaml")])

To a rule a call is a POST to `/package.Service/Method`, with its metadata as headers. How limits
stand is told in the trailing metadata, refused or not. See `rpc_status` for how a no is said; to
answer with something less, or to redirect, is nothing that gRPC knows. An answer's status is what
its code is in HTTP, `response.header.NAME` stands in the trailing metadata, and its body is all of
its messages.

A place under `concurrent` is held while the server works on the call: until the last message of a
stream, or until it notices that the client has gone. In an event loop that is at once. A thread
notices when it has made its next message.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from functools import partial
from typing import Any, NamedTuple

from headgate.adapters.arrivals import Finder, Manners, Reception
from headgate.adapters.rpc_call import Call, Visit
from headgate.adapters.rpc_status import Metadata, abort
from headgate.clock import Clock
from headgate.errors import MissingExtra
from headgate.rules.live.entry import Entry
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper
from headgate.rules.live.lodge import Source
from headgate.rules.matching.request import Request

try:
    import grpc
    import grpc.aio
except ImportError:
    raise MissingExtra("grpc") from None

Behaviour = Callable[[Any, Any], Any]

CODES = {code.value[0]: code for code in grpc.StatusCode}


class HeadgateInterceptor(grpc.ServerInterceptor):  # type: ignore[misc]
    """Puts rules in front of a server with threads.

    `rules` are a file, a `Rules` value, or a `Gatekeeper` that others use as well. `user` and
    `plan` are functions of the call's context that say who it is from and what they have booked.
    """

    def __init__(
        self,
        rules: Source | Gatekeeper,
        store: str = "",
        user: Finder | None = None,
        plan: Finder | None = None,
        clock: Clock | None = None,
    ) -> None:
        keeper = rules if isinstance(rules, Gatekeeper) else Gatekeeper(rules, store, clock)
        self.keeper = keeper
        self._reception = Reception(keeper, user or nobody, plan or nobody)

    def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        """The handler of a call, behind the rules."""
        handler = continuation(handler_call_details)
        if handler is None:
            return None
        usher = Usher(self.keeper, self._reception, handler_call_details, handler)
        return rewired(handler, usher.stream if handler.response_streaming else usher.answer)


class AsyncHeadgateInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """`HeadgateInterceptor` for servers in an event loop; handlers may still be plain functions."""

    def __init__(
        self,
        rules: Source | AsyncGatekeeper,
        store: str = "",
        user: Finder | None = None,
        plan: Finder | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.keeper = (
            rules if isinstance(rules, AsyncGatekeeper) else AsyncGatekeeper(rules, store, clock)
        )
        self._reception = Reception(self.keeper, user or nobody, plan or nobody)

    async def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        """The handler of a call, behind the rules."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        usher: Any = AsyncUsher(self.keeper, self._reception, handler_call_details, handler)
        task = asyncio.current_task()
        if task is not None and not awaited(getattr(handler, shape(handler))):
            bridge = Bridge(self.keeper, task, handler.response_streaming)
            usher = Usher(bridge, self._reception, handler_call_details, handler)
        return rewired(handler, usher.stream if handler.response_streaming else usher.answer)


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
            code, message, metadata = abort(entry.refusal)
            context.set_trailing_metadata((*metadata, *fields))
            # This raises, but not where an event loop has lent its thread.
            context.abort(CODES[code], message)
            yield None
            return
        visit = Visit(context, entry, fields)
        try:
            yield visit
            visit.done = True
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
            code, message, metadata = abort(entry.refusal)
            await context.abort(CODES[code], message, (*metadata, *fields))
        visit = Visit(context, entry, fields)
        try:
            yield visit
            visit.done = True
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
        self._ending = asyncio.ensure_future(self._keeper.leave(entry, 0))

    def _wait(self, doing: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(doing, self._task.get_loop()).result()


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


def told(manners: Manners, entry: Entry) -> Metadata:
    """How limits stand, as metadata."""
    fields = manners.herald.fields(entry)
    return tuple((name.decode("ascii"), value.decode("ascii")) for name, value in fields)


def nobody(context: Any) -> str:
    """Who it is, where the application does not say."""
    return ""
