"""Client: who asks. Never who they say they are, unless a proxy of ours says so too.

    Client()                                                    the socket's other end
    Client(trusted_proxies=["10.0.0.0/8"])                      behind proxies of that network
    Client(trusted_proxies=["10.0.0.0/8"], header="forwarded")  which speak RFC 7239
    Client(trusted_hops=1)                                      behind one proxy, wherever it is

A header is a line that anybody can send. It is believed only from a trusted peer, one header and no
other, and from the right: each proxy adds at the end whom it saw. The first address from the right
that is not of a trusted proxy is the client. What stands left of it is hearsay and not looked at.

Where there is no address in the place of one, the reading ends: the client is then the proxy that
was nearest, and `flaw` says why. Nobody gets past garbage to an address of their own choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache, partial
from json import dumps
from typing import NamedTuple

from headgate.measures import whole
from headgate.rules.clients.address import (
    LONGEST,
    REMEMBERED,
    Network,
    Networks,
    cluster,
    dotted,
    parse,
    spell,
)
from headgate.rules.clients.forwarded import MOST, TOKEN, UNKNOWN, excess, protocol, unwind

LISTS = ("forwarded", "x-forwarded-for")
LOCAL = "local"
# How servers name a peer that came by a socket in the file system, or by one without a name.
UNIX = ("unix:", "/", "@", "\0")


class Found(NamedTuple):
    """Who the client is.

    `address` is the whole address, `""` if there is none. `key` is what counts together: the
    address or its network, or `local` for who came by a unix socket or from within the process.
    `flaw` is what was wrong with the header, `""` if nothing was: `garbage`, `too_long`,
    `too_many`, `too_few_hops` or `unknown`.
    """

    address: str
    key: str
    flaw: str = ""


NOBODY = Found("", "")


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Client:
    """Finds the client of a request, from the socket's other end and one header.

    `trusted_proxies` are networks whose word is taken, as `"10.0.0.0/8"` or `"192.0.2.1"`. `header`
    is what they write: `x-forwarded-for`, `forwarded`, or the name of one that has a single
    address, such as `cf-connecting-ip`; the proxy must then replace what others sent under that
    name. `ipv4` and `ipv6` say how many leading bits of an address make one key.

    `trusted_hops` is for proxies whose addresses are not known: the client is that many places from
    the right. If `trusted_proxies` are given too, the peer must be one of them. If not, whoever
    connects is taken for a proxy, which is right only where nobody can reach the app past it: who
    can, or who meets fewer proxies than were counted, chooses their own address.
    """

    trusted_proxies: tuple[str, ...]
    header: str
    trusted_hops: int
    ipv4: int
    ipv6: int
    _networks: Networks = field(compare=False)
    # Where the latest peers are, and whether they are believed; emptied when it is full.
    _peers: dict[str | None, tuple[Found, bool]] = field(compare=False)

    def __init__(
        self,
        *,
        trusted_proxies: Iterable[Network] = (),
        header: str = "x-forwarded-for",
        trusted_hops: int = 0,
        ipv4: int = 32,
        ipv6: int = 64,
    ) -> None:
        networks = _trusted(trusted_proxies)
        header = _header(header)
        hops = whole("client", "trusted_hops", trusted_hops, 0, MOST)
        if hops > 1 and header not in LISTS:
            raise ValueError(f"client: trusted_hops is 0 or 1 with {header}, which has one address")
        ipv4 = whole("client", "ipv4", ipv4, 1, 32)
        ipv6 = whole("client", "ipv6", ipv6, 1, 128)
        values: tuple[object, ...] = (networks.cidrs, header, hops, ipv4, ipv6, networks, {})
        for slot, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, slot.name, value)

    def find(self, peer: str | None, lines: Sequence[str]) -> Found:
        """The client, where `peer` is the socket's other end and `lines` are the header's values.

        Never fails, whatever the lines are. Of a peer that is not trusted they are not looked at.
        """
        found, trusted = self.meet(peer)
        return self.follow(found, lines) if trusted else found

    def meet(self, peer: str | None) -> tuple[Found, bool]:
        """Who is at the socket's other end, and whether what they say of others is believed."""
        return self._peers.get(peer) or self._judge(peer)

    def follow(self, nearest: Found, lines: Sequence[str]) -> Found:
        """Go from proxy to proxy, and back to the nearest one from where there is no way on."""
        found = self._near(lines[0]) if len(lines) == 1 else None
        return self._trace(nearest, lines)[0] if found is None else found

    def scheme(self, lines: Sequence[str]) -> str:
        """How the client came to the first proxy that is believed, by what `Forwarded` says of it.

        That is `http` or `https`, or nothing where it is not said.
        """
        passed = self._trace(NOBODY, lines)[1]
        return protocol(", ".join(lines), passed) if passed else ""

    def _near(self, text: str) -> Found | None:
        # Most proxies name one client, by its IPv4 address, which has no other spelling.
        if self.ipv4 < 32 or self.trusted_hops > 1 or self.header == "forwarded":
            return None
        number = dotted(text)
        if number is None or not (self.trusted_hops or not self._networks.cover(number)):
            return None
        return Found(text, text)

    def _trace(self, nearest: Found, lines: Sequence[str]) -> tuple[Found, int]:
        # Who it is, and how many from the right that is said.
        text = lines[0] if len(lines) == 1 else ", ".join(lines)
        flaw = excess(text)
        if flaw:
            return nearest._replace(flaw=flaw), 0
        hops = self.trusted_hops
        passed = 0
        for node in unwind(self.header, text) if lines else ():
            # Cut, so that what is remembered is short; it is too long to be an address still.
            found, number = _node(node[: LONGEST + 1], self.ipv4, self.ipv6)
            if number is None:
                return nearest._replace(flaw=found.flaw), passed
            nearest = found
            passed += 1
            if passed == hops or not (hops or self._networks.cover(number)):
                return nearest, passed
        return (nearest._replace(flaw="too_few_hops") if passed < hops else nearest), passed

    def _judge(self, peer: str | None) -> tuple[Found, bool]:
        found, number = _peer(peer, self.ipv4, self.ipv6)
        trusted = self.trusted_hops > 0
        if self.trusted_proxies:
            trusted = number is not None and self._networks.cover(number)
        if len(self._peers) >= REMEMBERED:
            self._peers.clear()
        self._peers[peer] = found, trusted
        return found, trusted

    def __reduce__(self) -> tuple[partial[Client], tuple[()]]:
        # What is remembered of clients goes nowhere.
        options = {slot.name: getattr(self, slot.name) for slot in fields(self) if slot.compare}
        return partial(Client, **options), ()

    def __repr__(self) -> str:
        usual = Client()
        said = [
            f"{slot.name}={dumps(getattr(self, slot.name))}"
            for slot in fields(self)
            if slot.compare and getattr(self, slot.name) != getattr(usual, slot.name)
        ]
        return f"Client({', '.join(said)})"


