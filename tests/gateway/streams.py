"""Bodies of any length, made as they are sent and never held: both ends of a stream."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

from tests.gateway.backing import BLANK, Backing

# What a body is made of: no two parts alike, and of an odd length.
PART = 65_521
END = b"0\r\n\r\n"
MIB = 1 << 20


def parts(size: int) -> Iterator[bytes]:
    """A body of so many bytes, in parts."""
    number = 0
    while size > 0:
        part = number.to_bytes(8, "big") * (PART // 8 + 1)
        yield part[: min(PART, size)]
        size -= PART
        number += 1


def digest(size: int) -> str:
    """The digest of that body."""
    found = hashlib.sha256()
    for part in parts(size):
        found.update(part)
    return found.hexdigest()


def framed(size: int, chunked: bool) -> Iterator[bytes]:
    """The body as it is sent."""
    for part in parts(size):
        yield chunk(part) if chunked else part
    if chunked:
        yield END


def chunk(part: bytes) -> bytes:
    """A part of a body that comes in chunks; behind the last of them stands `END`."""
    return b"%x\r\n%b\r\n" % (len(part), part)


def framing(size: int, chunked: bool) -> bytes:
    """The header that says how it is sent."""
    return b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % size


class Sending:
    """Sends a body in a thread, as fast as it is taken in; `sent` is how much it was so far."""

    def __init__(self, line: socket.socket, pieces: Iterator[bytes]) -> None:
        self.line = line
        self.pieces = pieces
        self.sent = 0
        # How much it was when that was last asked, and how often it was as much.
        self.seen, self.often = -1, 0
        self.problem: Exception | None = None
        line.settimeout(60)
        self.thread = Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        try:
            for piece in self.pieces:
                self.line.sendall(piece)
                self.sent += len(piece)
        except OSError as problem:
            self.problem = problem

    def stuck(self) -> bool:
        """Whether nothing more was taken in since this was asked a few times."""
        self.often = self.often + 1 if self.seen == self.sent else 0
        self.seen = self.sent
        return self.often >= 3 or not self.thread.is_alive()

    def join(self) -> None:
        self.thread.join(60)
        assert not self.thread.is_alive()
        assert self.problem is None


class Receiving:
    """Reads a message to its end, its body in small bites, and keeps nothing of it but a digest."""

    def __init__(self, line: socket.socket, bite: int = 65_536) -> None:
        line.settimeout(60)
        self.line = line
        self.bite = bite
        self.spare = b""
        self.head = b""
        self.size = 0
        self.found = hashlib.sha256()
        self.trailers = b""

    def read(self) -> Receiving:
        """All of it."""
        while BLANK not in self.spare:
            self.more()
        self.head, _, self.spare = self.spare.partition(BLANK)
        lines = dict(line.lower().split(b": ", 1) for line in self.head.split(b"\r\n")[1:])
        if b"content-length" in lines:
            self.take(int(lines[b"content-length"]))
            return self
        assert lines[b"transfer-encoding"] == b"chunked"
        while size := int(self.line_of(), 16):
            self.take(size)
            assert self.line_of() == b""
        while line := self.line_of():
            self.trailers += line + b"\r\n"
        return self

    def digest(self) -> str:
        return self.found.hexdigest()

    def take(self, size: int) -> None:
        self.size += size
        while size > 0:
            if not self.spare:
                self.more()
            part, self.spare = self.spare[:size], self.spare[size:]
            self.found.update(part)
            size -= len(part)

    def line_of(self) -> bytes:
        while b"\r\n" not in self.spare:
            self.more()
        line, _, self.spare = self.spare.partition(b"\r\n")
        return line

    def more(self) -> None:
        data = self.line.recv(self.bite)
        assert data, "the end came too early"
        self.spare += data


def download(
    connect: Callable[[], socket.socket], server: Backing, size: int, chunked: bool, pause: Any
) -> Receiving:
    """Get a body through a gateway; `pause` is called with who sends it, before it is read."""
    with connect() as client:
        client.sendall(b"GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n")
        caller = server.take()
        caller.head()
        caller.say(b"HTTP/1.1 200 OK\r\n" + framing(size, chunked) + BLANK)
        sending = Sending(caller.line, framed(size, chunked))
        pause(sending)
        received = Receiving(client, 16_384).read()
        sending.join()
        return received


def upload(
    connect: Callable[[], socket.socket], server: Backing, size: int, chunked: bool, pause: Any
) -> Receiving:
    """Send one."""
    with connect() as client:
        client.sendall(b"POST /a HTTP/1.1\r\nHost: a.test\r\n" + framing(size, chunked) + BLANK)
        sending = Sending(client, framed(size, chunked))
        caller = server.take()
        pause(sending)
        received = Receiving(caller.line, 16_384).read()
        sending.join()
        caller.say(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 200 OK\r\n")
        return received
