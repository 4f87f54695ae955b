"""Service: an HTTP server where each answer costs a fixed amount of CPU, for overload.py.

A request waits for something else (a database, say) and then burns CPU in a pool of threads, so
when more come than can be done they queue up in here. Who is refused is answered at once, by the
event loop. What it does for a client that has hung up it does to the end, as most services do.

Told what to be in JSON as its only argument, it prints its port, serves until its standard input
is closed, and then prints what it saw.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import single
from headgate import Bulkhead

# As many as Python gives a pool on one core.
THREADS = 5
SAMPLE = 0.05
# About 0.1 ms, without the interpreter's lock.
PIECE = 300
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy"
END = b"\r\n\r\n"


def limiter(name: str) -> Bulkhead | None:
    """The bulkhead of that name; "none" is none, "fixed 20" lets 20 in."""
    from headgate.adaptive.aimd import AIMD
    from headgate.adaptive.bbr import BBR
    from headgate.adaptive.gradient import Gradient
    from headgate.adaptive.vegas import Vegas

    kind, _, number = name.partition(" ")
    if kind == "none":
        return None
    if kind == "fixed":
        return Bulkhead(int(number))
    return Bulkhead({"AIMD": AIMD, "BBR": BBR, "Gradient": Gradient, "Vegas": Vegas}[kind]())


def burn(seconds: float) -> None:
    """Use so much CPU, by the account of this thread: neighbours make it longer, not larger."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        hashlib.pbkdf2_hmac("sha256", b"headgate", b"overload", PIECE)


class Service:
    """All connections share its bulkhead and its threads."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.bulkhead = limiter(told["limiter"])
        self.wait = told["wait"]
        self.cost = told["cost"]
        self.pool = ThreadPoolExecutor(THREADS)
        self.loop = asyncio.get_running_loop()
        self.inside = 0
        self.tasks: set[asyncio.Task[None]] = set()
        # Every so often: when, how many were inside, and how many might have been.
        self.samples: list[tuple[float, int, int]] = []

    def connect(self) -> Connection:
        return Connection(self)

    def admit(self, transport: asyncio.Transport) -> None:
        """Begin to answer, or refuse at once."""
        slot = None
        if self.bulkhead is not None:
            slot = self.bulkhead.take()
            if not slot:
                transport.write(BUSY)
                return
        task = self.loop.create_task(self.answer(transport, slot))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def answer(self, transport: asyncio.Transport, slot: Any) -> None:
        """Wait, burn, answer."""
        self.inside += 1
        await asyncio.sleep(self.wait)
        await self.loop.run_in_executor(self.pool, burn, self.cost)
        self.inside -= 1
        if slot is not None:
            slot.success()
        if not transport.is_closing():
            transport.write(OK)

    async def sample(self) -> None:
        """Look at oneself every so often."""
        while True:
            limit = 0
            if self.bulkhead is not None:
                limit = self.bulkhead.rooms[""].limit
            self.samples.append((time.monotonic(), self.inside, limit))
            await asyncio.sleep(SAMPLE)


class Connection(asyncio.Protocol):
    """Requests without bodies, one after another."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.rest = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        *requests, self.rest = (self.rest + data).split(END)
        for _ in requests:
            self.service.admit(self.transport)


async def serve(told: dict[str, Any]) -> None:
    """Serve until told to stop."""
    loop = asyncio.get_running_loop()
    service = Service(told)
    server = await loop.create_server(service.connect, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    sampling = loop.create_task(service.sample())
    # Before anything is asked, so that signals have something to compare with.
    if service.bulkhead is not None:
        service.bulkhead.take().ignore()
    await loop.run_in_executor(None, sys.stdin.read)
    sampling.cancel()
    print(json.dumps({"samples": service.samples}), flush=True)
    # What is still queued is nobody's any more.
    os._exit(0)


if __name__ == "__main__":
    single.run(serve)
