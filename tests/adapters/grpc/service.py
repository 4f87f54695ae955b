"""A service in three colours, served for real: bytes in, bytes out, no generated code.

`threads` is a server with threads, `loop` one in an event loop, and `lent` one in an event loop
whose handlers are plain functions, which it runs in threads that it lends.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import grpc
import grpc.aio

from headgate import ManualClock
from headgate.adapters.grpc import AsyncHeadgateInterceptor, HeadgateInterceptor

COLOURS = ["threads", "loop", "lent"]
NAME = "shop.Orders"


class Orders:
    """What the service does, in plain functions."""

    def __init__(self) -> None:
        # Streams of `Watch` that have begun, and those that have ended.
        self.begun = threading.Semaphore(0)
        self.ended = threading.Semaphore(0)

    def get(self, request: bytes, context: Any) -> bytes:
        """Echo."""
        context.set_trailing_metadata((("x-tokens", "70"),))
        return request

    def fail(self, request: bytes, context: Any) -> bytes:
        """Fail without a word."""
        raise LookupError("lost")

    def miss(self, request: bytes, context: Any) -> bytes:
        """Say that there is no such thing."""
        context.set_code(grpc.StatusCode.UNAVAILABLE)
        return b""

    def page(self, request: bytes, context: Any) -> Iterator[bytes]:
        """So many messages."""
        yield from [b"x" * 100] * int(request)

    def watch(self, request: bytes, context: Any) -> Iterator[bytes]:
        """Messages without end, larger than what fits on the way."""
        self.begun.release()
        try:
            while True:
                yield b"x" * 100_000
        finally:
            self.ended.release()

    def put(self, requests: Iterator[bytes], context: Any) -> bytes:
        """All messages in one."""
        return b"".join(requests)

    def chat(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        """Echo, message by message."""
        yield from requests


class AsyncOrders:
    """The same in coroutines and generators of an event loop."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders

    async def get(self, request: bytes, context: Any) -> bytes:
        """Echo."""
        return self._orders.get(request, context)

    async def fail(self, request: bytes, context: Any) -> bytes:
        """Fail without a word."""
        raise LookupError("lost")

    async def miss(self, request: bytes, context: Any) -> bytes:
        """Say that there is no such thing."""
        return self._orders.miss(request, context)

    async def page(self, request: bytes, context: Any) -> None:
        """So many messages, written."""
        for message in self._orders.page(request, context):
            await context.write(message)

    async def watch(self, request: bytes, context: Any) -> AsyncIterator[bytes]:
        """Messages without end, larger than what fits on the way."""
        self._orders.begun.release()
        try:
            while True:
                yield b"x" * 100_000
        finally:
            self._orders.ended.release()

    async def put(self, requests: AsyncIterator[bytes], context: Any) -> bytes:
        """All messages in one."""
        return b"".join([request async for request in requests])

    async def chat(self, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        """Echo, message by message."""
        async for request in requests:
            yield request


SHAPES = {
    "Get": "unary_unary",
    "Fail": "unary_unary",
    "Miss": "unary_unary",
    "Page": "unary_stream",
    "Watch": "unary_stream",
    "Put": "stream_unary",
    "Chat": "stream_stream",
}


class Ended(NamedTuple):
    """What came of a call."""

    code: str
    details: str
    messages: list[bytes]
    metadata: dict[str, Any]


class Stub:
    """The methods of the service as a client has them."""

    def __init__(self, channel: grpc.Channel, orders: Orders) -> None:
        self._channel = channel
        self.orders = orders

    def begin(self, name: str, request: Any = b"7", **metadata: str) -> Any:
        """A call that has begun, as grpcio has it."""
        shape = SHAPES.get(name, "unary_unary")
        method: Any = getattr(self._channel, shape)(f"/{NAME}/{name}")
        said = [(word.replace("_", "-"), value) for word, value in metadata.items()]
        start = method if shape.endswith("stream") else method.future
        return start(request, timeout=20, metadata=said)

    def ask(self, name: str, request: Any = b"7", **metadata: str) -> Ended:
        """A call to its end, whatever comes of it."""
        call = self.begin(name, request, **metadata)
        messages = []
        with suppress(grpc.RpcError):
            messages = [*call] if SHAPES.get(name, "").endswith("stream") else [call.result()]
        said = dict(call.trailing_metadata())
        return Ended(call.code().name, call.details(), messages, said)


@contextmanager
def served(
    colour: str,
    rules: Any,
    clock: ManualClock | None = None,
    place: str = "127.0.0.1:0",
    channel: Any = (),
    **options: Any,
) -> Iterator[Stub]:
    """A stub of the service behind rules, for as long as it is needed."""
    orders = Orders()
    start = threads if colour == "threads" else loop
    kind = HeadgateInterceptor if colour == "threads" else AsyncHeadgateInterceptor
    found = orders if colour != "loop" else AsyncOrders(orders)
    with (
        start(handlers(found), kind(rules, clock=clock, **options), place) as target,
        grpc.insecure_channel(target, channel) as line,
    ):
        yield Stub(line, orders)


def handlers(service: Any) -> grpc.GenericRpcHandler:
    """The service as a server wants it."""
    return grpc.method_handlers_generic_handler(
        NAME,
        {
            name: getattr(grpc, f"{shape}_rpc_method_handler")(getattr(service, name.lower()))
            for name, shape in SHAPES.items()
        },
    )


@contextmanager
def threads(service: Any, interceptor: Any, place: str) -> Iterator[str]:
    """A server with threads; yields where it is."""
    with ThreadPoolExecutor(8) as pool:
        server = grpc.server(pool, handlers=[service], interceptors=[interceptor])
        port = server.add_insecure_port(place)
        server.start()
        try:
            yield place if place.startswith("unix:") else place.replace(":0", f":{port}")
        finally:
            server.stop(0).wait()


@contextmanager
def loop(service: Any, interceptor: Any, place: str) -> Iterator[str]:
    """A server in an event loop, in a thread of its own."""
    started: Future[Any] = Future()
    with ThreadPoolExecutor(8) as lent:
        thread = threading.Thread(
            target=lambda: asyncio.run(serve(service, interceptor, place, lent, started))
        )
        thread.start()
        where, stop = started.result(20)
        try:
            yield where
        finally:
            stop()
            thread.join()


async def serve(
    service: Any, interceptor: Any, place: str, lent: ThreadPoolExecutor, started: Future[Any]
) -> None:
    """Serve until told to stop."""
    running = asyncio.get_running_loop()
    stopped = asyncio.Event()
    server = grpc.aio.server(lent, handlers=[service], interceptors=[interceptor])
    port = server.add_insecure_port(place)
    await server.start()
    where = place if place.startswith("unix:") else place.replace(":0", f":{port}")
    started.set_result((where, lambda: running.call_soon_threadsafe(stopped.set)))
    await stopped.wait()
    await server.stop(0)
    # A thread that was lent tells the loop when it is done, also of a call that was refused.
    await running.run_in_executor(None, lent.shutdown)
