"""Proxied: a request that a proxy asks about, as the proxy's headers describe it.

There are three ways of asking. Which one it is, a proxy's configuration says, and no client: one
who sends headers of another way along with its own is not believed, but refused.

| way | method and target | who has connected |
| --- | --- | --- |
| nginx | `X-Original-Method`, `X-Original-URI`, with the `Host` as it was | `X-Real-IP` |
| Traefik, Caddy, APISIX | `X-Forwarded-Method`, `-Uri`, `-Host`, `-Proto` | the proxy itself |
| Envoy | the request's own, its path behind a prefix | the proxy itself |

All else in the head is the client's own. Who the client is follows from who has connected and from
the rules' `client`, as it does at a gateway: nginx passes on what its client has said of others,
which counts only if that client is a trusted proxy too. Where `trusted_hops` are counted, nginx is
the first of them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from headgate.adapters.arrivals import Guest, Manners
from headgate.rules.clients.client import Client, Found
from headgate.rules.matching.request import hostname
from headgate.service.http.asking import Asking
from headgate.service.http.saying import Trouble
from headgate.wire import spots
from headgate.wire.exchange import Exchange
from headgate.wire.spots import Spot

PREFIX = b"/v1/auth"
# The two headers by which each way is known, and those that describe a request in it.
ORIGINAL = (b"x-original-method", b"x-original-uri")
FORWARDED = (b"x-forwarded-method", b"x-forwarded-uri")
UNTOLD = (
    "No header says what the proxy was asked for; have it send x-original-method, x-original-uri "
    "and x-real-ip, as for nginx, or x-forwarded-method, -uri, -host, -proto and -for."
)
SCHEMES = ("http", "https")
METHOD = re.compile(r"[A-Z_-]{1,32}")
# Of these each proxy on the way may add a line.
LISTS = frozenset({b"x-forwarded-for", b"forwarded"})


class Proxied(Guest):
    """What a proxy was asked for, by whom."""

    __slots__ = ("_named", "_near", "client", "scheme")

    client: str

    def __init__(self, manners: Manners, exchange: Exchange, spot: Spot, near: str) -> None:
        self.manners = manners
        self.source = exchange
        self.method = spot.method
        self.path = spot.path
        self._query = spot.query
        self._near = near
        self._named = ""
        self.scheme = "http"
        self.client = self._locate().key

    def called(self, host: str, scheme: str) -> Proxied:
        """The same, for a host and a scheme that the proxy has named."""
        self._named = host
        self.scheme = scheme
        return self

    def header(self, name: str) -> str:
        """The header of this name."""
        if name == "host" and self._named:
            return self._named
        found = self.source.header(name.encode("latin-1", "replace"))
        if len(found) < 2:
            return found[0].decode("latin-1") if found else ""
        return (b"; " if name == "cookie" else b", ").join(found).decode("latin-1")

    @property
    def host(self) -> str:
        """The host that is asked for, in lower case and without its port."""
        return hostname(self.header("host"))

    def _peer(self) -> str | None:
        return self._near

    def _locate(self) -> Found:
        client = self.manners.client
        return client.find(self._near, lines(self.source, client.header))


def describe(asking: Asking, manners: Manners) -> Proxied:
    """The request that a proxy asks about; Trouble if it is not believed, or not clear."""
    peer = asking.exchange.inlet.peer
    if not manners.client.meet(peer)[1]:
        shown = f'"{peer}"' if peer else "a peer without an address"
        raise Trouble(
            403,
            f"{shown} is not among trusted_proxies; name the proxy's network there, as in client: "
            "{trusted_proxies: [10.0.0.0/8]}.",
        )
    if asking.exchange.target.startswith(PREFIX + b"/"):
        return prefixed(asking, manners)
    given = [bool(asking.exchange.header(name)) for name in (*ORIGINAL, *FORWARDED)]
    if any(given[:2]) and any(given[2:]):
        raise Muddled(
            400,
            "There are X-Original and X-Forwarded headers, which may tell of two requests; have "
            "the proxy send the one and take the other off.",
        )
    if not any(given):
        raise Trouble(400, UNTOLD)
    return original(asking, manners) if any(given[:2]) else forwarded(asking, manners)


class Muddled(Trouble):
    """What may be a client's doing, and is not to help it past a proxy that lets errors pass."""


