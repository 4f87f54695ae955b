"""A client that sends any frames it likes, and says in words what it is answered.

It is connected by a line that is no socket: what is sent is there at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hpack import Decoder, Encoder

from tests.service.grpc.hosting import ECHO, Place, clean

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
(DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION) = range(
    10
)
ERRORS = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
]
END = 1


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    """Any frame."""
    head = len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big")
    return head + payload


def number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def settings(*pairs: tuple[int, int]) -> bytes:
    return frame(SETTINGS, 0, 0, b"".join(n.to_bytes(2, "big") + number(v) for n, v in pairs))


def window(stream: int, size: int) -> bytes:
    return frame(WINDOW, 0, stream, number(size))


def message(body: bytes, flag: int = 0) -> bytes:
    """A message as gRPC frames it."""
    return bytes((flag,)) + number(len(body)) + body


def literal(name: bytes, value: bytes) -> bytes:
    """A header that leaves no trace in any table."""
    return b"\x00" + bytes((len(name),)) + name + bytes((len(value),)) + value


def lines(path: str = ECHO, *more: tuple[str, str], **other: str) -> list[tuple[str, str]]:
    """The headers of a call; `other` are in the place of the usual ones, "" for none."""
    usual = {
        ":method": "POST",
        ":scheme": "http",
        ":path": path,
        ":authority": "tests",
        "te": "trailers",
        "content-type": "application/grpc",
    }
    for name, value in other.items():
        wanted = f":{name}" if f":{name}" in usual else name.replace("_", "-")
        usual[wanted] = value
    return [(name, value) for name, value in usual.items() if value] + [*more]


def block(headers: Iterable[tuple[str, str]]) -> bytes:
    """Headers without any compression."""
    return b"".join(literal(name.encode(), value.encode()) for name, value in headers)


def begin(
    stream: int, path: str = ECHO, *more: tuple[str, str], flags: int = 0, **other: str
) -> bytes:
    """The headers of a call, in one frame."""
    return frame(HEADERS, 4 | flags, stream, block(lines(path, *more, **other)))


def data(stream: int, body: bytes, flags: int = END) -> bytes:
    return frame(DATA, flags, stream, body)


def call(stream: int, body: bytes = b"hello", path: str = ECHO, **other: str) -> bytes:
    """A whole call."""
    return begin(stream, path, **other) + data(stream, message(body))


class Line:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written = b""
        self.writes = 0
        self.kept = 0
        self.paused = self.ended = self.closed = False
        self.talk: Any = None

    def write(self, data: bytes) -> None:
        assert not self.ended, "something was said after the end"
        self.written += data
        self.writes += 1

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def set_write_buffer_limits(self, high: int) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return self.kept

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def abort(self) -> None:
        self.closed = True

    def close(self) -> None:
        self.closed = True


class Talk:
    """A connection whose client has greeted, unless it is told not to."""

    def __init__(self, place: Place | None = None, greeting: bytes = PREFACE + settings()) -> None:
        self.place = place or Place()
        self.line = Line()
        self.channel = self.place.channel()
        self.channel.connection_made(self.line)
        self.decoder = Decoder()
        self.encoder = Encoder()
        self.spare = b""
        if greeting:
            self.send(greeting)
            assert self.said()[-1] == "settings heard"

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.channel.connection_lost(None)
        if kind is None:
            assert clean(self.channel)
            assert self.channel not in self.place.hall.guests

    def send(self, *pieces: bytes) -> None:
        """Send bytes, in so many pieces."""
        for piece in pieces:
            self.channel.data_received(piece)

    def ask(self, *pieces: bytes) -> list[str]:
        """Send bytes, and hear the answer."""
        self.send(*pieces)
        return self.said()

    def frames(self) -> list[tuple[int, int, int, bytes]]:
        """What was answered since this was last asked for."""
        found, self.line.written = self.spare + self.line.written, b""
        parted = []
        while len(found) >= 9:
            size = int.from_bytes(found[:3], "big")
            assert size <= len(found) - 9
            stream = int.from_bytes(found[5:9], "big")
            parted.append((found[3], found[4], stream, found[9 : 9 + size]))
            found = found[9 + size :]
        assert found == b""
        return parted

    def said(self) -> list[str]:
        """The same in words."""
        return [self.word(*one) for one in self.frames()]

    def word(self, kind: int, flags: int, stream: int, payload: bytes) -> str:
        if kind == HEADERS:
            assert flags & 4
            told = self.decoder.decode(payload, raw=True)
            shown = [f"{name.decode()}={value.decode()}" for name, value in told]
            hidden = {":status=200", "content-type=application/grpc"}
            return " ".join([f"headers {stream}", *(one for one in shown if one not in hidden)]) + (
                " end" if flags & END else ""
            )
        if kind == DATA:
            return f"data {stream} {payload!r}" + (" end" if flags & END else "")
        if kind == SETTINGS:
            return "settings heard" if flags & 1 else "settings"
        if kind == PING:
            return f"{'pong' if flags & 1 else 'ping'} {payload.decode()}"
        if kind == WINDOW:
            return f"window {stream} {int.from_bytes(payload, 'big')}"
        if kind == RST_STREAM:
            return f"reset {stream} {ERRORS[payload[3]]}"
        assert kind == GOAWAY
        return f"goaway {int.from_bytes(payload[:4], 'big')} {ERRORS[payload[7]]}"


def fine(stream: int, body: bytes = b"hello") -> list[str]:
    """A call that was answered."""
    return [
        f"headers {stream}",
        f"data {stream} {message(body)!r}",
        f"headers {stream} grpc-status=0 end",
    ]
