"""Pieces: how an answer is cut so that it flows evenly under a limit on bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

# As much as flows in so many seconds is sent at a time, and never less than this.
BEAT = 0.05
LEAST = 256


def piece(limiters: Sequence[tuple[Any, str]]) -> int:
    """How many bytes to send at a time: as flow in 50 ms, as far as the burst allows."""
    sizes: list[int] = []
    for limiter, _ in limiters:
        limit = limiter.limits[0]
        flowing = int(limit.rate.count * BEAT / limit.rate.seconds)
        sizes.append(max(1, min(limit.limit, max(LEAST, flowing))))
    return min(sizes)


def cut(body: bytes, size: int) -> Iterator[bytes]:
    """The body in pieces of at most so many bytes; an empty one is one piece."""
    if len(body) <= size:
        yield body
        return
    view = memoryview(body)
    for start in range(0, len(body), size):
        yield bytes(view[start : start + size])
