"""A server to stand behind a gateway, as a process: `origin_process.py '{"name": "a", ...}'`.

It serves `places` at a time, which takes it `work` seconds each, and whoever else comes stands in a
line that has no end. It does so to the end for those who have left, too, as most servers do.

    GET  /bytes/N   N bytes
    GET  /longest   how long the line was at most
    POST ...        the size and the checksum of the body
    GET  ...        its name, and what it was asked for

Writes its port on the standard output, in a line.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import zlib
from collections import deque
from typing import Any

BLANK = b"\r\n\r\n"
LENGTH = re.compile(rb"content-length: ([0-9]+)", re.IGNORECASE)
BYTES = re.compile(rb"/bytes/([0-9]+)")
# What a long answer is made of, over and over.
BLOCK = bytes(range(251)) * 1044


class Room:
    """The places, and the line in front of them."""

    def __init__(self, name: str = "origin", places: int = 1000, work: float = 0.0) -> None:
        self.name = name
        self.free = places
        self.work = work
        self.line: deque[Caller] = deque()
        self.longest = 0

    def enter(self, caller: Caller) -> None:
        """Serve somebody now, or when it is their turn."""
        if not self.work:
            caller.answer()
        elif self.free:
            self.free -= 1
            self.serve(caller)
        else:
            self.line.append(caller)
            self.longest = max(self.longest, len(self.line))

    def serve(self, caller: Caller) -> None:
        asyncio.get_running_loop().call_later(self.work, self.leave, caller)

    def leave(self, caller: Caller) -> None:
        caller.answer()
        if self.line:
            self.serve(self.line.popleft())
        else:
            self.free += 1


class Caller(asyncio.Protocol):
    """A connection. One request at a time comes in, and the next after its answer."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.heard = b""
        self.target = b""
        # Of a body: what is still to come, what came, and its checksum. Of an answer: what to send.
        self.wanted = self.size = self.sum = self.rest = 0
        self.full = False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self.wanted:
            self.take(data)
            return
        self.heard += data
        if BLANK not in self.heard:
            return
        head, _, rest = self.heard.partition(BLANK)
        self.heard = b""
        method, self.target, _ = head.split(b" ", 2)
        if method == b"POST":
            found = LENGTH.search(head)
            self.wanted = 0 if found is None else int(found[1])
            self.size = self.sum = 0
            self.take(rest)
        elif self.target == b"/longest":
            self.say(b"%d" % self.room.longest)
        elif found := BYTES.search(self.target):
            self.rest = int(found[1])
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % self.rest)
            self.pour()
        else:
            self.room.enter(self)

    def take(self, data: bytes) -> None:
        self.wanted -= len(data)
        self.size += len(data)
        self.sum = zlib.crc32(data, self.sum)
        if not self.wanted:
            self.say(b"%d %d" % (self.size, self.sum))

    def pour(self) -> None:
        while self.rest and not self.full and not self.transport.is_closing():
            part = BLOCK[: self.rest]
            self.rest -= len(part)
            self.transport.write(part)

    def answer(self) -> None:
        self.say(b"%b %b" % (self.room.name.encode(), self.target))

    def say(self, body: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
            )

    def pause_writing(self) -> None:
        self.full = True

    def resume_writing(self) -> None:
        self.full = False
        self.pour()


async def main() -> None:
    """Serve until somebody ends it."""
    room = Room(**json.loads(sys.argv[1]))
    server = await asyncio.get_running_loop().create_server(
        lambda: Caller(room), "127.0.0.1", 0, backlog=1000
    )
    port = server.sockets[0].getsockname()[1]
    os.write(1, b"port %d\n" % port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
