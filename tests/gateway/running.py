"""A gateway in an event loop of its own thread, for tests that talk to it from outside."""

from __future__ import annotations

import asyncio
import socket
import traceback
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from importlib.util import find_spec
from threading import Thread
from typing import Any, TypeVar

from headgate.gateway.gateway import Gateway

T = TypeVar("T")


class Running:
    """A gateway with these rules, from the first line of a `with` to its last.

        with Running(Rules.read(text)) as running:
            Talk(running.port)

    What else is said goes to `Gateway`. What a callback in its loop raises and nobody catches is
    kept in `troubles`, and raised at the end: a gateway that stumbled has not passed its test,
    whatever it answered.
    """

    def __init__(self, rules: Any, **options: Any) -> None:
        self.troubles: list[str] = []
        self.loop = make()
        self.loop.set_exception_handler(self.note)
        self.thread = Thread(target=self.loop.run_forever, name="gateway", daemon=True)
        self.thread.start()
        self.gateway: Gateway = self.call(begin(rules, options))

    def __enter__(self) -> Running:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close()
        if kind is None and self.troubles:
            raise AssertionError("\n".join(["the gateway stumbled:", *self.troubles]))

    @property
    def address(self) -> str:
        """Where it listens first, as it says it itself."""
        return self.gateway.addresses[0]

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def call(self, errand: Coroutine[Any, Any, T]) -> T:
        """Do `errand` where the gateway lives, and come back with what it returns or raises."""
        return asyncio.run_coroutine_threadsafe(errand, self.loop).result(20)

    def turn(self) -> None:
        """Come back when the gateway has read what was in its sockets before this was said."""
        self.call(turns())

    def deliver(self, line: socket.socket, pieces: Iterable[bytes]) -> None:
        """Send small pieces on a client's connection; the gateway reads each before the next.

        This costs a third of one `turn` per piece: the test's thread is not woken in between.
        """
        self.call(deliver(line, pieces))

    def close(self) -> None:
        """Close the gateway, then its loop; a second time does nothing."""
        if self.loop.is_closed():
            return
        try:
            self.call(self.gateway.close())
        finally:
            self.call(tidy())
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join()
            self.loop.close()

    def note(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        trace = traceback.format_exception(problem) if problem is not None else []
        self.troubles.append("".join([context["message"], "\n", *trace]))


def make() -> asyncio.AbstractEventLoop:
    """A loop of the kind that the gateway itself would choose."""
    if find_spec("uvloop") is None:
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


async def begin(rules: Any, options: dict[str, Any]) -> Gateway:
    gateway = Gateway(rules, **options)
    await gateway.start()
    return gateway


async def turns() -> None:
    # The loop looks at the gateway's wheel once in every turn, the wheel turns in the next, and
    # what that calls for comes in the one after it; a connection that ends takes as many again.
    for _ in range(6):
        await asyncio.sleep(0)


async def deliver(line: socket.socket, pieces: Iterable[bytes]) -> None:
    # The gateway may hang up before the last piece.
    with suppress(ConnectionError):
        for piece in pieces:
            line.sendall(piece)
            await turns()


async def tidy() -> None:
    """End what is still under way, as `asyncio.run` does."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
