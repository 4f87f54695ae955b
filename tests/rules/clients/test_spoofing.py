"""Whatever is sent, nobody is taken for somebody else."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headgate.rules.clients.client import Client, Found
from headgate.rules.clients.forwarded import LONGEST, MOST

HEADERS = ["x-forwarded-for", "forwarded", "cf-connecting-ip"]
PROXIES = ["10.0.0.0/8", "2001:db8:ffff::/48"]
CLIENTS = [
    Client(trusted_proxies=proxies, header=header)
    for header in HEADERS
    for proxies in (PROXIES, [], ["192.0.2.0/24"])
]
FLAWS = {"", "garbage", "too_long", "too_many", "too_few_hops", "unknown"}

strangers = st.one_of(
    st.integers(0x0B000000, 0xFFFFFFFF).map(lambda number: str(IPv4Address(number))),
    st.integers(0x2A << 120, 2**128 - 1).map(lambda number: str(IPv6Address(number))),
).filter(lambda address: not address.startswith("192.0.2."))
proxies = st.one_of(
    st.integers(0x0A000000, 0x0AFFFFFF).map(lambda number: str(IPv4Address(number))),
    st.integers(0, 2**80 - 1).map(lambda low: str(IPv6Address(0x20010DB8FFFF << 80 | low))),
)
# What somebody might try: anything, pieces of what is read, and whole chains.
wiles = st.one_of(
    st.text(),
    st.text('for=unknow_10.26;,"\\ \t[]:', max_size=60),
    st.lists(
        strangers | proxies | st.sampled_from(["unknown", "_x", "", '"', "::ffff:10.0.0.1"])
    ).map(", ".join),
    st.lists(strangers | proxies).map(lambda all_of: ",".join(f'for="{one}"' for one in all_of)),
    st.text(max_size=40).map(lambda piece: (piece or "x") * 200),
)


@given(strangers, st.lists(wiles, max_size=4))
def test_who_is_not_trusted_is_who_connects(peer: str, lines: list[str]) -> None:
    for client in CLIENTS:
        assert client.find(peer, lines) == client.find(peer, [])
        assert client.find(peer, lines).address == peer


@st.composite
def chains(draw: st.DrawFn) -> tuple[str, list[str]]:
    """An honest client, and the proxies it came by; the last of them is the peer."""
    return draw(strangers), draw(st.lists(proxies, min_size=1, max_size=4))


@given(chains(), wiles, st.booleans())
@pytest.mark.parametrize("header", ["x-forwarded-for", "forwarded"])
def test_what_is_prepended_to_an_honest_chain_changes_nothing(
    header: str, chain: tuple[str, list[str]], wile: str, in_one: bool
) -> None:
    address, hops = chain
    honest = [written(header, one) for one in [address, *hops[:-1]]]
    lines = [", ".join([wile, *honest])] if in_one else [wile, *honest]
    text = ", ".join(lines)
    assume(len(text) <= LONGEST and text.count(",") < MOST)

    for client in (
        Client(trusted_proxies=PROXIES, header=header),
        Client(trusted_hops=len(hops), header=header),
    ):
        found = client.find(hops[-1], lines)
        assert found == client.find(hops[-1], honest)
        assert (found.address, found.flaw) == (address, "")


@given(chains(), st.integers(MOST, 100), st.booleans())
def test_who_sends_too_much_is_the_proxy_and_not_who_they_say(
    chain: tuple[str, list[str]], entries: int, long: bool
) -> None:
    address, hops = chain
    wile = "x" * LONGEST if long else ", ".join(["6.6.6.6"] * entries)
    found = Client(trusted_proxies=PROXIES).find(hops[-1], [wile, address, *hops[:-1]])

    assert (found.address, found.flaw) == (hops[-1], "too_long" if long else "too_many")


@given(chains(), st.sampled_from(["", "unknown", "_hidden", "1.2.3", "01.2.3.4"]), st.data())
def test_nobody_gets_past_garbage(
    chain: tuple[str, list[str]], garbage: str, data: st.DataObject
) -> None:
    address, hops = chain
    place = data.draw(st.integers(0, len(hops) - 1))
    entries = [address, *hops[:-1]]
    entries[place] = garbage
    found = Client(trusted_proxies=PROXIES).find(hops[-1], ["6.6.6.6", *entries])

    assert found.address == hops[place]
    assert found.flaw == ("unknown" if garbage in ("unknown", "_hidden") else "garbage")


@given(st.none() | st.text() | proxies, st.lists(wiles, max_size=5), st.integers(0, 3))
def test_nothing_that_is_sent_makes_finding_fail(
    peer: str | None, lines: list[str], hops: int
) -> None:
    for header in HEADERS:
        client = Client(trusted_proxies=PROXIES, header=header)
        counting = Client(trusted_hops=min(hops, 1 if header == HEADERS[2] else 3), header=header)
        for found in (client.find(peer, lines), counting.find(peer, lines)):
            assert isinstance(found, Found)
            assert found.flaw in FLAWS
            assert found.key
            assert bool(found.address) == (found.key != "local")


@given(st.lists(st.binary(max_size=200), max_size=4))
def test_no_bytes_make_finding_fail(values: list[bytes]) -> None:
    lines = [value.decode("latin-1") for value in values]
    for client in CLIENTS:
        assert client.find("10.0.0.1", lines).flaw in FLAWS


@given(strangers, st.integers(0, 65535))
@pytest.mark.parametrize("header", HEADERS)
def test_a_key_is_the_same_for_all_forms_of_an_address(
    header: str, address: str, port: int
) -> None:
    forms = [
        address,
        address.upper(),
        f"[{address}]:{port}" if ":" in address else f"{address}:{port}",
    ]
    if ":" in address:
        forms += [IPv6Address(address).exploded, f"{address}%eth0", f"[{address}]"]
    else:
        forms += [f"::ffff:{address}", f"[::FFFF:{address}]:{port}"]
    client = Client(trusted_proxies=["10.0.0.1"], header=header)

    heard = {client.find("10.0.0.1", [written(header, form)]) for form in forms}
    seen = {client.find(form, []) for form in forms}
    assert heard == seen
    assert len(seen) == 1


def written(header: str, address: str) -> str:
    return f'for="{address}"' if header == "forwarded" else address
