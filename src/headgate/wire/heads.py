"""Heads: that of a request as it is told to a server, and that of an answer as rules ask of it."""

from __future__ import annotations

from collections.abc import Callable

from headgate.wire.exchange import CHUNKED, Exchange
from headgate.wire.scroll import Scroll

END = b"\r\n"


def compose(exchange: Exchange, target: bytes, host: bytes, scroll: Scroll) -> bytes:
    """The head of a request, told anew to who is called `host`."""
    scroll.add(exchange.method)
    scroll.add(b" ")
    scroll.add(target)
    scroll.add(b" HTTP/1.1\r\nhost: ")
    scroll.add(host)
    scroll.add(END)
    said = exchange.said
    for place in range(0, len(said), 2):
        scroll.line(said[place], said[place + 1])
    if exchange.forwarded:
        scroll.add(exchange.forwarded)
    else:
        scroll.add(exchange.inlet.forwarded)
        scroll.line(b"x-forwarded-host", exchange.host)
    if exchange.length == CHUNKED:
        scroll.add(b"transfer-encoding: chunked\r\n")
    elif exchange.length >= 0:
        scroll.line(b"content-length", b"%d" % exchange.length)
    if exchange.upgrade:
        scroll.add(b"connection: upgrade\r\n")
        scroll.line(b"upgrade", exchange.upgrade)
    scroll.add(END)
    return scroll.take()


def teller(head: bytes) -> Callable[[str], str]:
    """A function that says the headers of an answer by their names."""

    def header(name: str) -> str:
        wanted = name.encode("latin-1")
        lines = [line.partition(b": ") for line in head.split(b"\r\n")]
        found = [value for word, _, value in lines if word.lower() == wanted]
        return b", ".join(found).decode("latin-1")

    return header
