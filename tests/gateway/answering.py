"""A server that answers by itself, for tests in which what it says is beside the point."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.gateway.backing import BLANK
from tests.gateway.staging import FINE
from tests.loop_thread import LoopThread

LENGTH = b"content-length: "


class Answering(LoopThread):
    """Answers every request with what `reply` makes of its head; nothing at all hangs up.

    `heads` are those of the requests that came in.
    """

    def __init__(self, reply: Callable[[bytes], bytes] = lambda head: FINE) -> None:
        super().__init__("answering", asyncio.new_event_loop())
        self.reply = reply
        self.heads: list[bytes] = []
        self.server = self.call(asyncio.start_server(self.serve, "127.0.0.1", 0))
        self.port: int = self.server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self.answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
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

    async def shut_down(self) -> None:
        self.server.close()
