"""Question: one small request, read as far as whoever looks after the gateway needs it."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any
from urllib.parse import parse_qsl

from headgate.wire.parsers import HttpParserError, HttpParserUpgrade, HttpRequestParser

# Its head, and its body: nothing that may be asked takes more.
MOST = 8192
LARGEST = 16_384
# Another name of this machine may have been looked up by a page that somebody visits with a
# browser; these are not looked up by anybody.
NEAR = re.compile(r"(localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)


class Unclear(Exception):
    """It cannot be read; says with which status that is answered."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Question:
    """A request: its method, its target, its headers in lower case, and its body."""

    def __init__(self) -> None:
        self._parser = HttpRequestParser(self)
        self.method = ""
        self.target = ""
        self.whole = False
        self.headers: list[tuple[str, str]] = []
        self.body = b""

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
            question.feed(data)
            if size - len(question.body) > MOST:
                raise Unclear(431)
        return question

    def feed(self, data: bytes) -> None:
        """Go on reading."""
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            raise Unclear(400) from None
        if len(self.body) > LARGEST:
            raise Unclear(413)

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

    @property
    def path(self) -> str:
        """The target without what stands behind a question mark."""
        return self.target.partition("?")[0]

    @property
    def options(self) -> dict[str, str]:
        """What stands there; of what is said twice, the last."""
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))

    @property
    def cookies(self) -> dict[str, str]:
        """The cookies it brings along; of what is there twice, the first."""
        found: dict[str, str] = {}
        for word, value in self.headers:
            for part in value.split(";") if word == "cookie" else ():
                name, _, said = part.strip().partition("=")
                found.setdefault(name, said)
        return found

    def form(self) -> dict[str, str]:
        """The fields of a form that was sent."""
        try:
            return dict(parse_qsl(self.body.decode(), keep_blank_values=True, max_num_fields=20))
        except ValueError:
            return {}

    def said(self) -> dict[str, Any]:
        """The object of JSON that its body is; raises `Unclear` if it is none."""
        try:
            said = json.loads(self.body or b"{}")
        except (ValueError, RecursionError):
            raise Unclear(400) from None
        if not isinstance(said, dict):
            raise Unclear(400)
        return said

    def on_body(self, part: bytes) -> None:
        self.body += part

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
