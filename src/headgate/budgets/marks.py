"""Marks: which notes were here before, in this process.

A note is remembered until it has expired, so a memory of fixed size bounds how many there may be
within one life. Where there are more, those that expire first are forgotten, and from then on
nothing is believed that expires as early: a memory that is too small makes lives shorter, and never
lets a copy in.
"""

from __future__ import annotations

from headgate.latch import Latch

# A life is cut into so many parts, and what expires in the same part is forgotten together.
PARTS = 32


class Marks:
    """Notes that were here, by their number, at most `most` of them."""

    def __init__(self, most: int, life: int) -> None:
        self._most = most
        self._part = max(1, life // PARTS)
        self._seen: dict[int, set[bytes]] = {}
        self._count = 0
        # The first part in which something may still be new.
        self._floor = 0
        self._lock = Latch()

    def mark(self, nonce: bytes, expires: int, now: int) -> str:
        """Remember a note; why it does not count, or nothing if it does."""
        part = expires // self._part
        with self._lock:
            if part < self._floor:
                return "expired"
            seen = self._seen.get(part)
            if seen is not None and nonce in seen:
                return "replayed"
            if self._count >= self._most:
                self._sweep(now // self._part)
                if part < self._floor:
                    return "expired"
                seen = self._seen.get(part)
            if seen is None:
                self._tidy(now // self._part)
                seen = self._seen[part] = set()
            seen.add(nonce)
            self._count += 1
        return ""

    def __len__(self) -> int:
        return self._count

    def _tidy(self, now: int) -> None:
        # Forget what has expired: nobody believes it any more.
        for part in [one for one in self._seen if one < now]:
            self._count -= len(self._seen.pop(part))

    def _sweep(self, now: int) -> None:
        self._tidy(now)
        if self._count >= self._most:
            first = min(self._seen)
            self._count -= len(self._seen.pop(first))
            self._floor = first + 1
