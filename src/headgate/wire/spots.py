"""Spots: what a request's target asks for, as rules see it and as it is sent on.

A target is sent on as it came, except that its host, if it has one, is taken off. Rules see the
path decoded, with no slash doubled. What servers are known to read differently is no spot: dots
that climb, also behind a percent sign or a semicolon.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote_to_bytes

CLIMBING = frozenset({b".", b".."})
SCHEMES = (b"http", b"https")


class Spot(NamedTuple):
    """What is asked for: `target` is sent on, the rest is what rules see."""

    target: bytes
    method: str
    path: str
    query: bytes


def find(method: bytes, target: bytes, host: bytes) -> Spot | None:
    """What a target asks for, of the host that the request names; None if that is not clear."""
    if target == b"*":
        return Spot(target, "OPTIONS", "*", b"") if method == b"OPTIONS" else None
    if target[:1] != b"/":
        target = origin(target, host)
    if not target or b"#" in target or not target.isascii():
        return None
    raw, _, query = target.partition(b"?")
    path = unquote_to_bytes(raw)
    if b"." in path and climbs(path):
        return None
    while b"//" in path:
        path = path.replace(b"//", b"/")
    return Spot(target, method.decode("ascii"), path.decode("utf-8", "replace"), query)


def origin(target: bytes, host: bytes) -> bytes:
    """What is left of a whole URL without its host, if that is the one named; else nothing."""
    scheme, mark, rest = target.partition(b"://")
    if not mark or scheme.lower() not in SCHEMES:
        return b""
    ends = [rest.find(sign) for sign in (b"/", b"?") if sign in rest]
    end = min(ends, default=len(rest))
    if not end or rest[:end].lower() != host.lower():
        return b""
    return rest[end:] if rest[end : end + 1] == b"/" else b"/" + rest[end:]


def climbs(path: bytes) -> bool:
    """Whether a part of the path is a dot or two, to a server of some kind."""
    parts = path.replace(b"\\", b"/").split(b"/")
    return any(part.partition(b";")[0] in CLIMBING for part in parts)
