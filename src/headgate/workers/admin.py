"""Admin: where one asks how the gateway is, and has it read its rules or drain, over HTTP.

    GET  /health    200, or 503 while nobody serves; the only one that needs no token
    GET  /status    what all workers have counted
    GET  /reading   all there is to see, as one reading
    GET  /metrics   the same, as Prometheus reads it
    POST /reload    the rules are read again; 422 tells what is wrong with them
    POST /drain     what is under way is finished, and then the gateway ends

It listens on this machine alone. That keeps other machines out, and not the pages that somebody
here looks at with a browser: so a request has to name this machine by a name that nobody looks up,
and one that changes something must not come from a page.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Protocol

from headgate.errors import MissingExtra
from headgate.telemetry.prometheus import TYPE, exposition
from headgate.telemetry.reading import Reading
from headgate.workers.doors import Door
from headgate.workers.question import Question, Unclear

logger = logging.getLogger("headgate.workers")

# How long a request may take to come in, and how many may be under way.
PATIENCE = 5.0
MOST = 32

# Plain data, or a text that is not ours to put into words.
Answer = tuple[int, dict[str, Any] | str]


class Office(Protocol):
    """Whom the admin asks."""

    @property
    def healthy(self) -> bool:
        """Whether requests are served, and will be."""

    async def status(self) -> dict[str, Any]:
        """What there is to know."""

    async def reading(self) -> Reading:
        """What there is to see."""

    async def reload(self) -> tuple[str, ...]:
        """Read the rules again; what is wrong with them."""

    def drain(self) -> None:
        """Begin to finish."""


class Admin:
    """Answers at a door to whoever has the token, which may be another from now on."""

    def __init__(self, door: Door, token: str, office: Office) -> None:
        self.door = door
        self.token = token
        self._office = office
        self._server: asyncio.Server | None = None
        self._guests: set[asyncio.StreamWriter] = set()

    async def open(self) -> None:
        """Answer from now on."""
        # Not start_unix_server: that may remove the file of a socket which others still have.
        self._server = await asyncio.start_server(self._meet, sock=self.door.lines[0])

    def close(self) -> None:
        """Answer no more."""
        if self._server is not None:
            self._server.close()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if len(self._guests) < MOST:
                self._guests.add(writer)
                with suppress(ConnectionError, EOFError, TimeoutError):
                    await self._talk(reader, writer)
        finally:
            self._guests.discard(writer)
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                question = await Question.read(reader)
        except Unclear as unclear:
            writer.write(letter(unclear.status, told(unclear.status)))
        else:
            writer.write(letter(*await self._answer(question)))
        async with asyncio.timeout(PATIENCE):
            await writer.drain()

    async def _answer(self, question: Question) -> Answer:
        status = self._refusal(question)
        if status:
            return status, told(status)
        asked = f"{question.method} {question.target}"
        if asked == "GET /health":
            healthy = self._office.healthy
            return (200, {"status": "ok"}) if healthy else (503, {"status": "unavailable"})
        if asked == "GET /status":
            return 200, await self._office.status()
        if asked == "GET /reading":
            return 200, dict(await self._office.reading())
        if asked == "GET /metrics":
            return metrics(await self._office.reading())
        if asked == "POST /reload":
            logger.info("the admin was asked to reload")
            problems = await self._office.reload()
            said = {"status": "bad rules", "problems": problems}
            return (422, said) if problems else (200, {"status": "ok"})
        if asked == "POST /drain":
            logger.info("the admin was asked to drain")
            self._office.drain()
            return 202, {"status": "draining"}
        return 404, told(404)

    def _refusal(self, question: Question) -> int:
        # With which status a request is refused, if it is.
        if not question.near:
            return 403
        if question.method not in ("GET", "POST"):
            return 405
        if question.method == "POST" and question.has("origin"):
            return 403
        if (question.method, question.target) == ("GET", "/health"):
            return 0
        scheme, _, shown = question.single("authorization").partition(" ")
        known = hmac.compare_digest(shown.strip().encode(), self.token.encode())
        return 0 if known and scheme.lower() == "bearer" else 401


def metrics(reading: Reading) -> Answer:
    """A reading for Prometheus, if what that needs is installed."""
    try:
        return 200, exposition(reading)
    except MissingExtra as missing:
        return 501, {"status": "not implemented", "problem": str(missing)}


def told(status: int) -> dict[str, Any]:
    """What is said of a request that is not answered."""
    return {"status": HTTPStatus(status).phrase.lower()}


def letter(status: int, said: dict[str, Any] | str) -> bytes:
    """An answer as it is sent; nobody keeps it, or takes it for anything but what it is."""
    plain = isinstance(said, str)
    body = said.encode() if isinstance(said, str) else json.dumps(said, indent=2).encode() + b"\n"
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        f"content-type: {TYPE if plain else 'application/json'}",
        f"content-length: {len(body)}",
        "cache-control: no-store",
        "x-content-type-options: nosniff",
        "connection: close",
    ]
    if status == 401:
        lines.append('www-authenticate: Bearer realm="headgate"')
    if status == 405:
        lines.append("allow: GET, POST")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
