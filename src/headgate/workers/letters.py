"""Letters: what the admin answers, as it is sent.

Nothing of it is kept by anybody, unless it says so, and none of it is taken for anything but what
it is. A page may load what comes from here and nothing else, and stands in no other page.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, NamedTuple

Fields = tuple[tuple[str, str], ...]

# The page has no script and no style but those in files of its own.
POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'"
)
# What every page, and every file of one, is sent with.
GUARDED: Fields = (
    ("content-security-policy", POLICY),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
)
UNKEPT: Fields = (("cache-control", "no-store"),)


class Letter(NamedTuple):
    """A status, a body of a kind, and what else is said of it."""

    status: int
    body: bytes = b""
    kind: str = "application/json"
    fields: Fields = UNKEPT

    def spelled(self) -> bytes:
        """As it is sent; nothing follows it on its connection."""
        lines = [
            f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}",
            f"content-type: {self.kind}",
            f"content-length: {len(self.body)}",
            *(f"{name}: {value}" for name, value in self.fields),
            "x-content-type-options: nosniff",
            "cross-origin-resource-policy: same-origin",
            "connection: close",
        ]
        if self.status == 304:
            # It has no body, and does not say of which kind that would be.
            del lines[1:3]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + self.body


def written(said: Any, status: int = 200, fields: Fields = ()) -> Letter:
    """Plain data as JSON."""
    return Letter(status, json.dumps(said, indent=2).encode() + b"\n", fields=UNKEPT + fields)


def told(status: int, fields: Fields = ()) -> Letter:
    """What is said of a request that is not answered."""
    if status == 401:
        fields = (*fields, ("www-authenticate", 'Bearer realm="headgate"'))
    if status == 405:
        fields = (*fields, ("allow", "GET, POST"))
    return written({"status": HTTPStatus(status).phrase.lower()}, status, fields)
