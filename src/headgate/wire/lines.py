"""Lines of answers that are always the same."""

from __future__ import annotations

from http import HTTPStatus

LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
CLOSE = b"connection: close\r\n"
KEEP = b"connection: keep-alive\r\n"
FRAMED = b"transfer-encoding: chunked\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
