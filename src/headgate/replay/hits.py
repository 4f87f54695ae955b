"""Hits: the requests of a log, one for each line, and what their request lines ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from headgate.replay.words import plain

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

# What a log does not say is as if it were this; a duration and a status are then unknown.
UNKNOWN = -1
# So many request lines, and so many names, are remembered at once.
REMEMBERED = 1 << 17
SCHEMES = (b"http", b"https")


class Spot:
    """What request lines like this one ask for; `notes` is a place for who works it out further."""

    __slots__ = ("asked", "host", "method", "notes", "path", "query")

    def __init__(self, method: str, path: str, query: str, host: str, asked: bool) -> None:
        self.method = method
        self.path = path
        self.query = query
        # The host, where the line names one.
        self.host = host
        # Whether it is a request at all, and not what a scanner sent instead of one.
        self.asked = asked
        self.notes: list[Any] = [None, None]


@cython.final
@cython.freelist(64)
@cython.no_gc
@cython.cclass
class Hit:
    """One request: when it came, what it asked for, who sent it and what came of it.

    Times are microseconds. `peer` is the address at the socket's other end, or nothing if the log
    does not have it, and `forwarded` what proxies said of the client. `headers` are those that the
    log has, by their names in lower case.
    """

    __slots__ = (
        "at", "forwarded", "headers", "host", "peer", "scheme", "size", "spot", "status", "took",
        "user",
    )  # fmt: skip

    at: int
    took: int
    status: int
    size: int
    spot: Spot
    peer: str
    forwarded: str
    host: str
    scheme: str
    user: str
    headers: dict[str, str] | None

    def __init__(self) -> None:
        self.at = self.took = self.status = UNKNOWN
        self.size = 0
        self.peer = self.forwarded = self.host = self.scheme = self.user = ""
        self.spot = NOWHERE
        self.headers = None


class Spots:
    """Takes request lines apart, and remembers what they ask for."""

    __slots__ = ("known",)

    known: dict[bytes, Spot]

    def __init__(self) -> None:
        self.known = {}

    def line(self, said: bytes) -> Spot:
        """What `GET /path?query HTTP/1.1` asks for."""
        found = self.known.get(said)
        if found is None:
            method, _, rest = plain(said).partition(b" ")
            target, blank, version = rest.rpartition(b" ")
            if not blank or not version.startswith(b"HTTP/"):
                target = rest
            found = self.keep(said, spot(method, target))
        return found

    def pair(self, method: bytes, target: bytes) -> Spot:
        """What a method and a target ask for."""
        said = method + b" " + target
        found = self.known.get(said)
        if found is None:
            found = self.keep(said, spot(plain(method), plain(target)))
        return found

    def keep(self, said: bytes, found: Spot) -> Spot:
        if len(self.known) >= REMEMBERED:
            self.known.clear()
        self.known[said] = found
        return found


def spot(method: bytes, target: bytes) -> Spot:
    """What a method and a target ask for; the path decoded, with no slash doubled."""
    host = b""
    if target[:1] != b"/":
        scheme, mark, rest = target.partition(b"://")
        if mark and scheme.lower() in SCHEMES:
            host, _, rest = rest.partition(b"/")
            target = b"/" + rest
    asked = method.isalpha() and (target[:1] == b"/" or target == b"*")
    raw, _, query = target.partition(b"?")
    path = unquote_to_bytes(raw)
    while b"//" in path:
        path = path.replace(b"//", b"/")
    return Spot(
        method.decode("latin-1").upper(), path.decode("utf-8", "replace"),
        query.decode("latin-1"), host.decode("latin-1").lower(), asked,
    )  # fmt: skip


NOWHERE = Spot("", "", "", "", False)