def original(asking: Asking, manners: Manners) -> Proxied:
    """As nginx says it."""
    near = needed(asking, b"x-real-ip")
    spot = place(asking, *ORIGINAL, asking.exchange.host)
    # Who has connected to the proxy is one hop from it already.
    manners = manners._replace(client=behind(manners.client))
    found = Proxied(manners, asking.exchange, spot, near)
    return found.called("", scheme(asking))


def forwarded(asking: Asking, manners: Manners) -> Proxied:
    """As Traefik, Caddy and APISIX say it."""
    host = needed(asking, b"x-forwarded-host")
    came = needed(asking, b"x-forwarded-proto").lower()
    needed(asking, manners.client.header.encode("latin-1"))
    spot = place(asking, *FORWARDED, host.encode("latin-1"))
    found = Proxied(manners, asking.exchange, spot, asking.exchange.inlet.peer)
    # A WebSocket is a request as well, and came as those do.
    return found.called(host, {"ws": "http", "wss": "https"}.get(came, came))


def prefixed(asking: Asking, manners: Manners) -> Proxied:
    """As Envoy says it."""
    exchange = asking.exchange
    needed(asking, manners.client.header.encode("latin-1"))
    spot = spots.find(exchange.method, exchange.target.removeprefix(PREFIX), exchange.host)
    if spot is None:
        raise Muddled(400, "What follows /v1/auth is no target that rules could be asked about.")
    found = Proxied(manners, exchange, spot, exchange.inlet.peer)
    return found.called("", scheme(asking))


def place(asking: Asking, method: bytes, target: bytes, host: bytes) -> Spot:
    """What was asked for, by the headers of these names."""
    verb = needed(asking, method)
    whither = needed(asking, target)
    if METHOD.fullmatch(verb) is None:
        raise Muddled(400, f"{method.decode()} is a method such as GET, not {shown(verb)}.")
    found = spots.find(verb.encode("ascii"), whither.encode("latin-1"), host)
    if found is None:
        raise Muddled(400, f"{target.decode()} is a target such as /a?b=c, not {shown(whither)}.")
    return found


def scheme(asking: Asking) -> str:
    """How the request came to the proxy, if it says so."""
    found = sole(asking, b"x-forwarded-proto").lower()
    return found if found in SCHEMES else "http"


def needed(asking: Asking, name: bytes) -> str:
    """What a header says; Trouble if it is not there, or empty."""
    said = sole(asking, name)
    if not said:
        raise Trouble(
            400,
            f"The header {name.decode()} is missing; have the proxy send it, as told in deploy/.",
        )
    return said


def sole(asking: Asking, name: bytes) -> str:
    """What a header says that is there once, or is a list; none is the empty text."""
    found = lines(asking.exchange, name.decode("latin-1"))
    said = ", ".join(found).strip()
    if said and len(found) > 1 and name not in LISTS:
        raise Muddled(400, f"There are {len(found)} headers {name.decode()}; the proxy sends one.")
    return said


@lru_cache(16)
def behind(client: Client) -> Client:
    """Who is believed by whom a proxy has met, if proxies are counted: it is one of them itself."""
    hops = client.trusted_hops
    if not hops:
        return client
    return Client(header=client.header, trusted_hops=hops - 1, ipv4=client.ipv4, ipv6=client.ipv6)


def lines(exchange: Any, name: str) -> list[str]:
    """The values of a header."""
    return [line.decode("latin-1") for line in exchange.header(name.encode("latin-1"))]


def shown(said: str) -> str:
    return f'"{said[:100]}"'
