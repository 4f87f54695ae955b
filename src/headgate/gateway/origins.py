"""Origins: what a server is told of where a request comes from.

What a client says of itself is not passed on. A proxy that is believed has said who came to it, and
is added to those it names.
"""

from __future__ import annotations

from headgate.adapters.arrivals import Manners
from headgate.wire.exchange import Exchange
from headgate.wire.inlet import Inlet


def introduce(inlet: Inlet, manners: Manners) -> None:
    """See who a client is, and what servers are told of it, as the rules will have it."""
    inlet.manners = manners
    inlet.client, inlet.trusted = manners.client.meet(inlet.peer)
    inlet.key = inlet.client.key
    said = peer(inlet)
    proto = inlet.scheme.encode("ascii")
    inlet.forwarded = b"x-forwarded-for: %b\r\nx-forwarded-proto: %b\r\n" % (said, proto)
    if manners.client.header == "forwarded":
        inlet.forwarded += b"forwarded: for=%b;proto=%b\r\n" % (node(said), proto)


def relay(exchange: Exchange, manners: Manners) -> bytes:
    """The lines about a request that a proxy has brought which is believed."""
    inlet = exchange.inlet
    told = hearsay(exchange)
    said, here = peer(inlet), inlet.scheme.encode("ascii")
    proto = told.get(b"x-forwarded-proto") or here
    host = told.get(b"x-forwarded-host") or exchange.host
    first = b""
    header = manners.client.header
    if header == "forwarded":
        proto, host = exchange.request.scheme.encode("ascii"), exchange.host
        first = after(told.get(b"forwarded"), b"for=%b;proto=%b" % (node(said), here))
        first = b"forwarded: %b\r\n" % first
    if header == "x-forwarded-for":
        before = told.get(b"x-forwarded-for")
    else:
        # Others may have written what the proxy does not.
        before = exchange.request.address.encode("ascii")
        before = b"" if before == said else before
    return b"%bx-forwarded-for: %b\r\nx-forwarded-proto: %b\r\nx-forwarded-host: %b\r\n" % (
        first, after(before, said), proto, host
    )  # fmt: skip


def hearsay(exchange: Exchange) -> dict[bytes, bytes]:
    """What a request says of where it comes from, the lines of one name as one."""
    told: dict[bytes, bytes] = {}
    for name, value in exchange.asides or ():
        lowered = name.lower()
        told[lowered] = after(told.get(lowered), value)
    return told


def after(before: bytes | None, last: bytes) -> bytes:
    """A list with one more at its end."""
    return b"%b, %b" % (before, last) if before else last


def peer(inlet: Inlet) -> bytes:
    """The address of who has connected."""
    found: str = inlet.client.address
    return found.encode("ascii") or b"unknown"


def node(address: bytes) -> bytes:
    """An address as RFC 7239 writes it."""
    return b'"[%b]"' % address if b":" in address else address
