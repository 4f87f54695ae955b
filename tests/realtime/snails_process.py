"""Clients of a gateway that take their time, as a process: `snails_process.py '{"port": ...}'`.

    heads       send a byte of a head every `pause` seconds or so, and come back when they are cut
    bodies      begin a body and do not go on
    drops       send a byte of a body every `pause` seconds or so
    readers     ask for a long answer, and take in a little of it every `pause` seconds or so

The last three come again every `span` seconds, in the first `seconds`. On SIGTERM it hangs up and
writes what it saw on the standard output, in a line of JSON: for each client of which kind it was,
how long it lasted from its first byte, what it heard, and whether it was cut.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import socket
import sys
import time
from random import Random
from typing import NamedTuple

HEAD = b"GET / HTTP/1.1\r\nHost: a.test\r\nX-Slow: " + b"a" * 1000
POST = b"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000\r\n\r\nbegin"
LONG = b"GET /bytes/50000000 HTTP/1.1\r\nHost: a.test\r\n\r\n"
# What each kind says at once.
FIRST = {"heads": HEAD[:1], "bodies": POST, "drops": POST, "readers": LONG}
# What a reader has room for, and what it takes in each time.
ROOM, BITE = 4096, 1024


class Told(NamedTuple):
    """Where to, how many of each kind, and how slowly."""

    port: int
    heads: int
    others: int
    pause: float
    span: float
    seconds: float
    seed: int


class Snail:
    """A slow client."""

    def __init__(self, garden: Garden, kind: str, line: socket.socket) -> None:
        self.garden = garden
        self.kind = kind
        self.line = line
        self.sent = 1
        self.heard = b""
        self.begin = time.monotonic()
        line.send(FIRST[kind])
        self.timer = garden.after(self.pause(), self.crawl)
        if kind != "readers":
            garden.loop.add_reader(line, self.hear)

    def pause(self) -> float:
        return self.garden.told.pause * self.garden.chance.uniform(0.5, 1.5)

    def crawl(self) -> None:
        """Go on a little."""
        self.timer = self.garden.after(self.pause(), self.crawl)
        try:
            if self.kind == "heads":
                self.line.send(HEAD[self.sent : self.sent + 1])
                self.sent += 1
            elif self.kind == "drops":
                self.line.send(b"x")
            elif self.kind == "readers" and not self.line.recv(BITE):
                self.end(True)
        except BlockingIOError:
            return
        except OSError:
            # The others hear that by themselves, and before it what they were told.
            if self.kind == "readers":
                self.end(True)

    def hear(self) -> None:
        """Listen to what it is told."""
        try:
            data = self.line.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.heard += data
        if not data:
            self.end(True)

    def end(self, cut: bool) -> None:
        """Hang up, and come back if it was cut and that is its kind."""
        self.timer.cancel()
        if self.kind != "readers":
            self.garden.loop.remove_reader(self.line)
        self.line.close()
        self.garden.over(self, cut)


class Garden:
    """All of them."""

    def __init__(self, told: Told) -> None:
        self.told = told
        self.loop = asyncio.get_running_loop()
        self.chance = Random(told.seed)
        self.snails: set[Snail] = set()
        self.rows: list[tuple[str, float, str, bool]] = []
        self.open = True
        self.after = self.loop.call_later

    def fill(self) -> None:
        """Have all come, one after another."""
        told = self.told
        for _ in range(told.heads):
            self.after(self.chance.uniform(0.0, told.span / 2), self.come, "heads")
        for kind in ("bodies", "drops", "readers"):
            for _ in range(told.others):
                moment = self.chance.uniform(0.0, told.span / 2)
                while moment < told.seconds:
                    self.after(moment, self.come, kind)
                    moment += told.span

    def come(self, kind: str) -> None:
        """One more."""
        if not self.open:
            return
        line = socket.socket()
        line.setblocking(False)
        if kind == "readers":
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
        try:
            line.connect(("127.0.0.1", self.told.port))
        except BlockingIOError:
            self.loop.add_writer(line, self.begin, kind, line)
            return
        self.begin(kind, line)

    def begin(self, kind: str, line: socket.socket) -> None:
        self.loop.remove_writer(line)
        problem = line.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if problem or not self.open:
            line.close()
            if problem:
                self.rows.append((kind, 0.0, os.strerror(problem), True))
            return
        self.snails.add(Snail(self, kind, line))

    def over(self, snail: Snail, cut: bool) -> None:
        """One has ended."""
        self.snails.discard(snail)
        lasted = time.monotonic() - snail.begin
        self.rows.append((snail.kind, lasted, snail.heard[:13].decode("latin-1"), cut))
        if cut and snail.kind == "heads":
            self.after(self.chance.uniform(0.0, 0.1), self.come, "heads")

    def close(self) -> None:
        """Have all hang up."""
        self.open = False
        for snail in list(self.snails):
            snail.end(False)


async def main() -> None:
    """Crawl until somebody ends it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    garden = Garden(Told(**json.loads(sys.argv[1])))
    over = asyncio.Event()
    garden.loop.add_signal_handler(signal.SIGTERM, over.set)
    garden.fill()
    await over.wait()
    garden.close()
    sys.stdout.write(json.dumps(garden.rows) + "\n")


if __name__ == "__main__":
    asyncio.run(main())
