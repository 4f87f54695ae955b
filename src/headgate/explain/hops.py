"""Hops: how the client of a request was found, from proxy to proxy, and why no further.

What is told agrees with what `Client.find` answers; it is only slower, and says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from headgate.rules.clients.address import Networks, parse
from headgate.rules.clients.client import Client
from headgate.rules.clients.forwarded import excess, unwind

# So much that nobody looked at is shown.
MOST = 5
LONGEST = 64
FLAWS = {
    "garbage": "is no address, so the reading ends; the nearest before it is the client",
    "unknown": "does not say who it is, so the reading ends; the nearest before it is the client",
    "too_long": "is too long to be read, so the nearest is the client",
    "too_many": "names too many to be read, so the nearest is the client",
    "too_few_hops": "has fewer addresses than there are proxies; the first of them is the client",
    "nothing": "is not there, so whoever has connected is the client",
}


class Hop(NamedTuple):
    """One that the request came through: `said` by whom, and whether its word is believed."""

    address: str
    said: str
    believed: bool
    why: str


class Way(NamedTuple):
    """Who the client is, what counts together with it, what was wrong, and how one got there."""

    address: str
    key: str
    flaw: str
    hops: tuple[Hop, ...]


def follow(client: Client, peer: str | None, lines: Sequence[str]) -> Way:
    """How `client` finds who asks; `lines` are the values of its header."""
    found = client.find(peer, lines)
    return Way(found.address, found.key, found.flaw, (*hops(client, peer, lines),))


def hops(client: Client, peer: str | None, lines: Sequence[str]) -> Iterator[Hop]:
    """One after another, from the nearest."""
    _, trusted = client.meet(peer)
    yield Hop(peer or "local", "the connection", trusted, judged(client, peer, trusted))
    text = ", ".join(lines)
    if not lines:
        if trusted and client.trusted_hops:
            yield Hop("", client.header, False, FLAWS["nothing"])
        return
    if not trusted:
        yield from hearsay(client, unwind(client.header, text))
        return
    flaw = excess(text)
    if flaw:
        yield Hop("", client.header, False, f"the header {FLAWS[flaw]}")
        return
    yield from read(client, text)


def read(client: Client, text: str) -> Iterator[Hop]:
    """Those that the header names, from the right, as far as it is read, and a few of the rest."""
    networks = Networks(client.trusted_proxies)
    nodes = unwind(client.header, text)
    for passed, node in enumerate(nodes, 1):
        number = parse(node)
        shown = node[:LONGEST]
        if number is None:
            hidden = node.startswith("_") or node.partition(":")[0].lower() == "unknown"
            yield Hop(shown, client.header, False, FLAWS["unknown" if hidden else "garbage"])
            break
        if passed == client.trusted_hops:
            why = f"is number {passed} from the right, as trusted_hops has it: the client"
            yield Hop(shown, client.header, False, why)
            break
        if not client.trusted_hops and not networks.cover(number):
            why = "is no proxy that trusted_proxies names: the client"
            yield Hop(shown, client.header, False, why)
            break
        yield Hop(shown, client.header, True, passing(client, node))
    else:
        if client.trusted_hops:
            yield Hop("", client.header, False, FLAWS["too_few_hops"])
    yield from hearsay(client, nodes)


def hearsay(client: Client, nodes: Iterator[str]) -> Iterator[Hop]:
    """What stands further left: anybody may have written it."""
    for node in islice(nodes, MOST):
        yield Hop(node[:LONGEST], client.header, False, "is hearsay, and is not looked at")


def judged(client: Client, peer: str | None, trusted: bool) -> str:
    """Why the word of who has connected is taken, or not."""
    if trusted and client.trusted_proxies:
        return passing(client, peer or "")
    if trusted:
        return f"is believed, whoever it is: {client.trusted_hops} proxies are counted, none named"
    if client.trusted_proxies:
        return "is no proxy that trusted_proxies names: the client"
    return "is the client, for no proxy is trusted"


def passing(client: Client, address: str) -> str:
    """Why it is taken for a proxy."""
    network = next((one for one in client.trusted_proxies if Networks([one]).holds(address)), "")
    if network:
        return f"is a proxy: trusted_proxies has {network}"
    return f"is a proxy: trusted_hops counts {client.trusted_hops} of them"
