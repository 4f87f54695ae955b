"""Service: a small one that knows nothing of limits, for a gateway to stand in front of.

It speaks just enough HTTP for that, and keeps connections, as a real one would. Do not let
strangers in without a gateway: nothing here bounds what they send.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import NamedTuple

from headgate.clock import SystemClock

HOST = "127.0.0.1"
BIG = 1_000_000
BLOCK = 50_000
PAGE = """<!doctype html>
<title>Headgate</title>
<h1>A service behind Headgate</h1>
<ul>
<li><a href="/v1/hello">/v1/hello</a>: ten a minute for strangers, a hundred with a key
<li><a href="/v1/slow">/v1/slow</a>: takes a second; five at once
<li><a href="/files/big">/files/big</a>: one megabyte, at 100 KB a second
<li>POST /login: five a minute, whether they succeed or not
<li><a href="/healthz">/healthz</a>: what the gateway asks to see whether this service is well
</ul>
"""


class Answer(NamedTuple):
    """What is answered: a body, or so many bytes of nothing in particular."""

    status: str
    kind: str
    body: bytes = b""
    size: int = 0


async def serve(port: int = 0) -> asyncio.Server:
    """Serve from now on; port 0 is any that is free."""
    return await asyncio.start_server(meet, HOST, port)


async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request after another, until the other side has no more."""
    # That all of them end at Ctrl-C is no error, but Python 3.11 would print it as one.
    with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
        try:
            while await exchange(reader, writer):
                pass
        finally:
            writer.close()


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Answer one request; whether another may follow on the connection."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    await reader.readexactly(int(headers.get("content-length", 0)))
    # A body in chunks is not read, so nothing can be read after it.
    keep = "transfer-encoding" not in headers
    answer = await find(method, target.partition("?")[0], headers)
    await send(writer, answer, keep)
    return keep


async def find(method: str, path: str, headers: dict[str, str]) -> Answer:
    """What there is at a path."""
    if path == "/v1/slow":
        await SystemClock().asleep(1.0)
        return told({"took": "1 s"})
    if path == "/login":
        return told({"welcome": "ada"}) if method == "POST" else told("POST", "405 Not Allowed")
    plain = {
        "/": Answer("200 OK", "text/html; charset=utf-8", PAGE.encode()),
        "/healthz": told("well"),
        "/v1/hello": told({"hello": headers.get("x-forwarded-for", "you")}),
        "/files/big": Answer("200 OK", "application/octet-stream", size=BIG),
    }
    return plain.get(path) or told("nothing is here", "404 Not Found")


def told(said: object, status: str = "200 OK") -> Answer:
    """An answer in JSON."""
    return Answer(status, "application/json", json.dumps(said).encode() + b"\n")


async def send(writer: asyncio.StreamWriter, answer: Answer, keep: bool) -> None:
    """Send it, no faster than the other side takes it."""
    lines = [
        f"HTTP/1.1 {answer.status}",
        f"content-type: {answer.kind}",
        f"content-length: {answer.size or len(answer.body)}",
        *([] if keep else ["connection: close"]),
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode() + answer.body)
    for start in range(0, answer.size, BLOCK):
        writer.write(bytes(min(BLOCK, answer.size - start)))
        await writer.drain()
    await writer.drain()
