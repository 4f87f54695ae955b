"""Clients with one connection and one request at a time, and the upstream behind the gateway.

They speak what a real client would, with as few bytes as it takes, and check every answer.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from contextlib import suppress
from typing import Any

from instruction_rules import HEADER, USER, get_path

HOST = "127.0.0.1"
# Seconds: under valgrind, on a machine that others keep busy, an answer takes a while.
TIMEOUT = 120
CHUNK_BYTES = 65_536
METHOD = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0x0, 0x1, 0x4, 0x6, 0x7, 0x8
END_STREAM, ACK, END_HEADERS = 0x1, 0x1, 0x4
OK, OVER_LIMIT = 1, 2


class Connection:
    """A TCP connection that is read in pieces of known length or up to a delimiter."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((HOST, port), TIMEOUT)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def read_exactly(self, size: int) -> bytes:
        """The next `size` bytes."""
        while len(self._buffer) < size:
            self._fill()
        found, self._buffer = self._buffer[:size], self._buffer[size:]
        return found

    def read_until(self, end: bytes) -> bytes:
        """What comes before `end`, which is dropped."""
        while end not in self._buffer:
            self._fill()
        found, _, self._buffer = self._buffer.partition(end)
        return found

    def close(self) -> None:
        self._socket.close()

    def _fill(self) -> None:
        chunk = self._socket.recv(CHUNK_BYTES)
        if not chunk:
            raise ConnectionError("the server has closed the connection")
        self._buffer += chunk


class HttpClient:
    """HTTP/1.1 with one kept connection."""

    def __init__(self, port: int, request: bytes) -> None:
        self._connection = Connection(port)
        self._request = request
        self.head = b""
        self.close = self._connection.close

    def ask(self) -> bool:
        """Whether the answer is 200; an error if it is neither 200 nor 429."""
        self._connection.send(self._request)
        self.head = self._connection.read_until(b"\r\n\r\n")
        status, size = int(self.head[9:12]), 0
        for line in self.head.split(b"\r\n"):
            if line[:15].lower() == b"content-length:":
                size = int(line[15:])
        self._connection.read_exactly(size)
        if status not in {200, 429}:
            raise RuntimeError(f"the server answers with {status}")
        return status == 200


def build_gateway_request(outcome: str) -> bytes:
    """A request as a small client sends it."""
    lines = [
        f"GET {get_path(outcome)} HTTP/1.1",
        "host: shop.example",
        "accept: */*",
        f"{HEADER}: {USER}",
    ]
    return "\r\n".join([*lines, "user-agent: instructions", "", ""]).encode()


def build_take_request(rule: str) -> bytes:
    """`POST /v1/take` of the service."""
    body = json.dumps({"rule": rule, "key": USER})
    lines = ["POST /v1/take HTTP/1.1", "host: limits.example", "content-type: application/json"]
    return "\r\n".join([*lines, f"content-length: {len(body)}", "", body]).encode()


def build_rule_request(rule: str) -> bytes:
    """`GET /v1/rules/NAME` of the service."""
    return f"GET /v1/rules/{rule} HTTP/1.1\r\nhost: limits.example\r\n\r\n".encode()


