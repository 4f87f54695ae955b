"""Asked: the request that a command line describes, as a gateway would have it."""

from __future__ import annotations

from typing import Any

from headgate.explain.hops import Hop, Way, follow
from headgate.rules.clients.client import Client
from headgate.rules.matching.request import Request
from headgate.rules.model.rules import Rules

# Who has connected, if nobody says it.
USUAL = "127.0.0.1"


class Asked(Request):
    """A request of which it is known whether a proxy that is believed has brought it."""

    __slots__ = ("_vouched",)

    def __init__(self, vouched: bool, *said: Any, **options: Any) -> None:
        super().__init__(*said, **options)
        self._vouched = vouched

    @property
    def vouched(self) -> bool:
        """Whether headers were written by a proxy that is believed."""
        return self._vouched


def asked(said: dict[str, Any], rules: Rules) -> tuple[Request, Way]:
    """The request, and how its client was found."""
    method, path, query = said["request"]
    headers = [*said["headers"]]
    if said["host"]:
        headers.append(("host", said["host"]))
    way = found(said, rules.client)
    peer = said["peer"] or (USUAL if not said["client"] else "")
    vouched = bool(peer) and rules.client.meet(peer)[1]
    request = Asked(
        vouched, method, path, headers, query, scheme=said["scheme"], client=way.key,
        address=way.address, user=said["user"], plan=said["plan"],
    )  # fmt: skip
    return request, way


def found(said: dict[str, Any], client: Client) -> Way:
    """Who the client is: as it was said, or as the rules find it."""
    if said["client"]:
        near, _ = Client(ipv4=client.ipv4, ipv6=client.ipv6).meet(said["client"])
        if near.flaw or not near.address:
            raise ValueError(f'--client is an address such as 203.0.113.7, not "{said["client"]}"')
        hop = Hop(near.address, "--client", False, "is the client, as you say")
        return Way(near.address, near.key, "", (hop,))
    peer = said["peer"] or USUAL
    if client.meet(peer)[0].flaw:
        raise ValueError(f'--peer is an address such as 10.0.0.1, not "{peer}"')
    lines = [value for name, value in said["headers"] if name.lower() == client.header]
    return follow(client, peer, lines)
