"""A client that sends any bytes it likes, and reads the answers with a parser that is not ours.

The gateway reads with httptools, so this reads with h11: whoever judges should not share the
mistakes of whom it judges.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

import h11

# A net for tests that fail: nothing that works waits for so long.
SECONDS = 15.0


class Answer(NamedTuple):
    """One final answer, its headers in lower case, and the statuses that were said before it."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    interim: tuple[int, ...] = ()

    def all(self, name: str) -> list[str]:
        """Every line of a header."""
        return [value for word, value in self.headers if word == name]


class Silence(AssertionError):
    """Neither an answer nor the end came in time."""


class Talk:
    """A connection to a port of this machine.

        with Talk(port) as talk:
            talk.send(*single(data))
            assert talk.hear().status == 200
            assert talk.finish() == b""

    It comes from the address `source`. Pieces are sent one after the other. After each `turn` is
    called: see that the other side has read by then, or else it may find two pieces in one.
    """

    def __init__(
        self, port: int, turn: Callable[[], None] = lambda: None, source: str = "127.0.0.1"
    ) -> None:
        self.turn = turn
        self.socket = socket.create_connection(("127.0.0.1", port), SECONDS, (source, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.spare = b""
        self.over = False

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, *pieces: bytes) -> None:
        """Send the pieces, or as many of them as are wanted: the other side may hang up."""
        with suppress(ConnectionError):
            for piece in pieces:
                self.socket.sendall(piece)
                self.turn()

    def hear(self, method: str = "GET", later: Iterable[bytes] = ()) -> Answer | None:
        """The answer to a request of this method, or None where the connection ends instead.

        `later` is sent as soon as the other side says 100.
        """
        parser = h11.Connection(h11.CLIENT)
        parser.send(h11.Request(method=method, target="/", headers=[("host", "a")]))
        parser.send(h11.EndOfMessage())
        if not self.spare:
            self.spare = self.receive()
        if not self.spare:
            return None
        parser.receive_data(self.spare)
        return self.read(parser, later)

    def finish(self) -> bytes:
        """Say that no more will be asked; what is said after that, which should be nothing."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)
        return self.rest()

    def rest(self) -> bytes:
        """All that is said until the other side hangs up."""
        found, self.spare = self.spare, b""
        while data := self.receive():
            found += data
        return found

    def upto(self, words: bytes) -> bytes:
        """What is said up to these words; that the other side hangs up before is an error."""
        found, self.spare = self.spare, b""
        while not found.endswith(words):
            data = self.receive()
            if not data:
                raise AssertionError(f"the end came after {found!r}")
            found += data
        return found

    def read(self, parser: h11.Connection, later: Iterable[bytes]) -> Answer:
        head, body, interim = None, b"", []
        while True:
            event = parser.next_event()
            if event is h11.NEED_DATA:
                parser.receive_data(self.receive())
            elif isinstance(event, h11.InformationalResponse):
                interim.append(event.status_code)
                self.send(*later)
                later = ()
            elif isinstance(event, h11.Response):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                self.spare = parser.trailing_data[0]
                lines = tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in head.headers)
                return Answer(head.status_code, lines, body, tuple(interim))
            else:
                raise AssertionError(f"no answer, but {event!r} after {head!r}")

    def receive(self) -> bytes:
        """What is there, or nothing when the other side has hung up, in whatever way."""
        if self.over:
            return b""
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionError:
            data = b""
        except TimeoutError:
            raise Silence(f"neither an answer nor the end in {SECONDS:g} s") from None
        self.over = not data
        return data


def whole(data: bytes) -> list[bytes]:
    """All at once."""
    return [data]


def split(data: bytes, place: int) -> list[bytes]:
    """In two, at a place."""
    return [data[:place], data[place:]]


def single(data: bytes) -> list[bytes]:
    """Byte by byte."""
    return [data[place : place + 1] for place in range(len(data))]
