"""A service in three colours, served for real: bytes in, bytes out, no generated code.

`threads` is a server with threads, `loop` one in an event loop, and `lent` one in an event loop
whose handlers are plain functions, which it runs in threads that it lends.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import grpc.aio

from headgate import ManualClock
from headgate.adapters.grpc import AsyncHeadgateInterceptor, HeadgateInterceptor
from headgate.rules.rules import Rules

COLOURS = ["threads", "loop", "lent"]
NAME = "shop.Orders"


class Orders:
    """What the service does, in plain functions."""

    def __init__(self) -> None:
        # Streams of `Watch` that have begun, and those that have ended.
        self.begun = threading.Semaphore(0)
        self.ended = threading.Semaphore(0)

    def Get(self, request: bytes, context: Any) -> bytes:
        """Echo."""
        context.set_trailing_metadata((("x-tokens", "70"),))
        return request

    def Fail(self, request: bytes, context: Any) -> bytes:
        """Fail without a word."""
        raise LookupError("lost")

    def Miss(self, request: bytes, context: Any) -> bytes:
        """Say that there is no such thing."""
        context.set_code(grpc.StatusCode.UNAVAILABLE)
        return b""

    def List(self, request: bytes, context: Any) -> Iterator[bytes]:
        """So many messages."""
        yield from [b"x" * 100] * int(request)

    def Watch(self, request: bytes, context: Any) -> Iterator[bytes]:
        """Messages without end, larger than what fits on the way."""
        self.begun.release()
        try:
            while True:
                yield b"x" * 100_000
        finally:
            self.ended.release()

    def Put(self, requests: Iterator[bytes], context: Any) -> bytes:
        """All messages in one."""
        return b"".join(requests)

    def Chat(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        """Echo, message by message."""
        yield from requests


class AsyncOrders:
    """The same in coroutines and generators of an event loop."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders

    async def Get(self, request: bytes, context: Any) -> bytes:
        """Echo."""
        return self._orders.Get(request, context)

    async def Fail(self, request: bytes, context: Any) -> bytes:
        """Fail without a word."""
        raise LookupError("lost")

    async def Miss(self, request: bytes, context: Any) -> bytes:
        """Say that there is no such thing."""
        return self._orders.Miss(request, context)

    async def List(self, request: bytes, context: Any) -> None:
        """So many messages, written."""
        for message in self._orders.List(request, context):
            await context.write(message)

    async def Watch(self, request: bytes, context: Any) -> AsyncIterator[bytes]:
        """Messages without end, larger than what fits on the way."""
        self._orders.begun.release()
        try:
            while True:
                yield b"x" * 100_000
        finally:
            self._orders.ended.release()

    async def Put(self, requests: AsyncIterator[bytes], context: Any) -> bytes:
        """All messages in one."""
        return b"".join([request async for request in requests])

    async def Chat(self, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        """Echo, message by message."""
        async for request in requests:
            yield request


SHAPES = {
    "Get": "unary_unary",
    "Fail": "unary_unary",
    "Miss": "unary_unary",
    "List": "unary_stream",
    "Watch": "unary_stream",
    "Put": "stream_unary",
    "Chat": "stream_stream",
}


class Stub:
    """The methods of the service as a client has them."""

    def __init__(self, channel: grpc.Channel, orders: Orders) -> None:
        self.orders = orders
        for name, shape in SHAPES.items():
            setattr(self, name, getattr(channel, shape)(f"/{NAME}/{name}"))
        self.Nothing = channel.unary_unary(f"/{NAME}/Nothing")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


@contextmanager
def served(
    colour: str, rules: Any, clock: ManualClock | None = None, place: str = "127.0.0.1:0", **options: Any
) -> Iterator[Stub]:
    """A stub of the service behind rules, for as long as it is needed."""
    orders = Orders()
    start = threads if colour == "threads" else loop
    kind = HeadgateInterceptor if colour == "threads" else AsyncHeadgateInterceptor
    found = orders if colour != "loop" else AsyncOrders(orders)
    with (
        start(handlers(found), kind(rules, clock=clock, **options), place) as target,
        grpc.insecure_channel(target) as channel,
    ):
        yield Stub(channel, orders)


def handlers(service: Any) -> grpc.GenericRpcHandler:
    """The service as a server wants it."""
    return grpc.method_handlers_generic_handler(
        NAME,
        {
            name: getattr(grpc, f"{shape}_rpc_method_handler")(getattr(service, name))
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
    started: Future[str] = Future()
    with ThreadPoolExecutor(8) as lent:
        thread = threading.Thread(
            target=lambda: asyncio.run(serve(service, interceptor, place, lent, started))
        )
        thread.start()
        where, stop = started.result(20)  # type: ignore[misc]
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


def rules(*listed: Any, **options: Any) -> Rules:
    """Rules."""
    return Rules(listed, **options)
