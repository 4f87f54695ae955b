"""The Redis protocol on paper: commands as bytes, bytes as replies (RESP2 and RESP3)."""

from __future__ import annotations

from typing import Any

LINES = b"+-:_#,("
BLOBS = b"$!="
# How many replies each of them holds for one that it counts.
FLOCKS = {b"*"[0]: 1, b"~"[0]: 1, b">"[0]: 1, b"%"[0]: 2}


class Refusal(Exception):
    """The error that a server answered, in its own words."""


def encode(*command: str | bytes | float) -> bytes:
    """One command as the server reads it."""
    words = [word if isinstance(word, bytes) else str(word).encode() for word in command]
    return b"".join(
        [b"*%d\r\n" % len(words), *(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)]
    )


def parse(data: bytes, start: int = 0) -> tuple[Any, int] | None:
    """The reply that begins at `start` and where it ends; None while it is not complete.

    Text is decoded so that encoding it with `surrogateescape` gives the bytes back. An error is
    returned as a `Refusal`, not raised: it may stand in the middle of a list.
    """
    line = data.find(b"\r\n", start)
    if line < 0:
        return None
    mark, text, body = data[start], data[start + 1 : line], line + 2
    if mark in LINES:
        return value(mark, text), body
    if mark not in BLOBS and mark not in FLOCKS:
        raise ValueError(f"no reply begins with {data[start : start + 20]!r}")
    count = int(text)
    if count < 0:
        return None, body
    if mark in BLOBS:
        end = body + count
        return (value(mark, data[body:end]), end + 2) if len(data) >= end + 2 else None
    return flock(data, body, count * FLOCKS[mark])


def flock(data: bytes, start: int, count: int) -> tuple[list[Any], int] | None:
    """So many replies in a row, as a list; a map is the list of its keys and values in turn."""
    members = []
    for _ in range(count):
        found = parse(data, start)
        if found is None:
            return None
        member, start = found
        members.append(member)
    return members, start


def value(mark: int, text: bytes) -> Any:
    if mark in b":(":
        return int(text)
    if mark in b"-!":
        return Refusal(text.decode("utf-8", "surrogateescape"))
    if mark in b"_":
        return None
    if mark in b"#":
        return text == b"t"
    if mark in b",":
        return float(text)
    # A verbatim text says first what it is: `txt:`.
    return (text[4:] if mark in b"=" else text).decode("utf-8", "surrogateescape")
