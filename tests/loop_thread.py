"""An event loop in a thread of its own, for servers that a test talks to from outside."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Coroutine
from importlib.util import find_spec
from threading import Thread
from typing import Any, Self, TypeVar

T = TypeVar("T")

# Seconds after which a call into the loop counts as hung.
CALL_SECONDS = 20


class LoopThread:
    """An event loop that runs until `close`, in a thread with this name.

    An exception that nothing in the loop catches is kept in `errors`, and fails the test at the
    end of the `with`.
    """

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.errors: list[str] = []
        self.loop = loop or new_loop()
        self.loop.set_exception_handler(self.keep_error)
        self.thread = Thread(target=self.loop.run_forever, name=name, daemon=True)
        self.thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close()
        if kind is None and self.errors:
            problems = [f"nothing caught these in {self.thread.name}:", *self.errors]
            raise AssertionError("\n".join(problems))

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the loop, and returns its result."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(CALL_SECONDS)

    def run(self, function: Callable[..., T], *args: Any) -> T:
        """Calls a function in the loop, and returns its result."""

        async def work() -> T:
            return function(*args)

        return self.call(work())

    def turn(self) -> None:
        """Returns when the loop has read what was in its sockets before this call."""
        self.call(turns())

    def close(self) -> None:
        """Shuts down, cancels all tasks and ends the thread; a second call does nothing."""
        if self.loop.is_closed():
            return
        try:
            self.call(self.shut_down())
        finally:
            self.call(cancel_tasks())
            self.call(self.loop.shutdown_asyncgens())
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join()
            self.loop.close()

    async def shut_down(self) -> None:
        """Ends what a subclass has started in the loop."""

    def keep_error(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        trace = traceback.format_exception(problem) if problem is not None else []
        self.errors.append("".join([context["message"], "\n", *trace]))


def new_loop() -> asyncio.AbstractEventLoop:
    """A loop of the kind that the gateway and the service choose themselves."""
    if find_spec("uvloop") is None:
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


async def turns() -> None:
    # The loop looks at the wheel once in every turn, the wheel turns in the next, and what that
    # calls for comes in the one after it; a connection that ends takes as many again.
    for _ in range(6):
        await asyncio.sleep(0)


async def cancel_tasks() -> None:
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
