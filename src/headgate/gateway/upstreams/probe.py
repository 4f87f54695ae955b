"""Probe: asks one server how it is, on a connection of its own."""

from __future__ import annotations

import asyncio
import ssl

from headgate.rules.model.charge import statuses
from headgate.rules.model.place import Place
from headgate.rules.model.upstream import Health
from headgate.wire.parsers import HttpParserUpgrade, HttpResponseParser

# An answer whose head is longer says nothing.
LONGEST = 65_536
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Probe:
    """Asks for the path that the terms have, and hears whether the status is a good one.

    `tls` is what https servers are met with, none of which is well without it, and `name` is whom
    their certificates name, if not the host of their addresses.
    """

    __slots__ = ("_good", "_name", "_path", "_tls")

    def __init__(self, health: Health, tls: ssl.SSLContext | None = None, name: str = "") -> None:
        self._path = health.path
        self._good = statuses(health.status)
        self._tls = tls
        self._name = name

    async def ask(self, place: Place) -> str:
        """What is wrong with the server there, nothing if it is well; raises what went wrong.

        It takes as long as it takes: whoever asks sees to the time.
        """
        reader, writer = await self._open(place)
        try:
            writer.write(self._question(place))
            status = await heard(reader)
        finally:
            # No more is wanted, and nothing is waited for.
            writer.transport.abort()
        return "" if status in self._good else f"it answers {status}"

    async def _open(self, place: Place) -> Streams:
        if place.scheme == "unix":
            return await asyncio.open_unix_connection(place.path)
        if place.scheme == "http":
            return await asyncio.open_connection(place.host, place.port)
        return await asyncio.open_connection(
            place.host, place.port, ssl=self._tls, server_hostname=self._name or place.host
        )

    def _question(self, place: Place) -> bytes:
        host = "localhost" if place.scheme == "unix" else str(place)
        lines = (f"GET {self._path} HTTP/1.1", f"Host: {host}", "User-Agent: headgate",
                 "Accept: */*", "Connection: close", "", "")  # fmt: skip
        return "\r\n".join(lines).encode()


async def heard(reader: asyncio.StreamReader) -> int:
    """The status of an answer, of which no more than the head is read."""
    answer = Answer()
    left = LONGEST
    while answer.status < 200:
        part = await reader.read(left)
        if not part:
            raise ConnectionError("it says too much" if left == 0 else "it hangs up")
        left -= len(part)
        try:
            answer.parser.feed_data(part)
        except HttpParserUpgrade:
            # It would speak otherwise now, which nobody asked it to.
            break
    return answer.status


class Answer:
    """What a parser tells of an answer: its status, 0 until that is known."""

    __slots__ = ("parser", "status")

    def __init__(self) -> None:
        self.status = 0
        self.parser = HttpResponseParser(self)

    def on_headers_complete(self) -> None:
        # What is said before the answer itself, such as 103, counts for nothing.
        if self.status < 200:
            self.status = self.parser.get_status_code()
