"""Origins: what a server is told of where a request comes from.

What a client says of itself is not passed on. A proxy that is believed has said who came to it, and
is added to those it names.
"""

from __future__ import annotations

from headgate.adapters.arrivals import Manners
from headgate.gateway.wire.exchange import Exchange
from headgate.gateway.wire.inlet import Inlet

END = b"\r\n"


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
    said = peer(inlet)
    proto = joined(exchange, b"x-forwarded-proto") or inlet.scheme.encode("ascii")
    host = joined(exchange, b"x-forwarded-host") or exchange.host
    lines = []
    header = manners.client.header
    if header == "forwarded":
        before = joined(exchange, b"forwarded")
        here = b"for=%b;proto=%b" % (node(said), inlet.scheme.encode("ascii"))
        lines += [b"forwarded: ", before + b", " + here if before else here, END]
        proto, host = inlet.scheme.encode("ascii"), exchange.host
    if header == "x-forwarded-for":
        before = joined(exchange, b"x-forwarded-for")
    else:
        # Others may have written what the proxy does not.
        before = exchange.request.address.encode("ascii")
        before = b"" if before == said else before
    lines += [b"x-forwarded-for: ", before + b", " + said if before else said, END]
    lines += [b"x-forwarded-proto: ", proto, END, b"x-forwarded-host: ", host, END]
    return b"".join(lines)


def peer(inlet: Inlet) -> bytes:
    """The address of who has connected."""
    found: str = inlet.client.address
    return found.encode("ascii") or b"unknown"


def node(address: bytes) -> bytes:
    """An address as RFC 7239 writes it."""
    return b'"[%b]"' % address if b":" in address else address


def joined(exchange: Exchange, name: bytes) -> bytes:
    """The lines of one name as one."""
    return b", ".join(exchange.header(name))
