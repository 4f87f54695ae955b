"""The PROXY protocol, versions 1 and 2: who connected to the proxy, said before anything else.

A proxy that passes bytes on cannot add a header to them, so it begins the connection with one of
its own. Nothing in it proves where it comes from. A listener therefore either requires it, from
trusted proxies and on a port that only they reach, or never parses it: one that takes it where it
happens to come lets everybody be anybody. Whoever listens also sets a deadline for it to arrive.

Version 1 is a line, `PROXY TCP4 203.0.113.7 192.0.2.1 51000 443`; version 2 is binary. Both are
specified in HAProxy's proxy-protocol.txt.
"""

from __future__ import annotations

from typing import NamedTuple

from headgate.errors import HeadgateError
from headgate.rules.clients import address

LONGEST_LINE = 107
LONGEST_BINARY = 4096
PREFACE = b"PROXY "
SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
# The signature, the command, the family, and the length of what follows.
FIXED = 16
# What the addresses and ports of each family take: IPv4, IPv6, and paths of unix sockets.
SIZES = {1: 12, 2: 36, 3: 216}

# What an address is written with in version 1, which knows no port, brackets or zone.
ALPHABETS = {b"TCP4": b"0123456789.", b"TCP6": b"0123456789abcdefABCDEF:."}


class ProxyError(HeadgateError, ValueError):
    """What came is no header of the PROXY protocol; the connection is to be closed."""


class Proxied(NamedTuple):
    """What a proxy says of a connection that it passes on, by `kind`.

    | `kind` | the client is |
    | --- | --- |
    | `address` | `source`, who connected to `destination` |
    | `unix` | without an address: it came to the proxy by a unix socket |
    | `local` | the socket's own peer: the proxy speaks for itself, to see whether we are well |
    | `unknown` | the socket's own peer, for want of anything better |
    """

    kind: str
    source: str = ""
    source_port: int = 0
    destination: str = ""
    destination_port: int = 0


def parse(data: bytes) -> tuple[Proxied | None, int]:
    """The header that `data` begins with, and its length; None and 0 as long as there is more.

    Raises `ProxyError` as soon as it can be none. What else version 2 has to say is skipped.
    """
    if data.startswith(PREFACE):
        return _line(data)
    if data.startswith(SIGNATURE):
        return _binary(data)
    if PREFACE.startswith(data) or SIGNATURE.startswith(data):
        return None, 0
    raise ProxyError("PROXY protocol: it begins with PROXY or the signature of version 2")


def _line(data: bytes) -> tuple[Proxied | None, int]:
    newline = data.find(b"\n", 0, LONGEST_LINE)
    if newline < 0 and len(data) < LONGEST_LINE:
        return None, 0
    if newline < 0 or data[newline - 1 : newline] != b"\r":
        raise ProxyError(f"PROXY v1: the line ends in CR LF, within {LONGEST_LINE} bytes")
    kind, *words = data[len(PREFACE) : newline - 1].split(b" ")
    if kind == b"UNKNOWN":
        return Proxied("unknown"), newline + 1
    if kind not in ALPHABETS:
        raise ProxyError("PROXY v1: after PROXY comes TCP4, TCP6 or UNKNOWN")
    if len(words) != 4:
        raise ProxyError("PROXY v1: there are two addresses and two ports, a space before each")
    source, destination = (_address(kind, word) for word in words[:2])
    source_port, destination_port = map(_port, words[2:])
    return Proxied("address", source, source_port, destination, destination_port), newline + 1


def _address(kind: bytes, word: bytes) -> str:
    number = None
    # Two colons at least, or it would be IPv4 with a port.
    if not word.strip(ALPHABETS[kind]) and (kind == b"TCP4" or word.count(b":") > 1):
        number = address.parse(word.decode("ascii"))
    if number is None:
        family = "IPv4" if kind == b"TCP4" else "IPv6"
        raise ProxyError(f"PROXY v1: an address of {kind.decode()} is not {family}")
    return address.spell(number)


def _port(word: bytes) -> int:
    if not word.isdigit() or int(word) > 65535 or word != b"%d" % int(word):
        raise ProxyError("PROXY v1: a port is a number from 0 to 65535, without zeros before it")
    return int(word)


def _binary(data: bytes) -> tuple[Proxied | None, int]:
    if len(data) < FIXED:
        return None, 0
    version, command = divmod(data[12], 16)
    family, transport = divmod(data[13], 16)
    length = int.from_bytes(data[14:FIXED])
    end = FIXED + length
    if version != 2 or command > 1:
        raise ProxyError(f"PROXY v2: the command is 0x20 or 0x21, not 0x{data[12]:02x}")
    if end > LONGEST_BINARY:
        raise ProxyError(f"PROXY v2: {end} bytes are too many; the most is {LONGEST_BINARY}")
    if command == 1 and (family > 3 or transport > 2):
        raise ProxyError(f"PROXY v2: there is no family 0x{data[13]:02x}")
    known = command == 1 and family > 0 and transport > 0
    if known and length < SIZES[family]:
        raise ProxyError(f"PROXY v2: {length} bytes are too few; this family has {SIZES[family]}")
    if len(data) < end:
        return None, 0
    if not known:
        return Proxied("unknown" if command == 1 else "local"), end
    return (Proxied("unix") if family == 3 else _unpack(data[FIXED : FIXED + SIZES[family]])), end


def _unpack(block: bytes) -> Proxied:
    """Two addresses and two ports of two bytes each; the addresses have the rest."""
    size = (len(block) - 4) // 2
    ports = block[2 * size :]
    return Proxied(
        "address",
        address.spell(address.unpack(block[:size])),
        int.from_bytes(ports[:2]),
        address.spell(address.unpack(block[size : 2 * size])),
        int.from_bytes(ports[2:]),
    )