def _trusted(cidrs: Iterable[Network]) -> Networks:
    try:
        networks = Networks(cidrs)
    except (TypeError, ValueError) as problem:
        raise type(problem)(f"client: trusted_proxies: {problem}") from None
    for cidr in networks.cidrs:
        if cidr.endswith("/0"):
            raise ValueError(
                f'client: trusted_proxies: "{cidr}" trusts everybody, who may then be anybody; '
                "name the networks of the proxies, or count them with trusted_hops"
            )
    return networks


def _header(name: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f'client: header is a str such as "x-forwarded-for", not {name!r}')
    lowered = name.lower()
    if "_" in name:
        raise ValueError(
            f'client: header: "{name}" has an underscore, which many servers take for a hyphen, so '
            f"that anybody can send it past a proxy; try {lowered.replace('_', '-')}"
        )
    if not name or not TOKEN.issuperset(name):
        raise ValueError(
            f'client: header: "{name}" is no name of a header; try x-forwarded-for or forwarded'
        )
    return lowered


def _peer(peer: str | None, ipv4: int, ipv6: int) -> tuple[Found, int | None]:
    """Where the socket's other end is; `local` if it has no address."""
    if not peer or peer.startswith(UNIX):
        return Found("", LOCAL), None
    found, number = _node(peer, ipv4, ipv6)
    return (Found("", LOCAL, "garbage") if number is None else found), number


@lru_cache(REMEMBERED)
def _node(text: str, ipv4: int, ipv6: int) -> tuple[Found, int | None]:
    """Where a node of a header is, and its number; a flaw if it has no address."""
    number = parse(text)
    if number is not None:
        return Found(spell(number), cluster(number, ipv4, ipv6)), number
    # RFC 7239 has two ways not to tell: that word, and names that begin with an underscore.
    hidden = text.startswith("_") or text.partition(":")[0].lower() == UNKNOWN
    return Found("", "", "unknown" if hidden else "garbage"), None
