"""Feed: what open pages are sent once a second, as events of a stream that does not end.

A page says which event it had last, and is told what it has missed. One that does not take in what
it is sent is let go, and comes back when it can.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from math import isfinite
from typing import Any

from headgate.dashboard.ring import Point, Ring
from headgate.workers.question import Question

# So many pages may be open, and so many bytes may wait for one of them.
MOST = 8
BEHIND = 4 << 20
# After so many seconds a page has to show anew that it may look.
LONGEST = 3600.0
# How long a browser waits before it comes back, in milliseconds.
RETRY = 1000
HEAD = (
    b"HTTP/1.1 200 OK\r\n"
    b"content-type: text/event-stream\r\n"
    b"cache-control: no-store\r\n"
    b"x-content-type-options: nosniff\r\n"
    b"x-accel-buffering: no\r\n"
    b"cross-origin-resource-policy: same-origin\r\n"
    b"connection: close\r\n\r\n"
)


class Feed:
    """The pages that are open, and the `ring` of what they are told when they come."""

    def __init__(self) -> None:
        self.ring = Ring()
        self._writers: dict[asyncio.StreamWriter, asyncio.Event] = {}
        self._latest = b""
        self._closing = False

    @property
    def full(self) -> bool:
        """Whether no other page may be open, or none may any more."""
        return self._closing or len(self._writers) >= MOST

    def beat(self, reading: dict[str, Any]) -> None:
        """Tell all pages of a reading."""
        point = self.ring.add(reading)
        self._latest = event("beat", {"reading": reading, "point": point}, self.ring.name)
        for writer in [*self._writers]:
            self._send(writer, self._latest)

    async def serve(
        self, question: Question, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Have a page hear of everything until it goes, or has to."""
        over = self._writers[writer] = asyncio.Event()
        try:
            known = question.single("last-event-id") or question.options.get("since", "")
            writer.write(HEAD + b"retry: %d\n\n" % RETRY + self._missed(known) + self._latest)
            gone = asyncio.ensure_future(reader.read(1))
            over_task = asyncio.ensure_future(over.wait())
            await asyncio.wait(
                [gone, over_task], timeout=LONGEST, return_when=asyncio.FIRST_COMPLETED
            )
            for task in (gone, over_task):
                task.cancel()
                with suppress(asyncio.CancelledError, ConnectionError):
                    await task
        finally:
            self._writers.pop(writer, None)

    def close(self) -> None:
        """Let all pages go; they come back to whoever listens then."""
        self._closing = True
        for over in self._writers.values():
            over.set()

    def _missed(self, known: str) -> bytes:
        points: list[Point] = self.ring.since(known)
        return event("history", {"mark": self.ring.mark, "points": points})

    def _send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        transport = writer.transport
        if transport.get_write_buffer_size() > BEHIND:
            self._writers.pop(writer).set()
            transport.abort()
        else:
            writer.write(data)


def event(name: str, said: Any, mark: str = "") -> bytes:
    """An event as a stream has it."""
    head = f"id: {mark}\n" if mark else ""
    try:
        data = json.dumps(said, allow_nan=False)
    except ValueError:
        # What never ends, or is no number, a page could not read.
        data = json.dumps(finite(said))
    return f"{head}event: {name}\ndata: {data}\n\n".encode()


def finite(said: Any) -> Any:
    """The same, with null for numbers that are none."""
    if isinstance(said, dict):
        return {word: finite(value) for word, value in said.items()}
    if isinstance(said, (list, tuple)):
        return [finite(value) for value in said]
    return None if isinstance(said, float) and not isfinite(said) else said
