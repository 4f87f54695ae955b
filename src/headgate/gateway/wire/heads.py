"""Heads: the beginning of a request as it is told to an upstream."""

from __future__ import annotations

from headgate.gateway.wire.exchange import CHUNKED, Exchange

END = b"\r\n"


def compose(exchange: Exchange, target: bytes, host: bytes) -> bytes:
    """The head of a request, told anew to who is called `host`."""
    parts = [exchange.method, b" ", target, b" HTTP/1.1\r\nhost: ", host, END]
    parts += exchange.said
    if exchange.forwarded:
        parts.append(exchange.forwarded)
    else:
        parts += (exchange.inlet.forwarded, b"x-forwarded-host: ", exchange.host, END)
    if exchange.length == CHUNKED:
        parts.append(b"transfer-encoding: chunked\r\n")
    elif exchange.length >= 0:
        parts.append(b"content-length: %d\r\n" % exchange.length)
    if exchange.upgrade:
        parts += (b"connection: upgrade\r\nupgrade: ", exchange.upgrade, END)
    parts.append(END)
    return b"".join(parts)
