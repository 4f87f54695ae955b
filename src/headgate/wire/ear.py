"""Ear: who hears what comes over a connection, and what a reader has understood of it."""

from __future__ import annotations

Bytes = bytes | memoryview

# What is longer is handed on as a view of where it lies, and not copied.
LARGE = 16_384


class Ear:
    """Hears of a connection. What it does not accept of a message, it raises ValueError at."""

    __slots__ = ()

    def data_received(self, data: Bytes) -> None:
        """Something has come; a view of it is good until this returns."""
        raise NotImplementedError

    def passed(self, size: int) -> None:
        """So much of a body has gone on unseen, as was asked for."""
        raise NotImplementedError

    def on_message_begin(self) -> None:
        """A request or an answer begins."""
        raise NotImplementedError

    def on_url(self, part: bytes) -> None:
        """A part of what a request is for."""
        raise NotImplementedError

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or one that comes after the body."""
        raise NotImplementedError

    def on_headers_complete(self) -> None:
        """The head is whole."""
        raise NotImplementedError

    def on_body(self, part: Bytes) -> None:
        """A part of the body; a view is good until this returns."""
        raise NotImplementedError

    def on_message_complete(self) -> None:
        """All of it is here."""
        raise NotImplementedError