class RespClient:
    """`HG.TAKE` over RESP2."""

    def __init__(self, port: int, rule: str) -> None:
        self._connection = Connection(port)
        words = ["HG.TAKE", rule, USER]
        self._command = f"*{len(words)}\r\n{''.join(map(_spell_bulk, words))}".encode()
        self.close = self._connection.close

    def ask(self) -> bool:
        """Whether the decision admits."""
        self._connection.send(self._command)
        reply = self._read_reply()
        if not isinstance(reply, list) or reply[0] not in {0, 1}:
            raise RuntimeError(f"the server answers with {reply!r}")
        return reply[0] == 1

    def _read_reply(self) -> Any:
        line = self._connection.read_until(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind == b"*":
            return [self._read_reply() for _ in range(int(rest))]
        if kind == b":":
            return int(rest)
        if kind == b"$" and int(rest) >= 0:
            found = self._connection.read_exactly(int(rest) + 2)
            return found[:-2]
        return line


def _spell_bulk(word: str) -> str:
    return f"${len(word)}\r\n{word}\r\n"


class RlsClient:
    """Envoy's `ShouldRateLimit` over gRPC, one stream after another on one HTTP/2 connection."""

    def __init__(self, port: int, outcome: str) -> None:
        self._connection = Connection(port)
        self._stream = -1
        message = build_rls_message(outcome)
        self._data = struct.pack(">BI", 0, len(message)) + message
        window = struct.pack(">I", 2**31 - 1 - 65_535)
        self._connection.send(
            PREFACE + build_frame(SETTINGS, 0, 0, b"") + build_frame(WINDOW_UPDATE, 0, 0, window)
        )
        self.close = self._connection.close

    def ask(self) -> bool:
        """Whether the overall code is OK; an error if it is not OVER_LIMIT either."""
        self._stream += 2
        # The first request fills the table of headers, and the others refer to it.
        headers = build_first_headers() if self._stream == 1 else b"\x83\x86\xc1\xc0\xbf\xbe"
        self._connection.send(
            build_frame(HEADERS, END_HEADERS, self._stream, headers)
            + build_frame(DATA, END_STREAM, self._stream, self._data)
        )
        code = self._read_answer()
        if code not in {OK, OVER_LIMIT}:
            raise RuntimeError(f"the server answers with code {code}")
        return code == OK

    def _read_answer(self) -> int:
        body = b""
        while True:
            head = self._connection.read_exactly(9)
            size, kind, flags = int.from_bytes(head[:3]), head[3], head[4]
            payload = self._connection.read_exactly(size)
            if kind in {SETTINGS, PING} and not flags & ACK:
                self._connection.send(build_frame(kind, ACK, 0, payload if kind == PING else b""))
            elif kind == GOAWAY:
                raise ConnectionError("the server has sent GOAWAY")
            elif kind == DATA:
                body += payload
            if kind in {DATA, HEADERS} and flags & END_STREAM:
                # After five bytes of gRPC comes the field overall_code, which is number 1.
                return body[6] if body[5:6] == b"\x08" else 0


def build_frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """A frame of HTTP/2."""
    return len(payload).to_bytes(3) + struct.pack(">BBI", kind, flags, stream) + payload


def build_first_headers() -> bytes:
    """The headers of a gRPC call, entered into the table of headers."""
    return (
        b"\x83\x86"  # :method POST, :scheme http
        + b"\x44" + _spell_text(METHOD)  # :path
        + b"\x41" + _spell_text("limits.example")  # :authority
        + b"\x5f" + _spell_text("application/grpc")  # content-type
        + b"\x40" + _spell_text("te") + _spell_text("trailers")
    )  # fmt: skip


def build_rls_message(outcome: str) -> bytes:
    """A RateLimitRequest with a domain and one descriptor."""
    entries = {"path": get_path(outcome), HEADER.replace("-", "_"): USER}
    descriptor = b"".join(
        _spell_field(1, _spell_field(1, key.encode()) + _spell_field(2, value.encode()))
        for key, value in entries.items()
    )
    return _spell_field(1, b"edge") + _spell_field(2, descriptor)


def _spell_field(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2, len(value)]) + value


def _spell_text(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


class Upstream:
    """A server behind the gateway that answers every request alike; a context manager."""

    ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello"

    def __enter__(self) -> Upstream:
        self._server = socket.create_server((HOST, 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        received = b""
        with connection, suppress(OSError):
            while chunk := connection.recv(CHUNK_BYTES):
                received += chunk
                while b"\r\n\r\n" in received:
                    _, _, received = received.partition(b"\r\n\r\n")
                    connection.sendall(self.ANSWER)
