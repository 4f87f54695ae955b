"""Question: one small request, read as far as whoever looks after the gateway needs it."""

from __future__ import annotations

import asyncio
import re

from headgate.wire.parsers import HttpParserError, HttpParserUpgrade, HttpRequestParser

# All of it, with its body: nothing that may be asked takes more.
MOST = 8192
# Another name of this machine may have been looked up by a page that somebody visits with a
# browser; these are not looked up by anybody.
NEAR = re.compile(r"(localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)


class Unclear(Exception):
    """It cannot be read; says with which status that is answered."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Question:
    """A request: its method, its target, and its headers in lower case."""

    def __init__(self) -> None:
        self._parser = HttpRequestParser(self)
        self.method = ""
        self.target = ""
        self.whole = False
        self.headers: list[tuple[str, str]] = []

    @classmethod
    async def read(cls, reader: asyncio.StreamReader) -> Question:
        """The request that a client sends; raises `Unclear`, or EOFError if there comes none."""
        question = cls()
        size = 0
        while not question.whole:
            data = await reader.read(MOST)
            size += len(data)
            if not data:
                raise EOFError
            if size > MOST:
                raise Unclear(431)
            question.feed(data)
        return question

    def feed(self, data: bytes) -> None:
        """Go on reading."""
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            raise Unclear(400) from None

    @property
    def near(self) -> bool:
        """Whether it was meant for this machine by a name that only this machine has."""
        return NEAR.fullmatch(self.single("host")) is not None

    def single(self, name: str) -> str:
        """The header, if it is there once; empty otherwise."""
        found = [value for word, value in self.headers if word == name]
        return found[0] if len(found) == 1 else ""

    def has(self, name: str) -> bool:
        """Whether there is such a header."""
        return any(word == name for word, _ in self.headers)

    def on_message_begin(self) -> None:
        if self.whole:
            # One is enough, and what came with it would be taken for a part of it.
            raise ValueError

    def on_url(self, part: bytes) -> None:
        self.target += part.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.decode("latin-1").lower(), value.decode("latin-1").strip()))

    def on_headers_complete(self) -> None:
        self.method = self._parser.get_method().decode("ascii")

    def on_message_complete(self) -> None:
        self.whole = True
