"""A server that answers by itself, for tests in which what it says is beside the point."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Thread

from tests.gateway.backing import BLANK
from tests.gateway.staging import FINE

LENGTH = b"content-length: "


class Answering:
    """Answers every request with what `reply` makes of its head; nothing at all hangs up.

    `heads` are those of the requests that came in.
    """

    def __init__(self, reply: Callable[[bytes], bytes] = lambda head: FINE) -> None:
        self.reply = reply
        self.heads: list[bytes] = []
        self.loop = asyncio.new_event_loop()
        self.tasks: set[asyncio.Task[None]] = set()
        self.thread = Thread(target=self.loop.run_forever, name="answering", daemon=True)
        self.thread.start()
        self.server = asyncio.run_coroutine_threadsafe(self.listen(), self.loop).result(5)
        self.port: int = self.server.sockets[0].getsockname()[1]

    def __enter__(self) -> Answering:
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self.end(), self.loop).result(5)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def listen(self) -> asyncio.Server:
        return await asyncio.start_server(self.serve, "127.0.0.1", 0)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            while await self.answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            self.tasks.discard(task)
            writer.transport.abort()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(BLANK)
        lines = head.split(b"\r\n")
        sizes = [line[len(LENGTH) :] for line in lines if line.lower().startswith(LENGTH)]
        await reader.readexactly(int(sizes[0]) if sizes else 0)
        self.heads.append(head)
        answer = self.reply(head)
        writer.write(answer)
        await writer.drain()
        return bool(answer)

    async def end(self) -> None:
        self.server.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
