"""Stamps: what callers are given to be shown again later, and cannot have made themselves.

A stamp is a few words and a signature over them (HMAC with SHA-256, 128 bits of it), as text that
fits into URLs and headers. Whoever has the same secret can read it: any worker, on any machine. The
words are not hidden; `kind` keeps a stamp for one thing from being shown for another.
"""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Any

from headgate.errors import HeadgateError

SIGNED = 16
# None of ours is longer: names are short, and so are tidy keys.
LONGEST = 2000


class BadTicket(HeadgateError):
    """What was shown does not count: `reason` is `forged`, `expired` or `used`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return {
            "expired": "the id is too old; what it stood for stays spent, or is given back already",
            "used": "the id was committed or cancelled before",
        }.get(self.reason, "the id is none of ours; show one exactly as it was given")


class Stamp:
    """Signs and reads. `secret` answers what is signed with, which all workers share."""

    __slots__ = ("_secret",)

    def __init__(self, secret: Callable[[], str]) -> None:
        self._secret = secret

    def sign(self, kind: str, *words: Any) -> str:
        """The words as a stamp."""
        said = json.dumps([kind, *words], separators=(",", ":")).encode()
        return urlsafe_b64encode(self._mark(said) + said).decode().rstrip("=")

    def read(self, kind: str, stamp: str) -> list[Any]:
        """The words of a stamp; raises `BadTicket` where we have not signed it for this."""
        said = self._said(stamp)
        if not said or said[0] != kind:
            raise BadTicket("forged")
        return said[1:]

    def _said(self, stamp: str) -> list[Any]:
        if not isinstance(stamp, str) or not stamp.isascii() or len(stamp) > LONGEST:
            return []
        try:
            raw = urlsafe_b64decode(stamp + "=" * (-len(stamp) % 4))
        except ValueError:
            return []
        said = raw[SIGNED:]
        # Of several texts that stand for the same bytes only ours counts.
        plain = urlsafe_b64encode(raw).decode().rstrip("=") == stamp
        if not plain or not hmac.compare_digest(raw[:SIGNED], self._mark(said)):
            return []
        found: list[Any] = json.loads(said)
        return found

    def _mark(self, said: bytes) -> bytes:
        return hmac.digest(self._secret().encode(), said, "sha256")[:SIGNED]
