"""How a client was found is told as it is found, by whatever is believed and whatever was sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.explain.hops import Hop, follow
from headgate.rules import Client

PROXY, OTHER, CLIENT = "10.0.0.1", "10.0.0.2", "203.0.113.7"
HERS = Client(trusted_proxies=["10.0.0.0/8"])
NODES = st.sampled_from(
    [PROXY, OTHER, CLIENT, "::1", "unknown", "_x", "garbage", "", "203.0.113.7:1"]
)
CLIENTS = st.builds(
    Client,
    trusted_proxies=st.sampled_from([(), ("10.0.0.0/8",), ("10.0.0.1", "::1")]),
    header=st.sampled_from(["x-forwarded-for", "forwarded"]),
    trusted_hops=st.integers(0, 3),
)


def spelled(client: Client, nodes: list[str]) -> list[str]:
    mark = "for=" if client.header == "forwarded" else ""
    return [", ".join(f'{mark}"{one}"' if mark else one for one in nodes)] if nodes else []


@given(CLIENTS, st.sampled_from([PROXY, CLIENT, "::1", "unix:", None]), st.lists(NODES, max_size=5))
def test_who_is_told_of_is_who_is_found(client: Client, peer: str | None, nodes: list[str]) -> None:
    lines = spelled(client, nodes)
    way = follow(client, peer, lines)
    named = [hop for hop in way.hops if "the client" in hop.why]

    assert (way.address, way.key, way.flaw) == client.find(peer, lines)
    # Whoever is passed on the way is believed, and nobody after the one who is not.
    believed = [hop.believed for hop in way.hops]
    assert believed == sorted(believed, reverse=True)
    if way.flaw == "" and len(named) == 1 and named[0].address not in ("", "local"):
        assert client.find(named[0].address, ())[0] == way.address


@pytest.mark.parametrize(
    ("client", "peer", "lines", "hops"),
    [
        (
            HERS, PROXY, [f"1.1.1.1, {CLIENT}, {OTHER}"],
            [
                Hop(PROXY, "the connection", True, "is a proxy: trusted_proxies has 10.0.0.0/8"),
                Hop(OTHER, "x-forwarded-for", True, "is a proxy: trusted_proxies has 10.0.0.0/8"),
                Hop(CLIENT, "x-forwarded-for", False,
                    "is no proxy that trusted_proxies names: the client"),
                Hop("1.1.1.1", "x-forwarded-for", False, "is hearsay, and is not looked at"),
            ],
        ),
        (
            HERS, CLIENT, ["1.1.1.1"],
            [
                Hop(CLIENT, "the connection", False,
                    "is no proxy that trusted_proxies names: the client"),
                Hop("1.1.1.1", "x-forwarded-for", False, "is hearsay, and is not looked at"),
            ],
        ),
        (
            Client(), CLIENT, [],
            [Hop(CLIENT, "the connection", False, "is the client, for no proxy is trusted")],
        ),
        (
            Client(trusted_hops=2), CLIENT, ["1.1.1.1"],
            [
                Hop(CLIENT, "the connection", True,
                    "is believed, whoever it is: 2 proxies are counted, none named"),
                Hop("1.1.1.1", "x-forwarded-for", True,
                    "is a proxy: trusted_hops counts 2 of them"),
                Hop("", "x-forwarded-for", False,
                    "has fewer addresses than there are proxies; the first of them is the client"),
            ],
        ),
        (
            HERS, PROXY, ["unknown"],
            [
                Hop(PROXY, "the connection", True, "is a proxy: trusted_proxies has 10.0.0.0/8"),
                Hop("unknown", "x-forwarded-for", False,
                    "does not say who it is, so the reading ends; the nearest before it is the "
                    "client"),
            ],
        ),
    ],
)  # fmt: skip
def test_each_hop_is_believed_or_not_and_it_is_said_why(
    client: Client, peer: str, lines: list[str], hops: list[Hop]
) -> None:
    assert [*follow(client, peer, lines).hops] == hops
