"""A call of gRPC as rules see it: a request while it comes in, and how it turns out.

Contexts are those of grpcio, of either colour. The one of a thread that an event loop has lent
knows less than the others: what was said in trailing metadata, and the code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from headgate.adapters.arrivals import Guest, Manners
from headgate.adapters.grpc.status import Metadata
from headgate.adapters.stay import measured
from headgate.rules.clients.client import Found
from headgate.rules.live.entry import Entry
from headgate.rules.live.visit import GONE

# What codes are in HTTP, by their numbers, as google.rpc has it; all others are 500.
STATUSES = {
    1: 499, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 10: 409, 11: 400, 12: 501,
    14: 503, 16: 401,
}  # fmt: skip


class Call(Guest):
    """A call as a request: a POST with metadata for headers. What no rule asks is not looked at."""

    __slots__ = ("_metadata",)

    def __init__(self, details: Any, context: Any, manners: Manners) -> None:
        self.method = "POST"
        self.path = details.method
        self.source = context
        self.manners = manners
        self._metadata = details.invocation_metadata or ()
        self._query = ""

    def header(self, name: str) -> str:
        """The metadata of this name; what is binary is not there."""
        return ", ".join(self._all(name))

    @property
    def scheme(self) -> str:  # type: ignore[override]
        """The scheme, which is https if the connection is secured."""
        # Where it is not, older versions say nothing and newer ones that it is insecure.
        kinds = self.source.auth_context().get("transport_security_type", ())
        return "https" if any(kind != b"insecure" for kind in kinds) else "http"

    @property
    def host(self) -> str:
        """Nothing: grpcio does not tell which host is asked for."""
        return ""

    def _all(self, name: str) -> list[str]:
        found = [value for word, value in self._metadata if word == name]
        return [value for value in found if isinstance(value, str)]

    def _peer(self) -> str | None:
        return place(self.source.peer())

    def _locate(self) -> Found:
        client = self.manners.client
        found, trusted = client.meet(self._peer())
        return client.follow(found, self._all(client.header)) if trusted else found


def place(peer: str) -> str:
    """The address of a peer such as `ipv4:192.0.2.1:5000` or `ipv6:%5B::1%5D:5000`.

    Whoever has none, as behind a unix socket, is left as it is.
    """
    family, _, rest = peer.partition(":")
    if family not in ("ipv4", "ipv6"):
        return peer
    return unquote(rest).rpartition(":")[0].strip("[]")


class Visit:
    """A call while it is inside."""

    __slots__ = ("_context", "_fields", "done", "entry", "left", "measured", "size")

    def __init__(self, context: Any, entry: Entry, fields: Metadata) -> None:
        self._context = context
        self._fields = fields
        self.entry = entry
        self.measured = measured(entry)
        self.done = False
        # Whether there is nobody to answer any more.
        self.left = False
        self.size = 0
        # Now, for an application that aborts is not asked again.
        context.set_trailing_metadata(fields)

    def pieces(self, size: int) -> Iterator[int]:
        """How a message of so many bytes is paid for; it is then sent whole."""
        self.size += size
        piece = self.entry.piece if self.entry.bandwidth else 0
        while piece and size > 0:
            yield min(piece, size)
            size -= piece

    def tell(self) -> None:
        """Add how limits stand to what the application has said since."""
        said = self._said()
        if not {*self._fields} <= {*said}:
            self._context.set_trailing_metadata((*said, *self._fields))

    def header(self, name: str) -> str:
        """What stands under a name in the trailing metadata."""
        found = dict(self._said()).get(name, "")
        return found if isinstance(found, str) else ""

    def status(self) -> int:
        """How it turned out, in the numbers of HTTP; 0 if it failed and nobody said how.

        499 if the client did not wait for it.
        """
        code = getattr(self._context, "code", int)() or 0
        number = code if isinstance(code, int) else code.value[0]
        if number == 0:
            return 200 if self.done else GONE if self.left else 0
        return STATUSES.get(number, 500)

    def _said(self) -> Metadata:
        # Who does not know what was said is told nothing anew.
        said = getattr(self._context, "trailing_metadata", lambda: self._fields)()
        return tuple((name, value) for name, value in said or ())
