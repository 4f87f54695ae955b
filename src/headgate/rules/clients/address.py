"""Addresses as they stand in headers, sockets and lists, and the networks that hold them.

Every address is one number of 128 bits. An IPv4 address is the number of its mapped form
`::ffff:0:0/96`, so that a dual-stack socket and a plain one tell of the same client. The IPv4
address in NAT64's `64:ff9b::/96` is taken out as well, unless it is one of those that a network
has to itself: RFC 6052 lets no translator write these, so whoever does is not the neighbour that a
list of trusted networks means. 6to4 and Teredo stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from json import dumps
from socket import AF_INET, inet_ntop, inet_pton

# No address is longer, with brackets, zone and port; what is longer is not looked at.
LONGEST = 100
REMEMBERED = 4096

# What stands above the last 32 bits of an IPv4 address: mapped, and translated.
MAPPED = 0xFFFF
NAT64 = 0x64FF9B << 64
IPV4 = 0xFFFF_FFFF
EVERY = (1 << 128) - 1

DIGITS = frozenset("0123456789")
Network = str | IPv4Network | IPv6Network | IPv4Address | IPv6Address
OBFUSCATED = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-")


def parse(text: str) -> int | None:
    """The number of an address, whatever port, brackets or zone it has; None if it is none."""
    return _read(text) if len(text) <= LONGEST else None


def unpack(packed: bytes) -> int:
    """The number of an address of 4 or 16 bytes, as sockets have it."""
    number = int.from_bytes(packed)
    return MAPPED << 32 | number if len(packed) == 4 else _plain(number)


def spell(number: int) -> str:
    """An address as it is written: IPv4 in four numbers, IPv6 in lower case and as RFC 5952 has it.

    One address has one spelling.
    """
    if number >> 32 == MAPPED:
        return inet_ntop(AF_INET, (number & IPV4).to_bytes(4, "big"))
    return str(IPv6Address(number))


def group(address: str, ipv4: int = 32, ipv6: int = 64) -> str:
    """The key of those who share the first bits of an address: `203.0.113.7`, `2001:db8::/64`.

    Whoever has one IPv6 address has the 2**64 beside it, so they count as one.
    """
    number = parse(address)
    if number is None:
        raise ValueError("what is to be grouped is no address; try 203.0.113.7 or 2001:db8::1")
    return cluster(number, ipv4, ipv6)


def cluster(number: int, ipv4: int, ipv6: int) -> str:
    """`group`, for an address that is a number already."""
    size, prefix = (32, ipv4) if number >> 32 == MAPPED else (128, ipv6)
    if prefix == size:
        return spell(number)
    return f"{spell(number & _mask(size - prefix))}/{prefix}"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Networks:
    """Networks such as `["10.0.0.0/8", "2001:db8::/32", "192.0.2.1"]`, and who is in them.

    `cidrs` has them as they are best written, each once. IPv4 is in IPv4 networks only, in
    whatever form it comes: `::/0` is all of IPv6 and nothing else.
    """

    cidrs: tuple[str, ...]
    # By the mask that is applied, for IPv4 and for IPv6: asking costs as much as there are
    # lengths, however many networks there are.
    _ipv4: dict[int, set[int]] = field(compare=False)
    _ipv6: dict[int, set[int]] = field(compare=False)

    def __init__(self, cidrs: Iterable[Network]) -> None:
        if isinstance(cidrs, str) or not isinstance(cidrs, Iterable):
            raise TypeError(f'networks are a list such as ["10.0.0.0/8"], not {cidrs!r}')
        found = dict.fromkeys(map(_network, cidrs))
        tables: dict[int, dict[int, set[int]]] = {32: {}, 128: {}}
        for _, size, first, mask in found:
            tables[size].setdefault(mask, set()).add(first)
        object.__setattr__(self, "cidrs", tuple(cidr for cidr, *_ in found))
        object.__setattr__(self, "_ipv4", tables[32])
        object.__setattr__(self, "_ipv6", tables[128])

    def holds(self, address: str) -> bool:
        """Whether the address is in one of the networks; what is no address is in none."""
        number = parse(address)
        return number is not None and self.cover(number)

    def cover(self, number: int) -> bool:
        """`holds`, for an address that is a number already."""
        table = self._ipv4 if number >> 32 == MAPPED else self._ipv6
        for mask, firsts in table.items():  # noqa: SIM110 - any() takes twice as long
            if number & mask in firsts:
                return True
        return False

    def __bool__(self) -> bool:
        return bool(self.cidrs)

    def __repr__(self) -> str:
        return f"Networks({dumps(self.cidrs)})"


def _network(cidr: Network) -> tuple[str, int, int, int]:
    """A network as it is best written, the bits of its family, its first address and its mask."""
    if not isinstance(cidr, Network):
        raise TypeError(f'a network is a str such as "10.0.0.0/8", not {cidr!r}')
    cidr = str(cidr)
    address, slash, length = cidr.partition("/")
    size = 128 if ":" in address else 32
    number = None if "%" in address else _ipv6(address) if size == 128 else dotted(address)
    if number is None:
        raise ValueError(f'"{cidr}" is no network; try one such as 10.0.0.0/8 or 2001:db8::/32')
    prefix = _prefix(cidr, length, size) if slash else size
    mask = _mask(size - prefix)
    first = number & mask
    if size == 128 and prefix >= 96 and number >> 32 in (MAPPED, NAT64):
        plain = spell(MAPPED << 32 | first & IPV4)
        hint = plain if prefix == 128 else f"{plain}/{prefix - 96}"
        raise ValueError(f'"{cidr}" is IPv4 in the guise of IPv6; try {hint}')
    canonical = spell(first) if prefix == size else f"{spell(first)}/{prefix}"
    if number != first:
        raise ValueError(f'"{cidr}" has bits set beyond its prefix; try {canonical}')
    return canonical, size, first, mask


def _prefix(cidr: str, length: str, size: int) -> int:
    # No zero before it: /08 is 8 to one reader and an error to another.
    spelled = len(length) <= 3 and DIGITS.issuperset(length)
    if not spelled or length != (length.lstrip("0") or "0") or int(length) > size:
        raise ValueError(f'"{cidr}" has no good prefix; after the / is a number from 0 to {size}')
    return int(length)


def _mask(free: int) -> int:
    return EVERY ^ ((1 << free) - 1)


@lru_cache(REMEMBERED)
def _read(text: str) -> int | None:
    if text.startswith("["):
        address, bracket, rest = text[1:].partition("]")
        number = _ipv6(address) if bracket and (not rest or _port(rest)) else None
    elif text.count(":") > 1:
        number = _ipv6(text)
    else:
        address, colon, rest = text.partition(":")
        number = dotted(address) if not colon or _port(colon + rest) else None
    return None if number is None else _plain(number)


def _port(text: str) -> bool:
    """Whether it is a colon and a port, in digits or, as RFC 7239 allows, a name for one."""
    colon, port = text[:1], text[1:]
    if colon != ":":
        return False
    if port.startswith("_"):
        return len(port) > 1 and OBFUSCATED.issuperset(port)
    return 0 < len(port) <= 5 and DIGITS.issuperset(port)


def dotted(text: str) -> int | None:
    """The number of an IPv4 address that is four numbers and nothing else; None if it is none."""
    # A number that begins with 0 is octal to some and decimal to others; here it is neither.
    try:
        return MAPPED << 32 | int.from_bytes(inet_pton(AF_INET, text), "big")
    except (OSError, ValueError):
        return None


def _ipv6(text: str) -> int | None:
    try:
        return int(IPv6Address(text))
    except ValueError:
        return None


def _plain(number: int) -> int:
    """The IPv4 address that an IPv6 address stands for, or the address itself."""
    if number >> 32 != NAT64:
        return number
    inner = MAPPED << 32 | number & IPV4
    return number if OWN.cover(inner) else inner


# What no translator may write, because every network has its own of them.
OWN = Networks(
    [
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.168.0.0/16",
    ]
)
