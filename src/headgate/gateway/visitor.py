"""Visitor: a request at the gateway, as rules and routes ask about it."""

from __future__ import annotations

from typing import Any

from headgate.adapters.arrivals import Guest, Manners
from headgate.rules.clients.client import Found
from headgate.wire.exchange import Exchange
from headgate.wire.spots import Spot


class Visitor(Guest):
    """A request of who has connected; what no rule asks for is not looked at."""

    __slots__ = ("client",)

    # The key of the client's address: that of who has connected.
    client: str

    def __init__(self, exchange: Exchange, manners: Manners, spot: Spot, client: str) -> None:
        self.source = exchange
        self.manners = manners
        self.method = spot.method
        self.path = spot.path
        self._query = spot.query
        self.client = client

    @property
    def scheme(self) -> str:  # type: ignore[override]
        """The scheme that the client spoke, as far as that is known."""
        return str(self.source.inlet.scheme)

    @property
    def road(self) -> str:
        """The route it takes."""
        found = self.source.road or self.source.desk.roads.find(self)
        return "" if found is None else str(found.mark)

    def header(self, name: str) -> str:
        """The header of this name."""
        found = self.source.header(name.encode("latin-1", "replace"))
        if len(found) < 2:
            return found[0].decode("latin-1") if found else ""
        return (b"; " if name == "cookie" else b", ").join(found).decode("latin-1")

    def _peer(self) -> str | None:
        peer: str | None = self.source.inlet.peer
        return peer

    def _locate(self) -> Found:
        found: Found = self.source.inlet.client
        return found


class Envoy(Visitor):
    """A request that a proxy has brought which is believed: who it is from stands in a header."""

    __slots__ = ()

    def __init__(self, exchange: Exchange, manners: Manners, spot: Spot) -> None:
        self.source = exchange
        self.manners = manners
        self.method = spot.method
        self.path = spot.path
        self._query = spot.query

    @property
    def client(self) -> str:  # type: ignore[override]
        """The key of the client's address."""
        return self._locate().key

    @property
    def scheme(self) -> str:  # type: ignore[override]
        """The scheme that the client spoke, as far as that is known."""
        if self.manners.client.header == "forwarded":
            said = self.manners.client.scheme(self._lines())
        else:
            said = self.header("x-forwarded-proto").strip().lower()
        return said or str(self.source.inlet.scheme)

    def _locate(self) -> Found:
        nearest: Any = self.source.inlet.client
        return self.manners.client.follow(nearest, self._lines())

    def _lines(self) -> list[str]:
        lines = self.source.header(self.manners.client.header.encode("latin-1"))
        return [line.decode("latin-1") for line in lines]
