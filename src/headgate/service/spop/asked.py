"""Asked: a request as HAProxy describes it in the arguments of a message.

Who the client is, HAProxy says with `src`. Where it has a proxy before it that the rules believe,
the client stands in the header that they name, as it does for a server.
"""

from __future__ import annotations

from headgate.adapters.arrivals import Guest, Manners
from headgate.rules.clients.client import Found
from headgate.rules.matching.request import gathered, hostname
from headgate.service.spop.frames import Flaw, Tape, Terms, Value
from headgate.wire.spots import find

# An argument of this beginning is a header, and no other line of that name is looked at.
SINGLE = "header."


class Asked(Guest):
    """A request by the arguments of a message; what no rule asks for is not looked at.

    Raises ValueError if servers could read its path in different ways.
    """

    __slots__ = ("_lines", "args")

    # Taken apart when they are first asked for.
    _lines: dict[str, str]

    def __init__(self, args: Terms, manners: Manners) -> None:
        self.args = self.source = args
        self.manners = manners
        target = raw(args.get("path")) or b"/"
        query = raw(args.get("query"))
        method = raw(args.get("method")) or b"GET"
        spot = find(method.upper(), b"%b?%b" % (target, query) if query else target, b"")
        if spot is None:
            raise ValueError("the path can be read in different ways")
        self.method = spot.method
        self.path = spot.path
        self._query = spot.query

    def header(self, name: str) -> str:
        """The header of this name."""
        args = self.args
        found = args.get(SINGLE + name)
        if found is not None:
            return text(found)
        try:
            lines = self._lines
        except AttributeError:
            lines = self._lines = listed(args.get("headers"))
        return lines.get(name, "")

    @property
    def host(self) -> str:
        """The host that is asked for, in lower case and without its port."""
        said = self.args.get("host")
        return hostname(self.header("host") if said is None else text(said))

    @property
    def scheme(self) -> str:  # type: ignore[override]
        """The scheme that the client spoke, as far as that is known."""
        said = ""
        client = self.manners.client
        if self.vouched:
            if client.header == "forwarded":
                said = client.scheme(self._told())
            else:
                said = self.header("x-forwarded-proto").strip().lower()
        return said or text(self.args.get("scheme")).lower() or "http"

    def _peer(self) -> str | None:
        return text(self.args.get("src"))

    def _locate(self) -> Found:
        client = self.manners.client
        found, trusted = client.meet(self._peer())
        return client.follow(found, self._told()) if trusted else found

    def _told(self) -> tuple[str, ...]:
        line = self.header(self.manners.client.header)
        return (line,) if line else ()


def user(args: Terms) -> str:
    """Who it is, as HAProxy knows them."""
    return words(args.get("user"))


def plan(args: Terms) -> str:
    """What they have booked, as HAProxy knows it."""
    return words(args.get("plan"))


def words(value: Value) -> str:
    """A value as the text that was meant, where a header would be left as it came."""
    found = text(value)
    return found if found.isascii() else found.encode("latin-1").decode("utf-8", "backslashreplace")


def text(value: Value) -> str:
    """A value as a text that looks like Latin-1; nothing is an empty one."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return "" if value is None else str(value).lower()


def raw(value: Value) -> bytes:
    """A value as the bytes it came in."""
    return text(value).encode("latin-1")


def listed(value: Value) -> dict[str, str]:
    """All headers, as `req.hdrs_bin` has them, or `req.hdrs`; those that are none are not there."""
    if isinstance(value, bytes):
        return gathered(packed(value))
    said = (line.partition(":") for line in text(value).split("\r\n"))
    return gathered([(name, line.strip()) for name, colon, line in said if colon])


def packed(data: bytes) -> list[tuple[str, str]]:
    """Names and values, each with its length before it, to the first empty name."""
    found: list[tuple[str, str]] = []
    tape = Tape(data, 0, len(data))
    try:
        while name := tape.word():
            found.append((name.decode("latin-1"), tape.word().decode("latin-1")))
    except Flaw:
        # Whoever sends something else under that name has said what there was to say.
        return found
    return found
