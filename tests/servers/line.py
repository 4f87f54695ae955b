"""One connection through the proxy: from a client to the server, and bent on its way back."""

from __future__ import annotations

import asyncio
import fcntl
import socket
import struct
import termios
from typing import TYPE_CHECKING

from tests.servers.faults import Fault, Piece

if TYPE_CHECKING:
    from tests.servers.proxy import Proxy

CHUNK = 65_536
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Line:
    """Runs until either end hangs up, or until it is dropped.

    Replies are bent when they arrive and wait in a queue for their time, so that two that are late
    are late together and not one after the other.
    """

    def __init__(self, proxy: Proxy, client: Streams) -> None:
        self.proxy = proxy
        self.client, self.back = client
        self.fault = proxy.fault()
        self.pieces: asyncio.Queue[Piece | None] = asyncio.Queue()
        self.lossy = False
        self.over = asyncio.Event()

    async def run(self) -> None:
        try:
            if self.proxy.rejecting:
                raise ConnectionRefusedError
            server = await asyncio.open_connection("127.0.0.1", self.proxy.target)
        except OSError:
            self.drop()
        else:
            await self.connect(*server)
        finally:
            self.back.close()

    async def connect(self, server: asyncio.StreamReader, forth: asyncio.StreamWriter) -> None:
        work = [self.ask(forth), self.answer(server), self.send()]
        tasks = [asyncio.create_task(one) for one in work]
        # The end of the server's bytes is not the end of this: they may be waiting to be sent.
        await asyncio.wait([tasks[0], tasks[2]], return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        forth.close()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception) and not isinstance(result, OSError):
                raise result

    async def ask(self, forth: asyncio.StreamWriter) -> None:
        while data := await self.client.read(CHUNK):
            if self.fault.deaf:
                self.lossy = True
                continue
            self.proxy.asked += len(data)
            forth.write(data)
            await forth.drain()

    async def answer(self, server: asyncio.StreamReader) -> None:
        try:
            while data := await server.read(CHUNK):
                self.lossy = self.lossy or self.fault.deaf
                self.put(*self.fault.bend(data, self.now()))
        finally:
            self.put(Piece(self.now(), self.fault.rest()))
            self.pieces.put_nowait(None)

    async def send(self) -> None:
        while (piece := await self.pieces.get()) is not None:
            await self.rest(piece.due)
            if piece.data is None:
                await self.flush()
                self.drop()
                return
            self.proxy.answered += len(piece.data)
            self.back.write(piece.data)
            await self.back.drain()

    async def rest(self, due: float) -> None:
        """Wait until it is time, or until the proxy heals."""
        if due > self.now():
            try:
                async with asyncio.timeout_at(due):
                    await self.proxy.healthy.wait()
            except TimeoutError:
                return

    async def flush(self) -> None:
        """Wait until the client's machine has all that was written; a reset would overtake it."""
        transport, wire = self.back.transport, self.back.get_extra_info("socket")
        for _ in range(1000):
            if transport.is_closing():
                return
            (left,) = struct.unpack("i", fcntl.ioctl(wire.fileno(), termios.TIOCOUTQ, bytes(4)))
            if not left and not transport.get_write_buffer_size():
                return
            await asyncio.sleep(0.001)

    def bend(self, fault: Fault) -> None:
        """Let go what the last fault held back, and let `fault` have what comes from now on."""
        self.put(Piece(self.now(), self.fault.rest()))
        self.fault = fault

    def put(self, *pieces: Piece) -> None:
        for piece in pieces:
            if piece.data != b"":
                self.pieces.put_nowait(piece)

    def drop(self) -> None:
        """Reset the client's connection (RST): what no orderly close would do."""
        wire = self.back.get_extra_info("socket")
        if not self.back.transport.is_closing():
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.back.transport.abort()

    def now(self) -> float:
        return asyncio.get_running_loop().time()
