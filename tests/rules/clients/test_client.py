"""The client is the socket's other end, unless a trusted proxy says in its place who it is."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError
from ipaddress import IPv4Network
from typing import Any

import pytest

from headgate.rules.clients.address import REMEMBERED, Network
from headgate.rules.clients.client import Client, Found

PROXY = "10.0.0.1"
BEHIND = Client(trusted_proxies=["10.0.0.0/8", "2001:db8:ffff::/48"])
SPEAKING = Client(trusted_proxies=["10.0.0.0/8"], header="forwarded")
CLOUD = Client(trusted_proxies=["10.0.0.0/8"], header="cf-connecting-ip")


def alone(address: str, flaw: str = "") -> Found:
    """Found, where the address is its own key."""
    return Found(address, address, flaw)


# peer, found
STRANGERS = [
    ("203.0.113.7", alone("203.0.113.7")),
    ("203.0.113.7:5000", alone("203.0.113.7")),
    ("::ffff:203.0.113.7", alone("203.0.113.7")),
    ("64:ff9b::203.0.113.7", alone("203.0.113.7")),
    ("127.0.0.1", alone("127.0.0.1")),
    ("2001:DB8::0:7", Found("2001:db8::7", "2001:db8::/64")),
    ("fe80::7%eth0", Found("fe80::7", "fe80::/64")),
    (None, Found("", "local")),
    ("", Found("", "local")),
    ("unix:", Found("", "local")),
    ("unix:/run/app.sock", Found("", "local")),
    ("/run/app.sock", Found("", "local")),
    ("@abstract", Found("", "local")),
    ("\0abstract", Found("", "local")),
    ("testclient", Found("", "local", "garbage")),
    ("unknown", Found("", "local", "garbage")),
    ("203.0.113.07", Found("", "local", "garbage")),
]


@pytest.mark.parametrize(("peer", "found"), STRANGERS)
@pytest.mark.parametrize("client", [Client(), BEHIND, SPEAKING, CLOUD], ids=repr)
@pytest.mark.parametrize("lines", [[], ["6.6.6.6"], ["for=6.6.6.6"], ["x" * 5000], ["10.0.0.1"]])
def test_who_is_not_trusted_speaks_for_nobody(
    client: Client, peer: str | None, lines: list[str], found: Found
) -> None:
    assert (client.find(peer, lines), client.meet(peer)[1]) == (found, False)


CLIENT = alone("203.0.113.7")
# lines, found behind PROXY
CHAINS: list[tuple[list[str], Found]] = [
    (["203.0.113.7"], CLIENT),
    (["6.6.6.6, 203.0.113.7"], CLIENT),
    (["6.6.6.6", "203.0.113.7"], CLIENT),
    (["6.6.6.6", "10.6.6.6", "203.0.113.7, 10.0.0.2", "10.0.0.3"], CLIENT),
    (["10.0.0.9, 6.6.6.6, 203.0.113.7, 10.0.0.2"], CLIENT),
    (["garbage, , unknown, 203.0.113.7, 10.0.0.2"], CLIENT),
    (["203.0.113.7:4711, 10.0.0.2:80"], CLIENT),
    (["::ffff:203.0.113.7, [::ffff:10.0.0.2]:80, 2001:db8:ffff::2"], CLIENT),
    (["64:ff9b::203.0.113.7"], CLIENT),
    (["6.6.6.6, 64:ff9b::10.0.0.2"], Found("64:ff9b::a00:2", "64:ff9b::/64")),
    (["2001:db8:cafe::17"], Found("2001:db8:cafe::17", "2001:db8:cafe::/64")),
    (["[2001:db8:cafe::17]:4711"], Found("2001:db8:cafe::17", "2001:db8:cafe::/64")),
    (["fe80::17%eth0"], Found("fe80::17", "fe80::/64")),
    # Who is within: nobody but proxies of ours, down to the first.
    ([], alone(PROXY)),
    (["10.0.0.3, 10.0.0.2"], alone("10.0.0.3")),
    # Garbage ends it, at the nearest proxy.
    ([""], alone(PROXY, "garbage")),
    (["203.0.113.7,"], alone(PROXY, "garbage")),
    (["203.0.113.7", ""], alone(PROXY, "garbage")),
    (["203.0.113.7, garbage"], alone(PROXY, "garbage")),
    (["6.6.6.6, garbage, 10.0.0.2"], alone("10.0.0.2", "garbage")),
    (["6.6.6.6, , 10.0.0.2"], alone("10.0.0.2", "garbage")),
    (["6.6.6.6, 203.0.113.007, 10.0.0.2"], alone("10.0.0.2", "garbage")),
    (["6.6.6.6, " + "1" * 4000 + ", 10.0.0.2"], alone("10.0.0.2", "garbage")),
    (["6.6.6.6, fe80::7%" + "z" * 200], alone(PROXY, "garbage")),
    (["6.6.6.6, for=203.0.113.7"], alone(PROXY, "garbage")),
    (['6.6.6.6, "203.0.113.7"'], alone(PROXY, "garbage")),
    (["6.6.6.6, unknown"], alone(PROXY, "unknown")),
    (["6.6.6.6, Unknown:80, 10.0.0.2"], alone("10.0.0.2", "unknown")),
    (["6.6.6.6, _hidden, 10.0.0.2"], alone("10.0.0.2", "unknown")),
    (["6.6.6.6, unknowns"], alone(PROXY, "garbage")),
    # Too much is not read at all.
    ([", ".join(["10.0.0.2"] * 31 + ["203.0.113.7"])], CLIENT),
    ([", ".join(["10.0.0.2"] * 32 + ["203.0.113.7"])], alone(PROXY, "too_many")),
    (["10.0.0.2"] * 32 + ["203.0.113.7"], alone(PROXY, "too_many")),
    (["x" * (4096 - 13), "203.0.113.7"], CLIENT),
    (["x" * (4097 - 13), "203.0.113.7"], alone(PROXY, "too_long")),
    (["203.0.113.7" + " " * 4085], CLIENT),
    (["203.0.113.7" + " " * 4086], alone(PROXY, "too_long")),
]


@pytest.mark.parametrize(("lines", "found"), CHAINS)
@pytest.mark.parametrize("peer", [PROXY, "::ffff:10.0.0.1", "10.0.0.1:5000", "::ffff:a00:1"])
def test_the_client_is_the_first_from_the_right_that_is_no_proxy(
    lines: list[str], found: Found, peer: str
) -> None:
    assert (BEHIND.find(peer, lines), BEHIND.meet(peer)[1]) == (found, True)


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["for=6.6.6.6, for=203.0.113.7"], CLIENT),
        (["FOR=6.6.6.6", 'For="203.0.113.7:80";proto=https', "for=10.0.0.2"], CLIENT),
        (['for="', "for=203.0.113.7"], CLIENT),
        (['for="[2001:db8::7]:443"'], Found("2001:db8::7", "2001:db8::/64")),
        (["for=6.6.6.6, for=unknown"], alone(PROXY, "unknown")),
        (["for=6.6.6.6, for=_hidden, for=10.0.0.2"], alone("10.0.0.2", "unknown")),
        (["for=6.6.6.6, proto=https"], alone(PROXY, "unknown")),
        (["for=6.6.6.6, 203.0.113.7"], alone(PROXY, "garbage")),
        (['for=6.6.6.6, for="203.0.113.7'], alone(PROXY, "garbage")),
        ([", ".join(["for=10.0.0.2"] * 33)], alone(PROXY, "too_many")),
        (["203.0.113.7"], alone(PROXY, "garbage")),
        ([], alone(PROXY)),
    ],
)
def test_forwarded_is_read_in_the_same_way(lines: list[str], found: Found) -> None:
    assert SPEAKING.find(PROXY, lines) == found


@pytest.mark.parametrize(
    ("lines", "scheme"),
    [
        (["for=203.0.113.7;proto=https"], "https"),
        (["for=203.0.113.7;Proto=HTTP"], "http"),
        # What was spoken between proxies does not matter, nor what the client itself has written.
        (["for=203.0.113.7;proto=https", "for=10.0.0.2;proto=http"], "https"),
        (["for=6.6.6.6;proto=https, for=203.0.113.7;proto=http"], "http"),
        (["for=6.6.6.6;proto=https, for=203.0.113.7"], ""),
        (["for=203.0.113.7;proto=gopher"], ""),
        (["for=203.0.113.7;proto=https;proto=https"], ""),
        (["garbage"], ""),
        ([", ".join(["for=10.0.0.2;proto=https"] * 33)], ""),
        ([], ""),
    ],
)
def test_forwarded_says_how_the_client_came(lines: list[str], scheme: str) -> None:
    assert SPEAKING.scheme(lines) == scheme


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["203.0.113.7"], CLIENT),
        ([" 203.0.113.7 "], CLIENT),
        (["10.0.0.2"], alone("10.0.0.2")),
        (["6.6.6.6, 203.0.113.7"], alone(PROXY, "garbage")),
        (["6.6.6.6", "203.0.113.7"], alone(PROXY, "garbage")),
        (["203.0.113.7,"], alone(PROXY, "garbage")),
        (["", ""], alone(PROXY, "garbage")),
        ([""], alone(PROXY, "garbage")),
        (["unknown"], alone(PROXY, "unknown")),
        ([], alone(PROXY)),
    ],
)
def test_a_header_of_one_value_has_one(lines: list[str], found: Found) -> None:
    assert CLOUD.find(PROXY, lines) == found


# hops, lines, found
HOPS: list[tuple[int, list[str], Found]] = [
    (1, ["203.0.113.7"], CLIENT),
    (1, ["6.6.6.6, 203.0.113.7"], CLIENT),
    (2, ["6.6.6.6, 203.0.113.7, 198.51.100.2"], CLIENT),
    (3, ["6.6.6.6", "203.0.113.7", "198.51.100.3, 198.51.100.2"], CLIENT),
    (1, ["10.0.0.2"], alone("10.0.0.2")),
    (1, [], alone("192.0.2.1", "too_few_hops")),
    (2, ["203.0.113.7"], alone("203.0.113.7", "too_few_hops")),
    (3, ["203.0.113.7, 198.51.100.2"], alone("203.0.113.7", "too_few_hops")),
    (1, ["6.6.6.6, garbage"], alone("192.0.2.1", "garbage")),
    (2, ["6.6.6.6, unknown, 198.51.100.2"], alone("198.51.100.2", "unknown")),
    (2, ["6.6.6.6, 203.0.113.7, garbage"], alone("192.0.2.1", "garbage")),
    (3, ["garbage, 198.51.100.2"], alone("198.51.100.2", "garbage")),
    (1, [", ".join(["6.6.6.6"] * 33)], alone("192.0.2.1", "too_many")),
    (32, [", ".join(["203.0.113.7"] + ["198.51.100.2"] * 31)], CLIENT),
]


@pytest.mark.parametrize(("hops", "lines", "found"), HOPS)
@pytest.mark.parametrize("proxies", [(), ("192.0.2.1",)])
def test_hops_are_counted_from_the_right(
    hops: int, lines: list[str], found: Found, proxies: tuple[str, ...]
) -> None:
    client = Client(trusted_proxies=proxies, trusted_hops=hops)
    assert (client.find("192.0.2.1", lines), client.meet("192.0.2.1")[1]) == (found, True)


def test_hops_are_not_counted_for_a_peer_that_is_not_among_the_trusted() -> None:
    client = Client(trusted_proxies=["10.0.0.0/8"], trusted_hops=1)
    assert client.find("192.0.2.1", ["6.6.6.6"]) == alone("192.0.2.1")


@pytest.mark.parametrize("peer", [None, "", "unix:/run/app.sock"])
def test_a_proxy_at_a_unix_socket_is_believed_where_hops_are_counted(peer: str | None) -> None:
    client = Client(trusted_hops=1)
    assert client.find(peer, ["6.6.6.6, 203.0.113.7"]) == CLIENT
    assert client.find(peer, ["garbage"]) == Found("", "local", "garbage")
    assert client.find(peer, []) == Found("", "local", "too_few_hops")


def test_one_hop_goes_with_a_header_of_one_value() -> None:
    client = Client(trusted_hops=1, header="x-real-ip")
    assert client.find("192.0.2.1", ["203.0.113.7"]) == CLIENT


def test_a_key_is_as_wide_as_it_is_told_to_be() -> None:
    client = Client(trusted_proxies=["10.0.0.0/8"], ipv4=24, ipv6=48)
    assert client.find("203.0.113.7", []) == Found("203.0.113.7", "203.0.113.0/24")
    assert client.find(PROXY, ["2001:db8:1:2::3"]) == Found("2001:db8:1:2::3", "2001:db8:1::/48")
    assert client.find(PROXY, ["garbage"]) == Found(PROXY, "10.0.0.0/24", "garbage")


def test_two_clients_do_not_mix_what_they_remember() -> None:
    wide, narrow = Client(ipv4=24), Client()
    trusting = Client(trusted_hops=1)
    found = [one.find("192.0.2.1", ["6.6.6.6"]).key for one in (wide, narrow, trusting, wide)]
    assert found == ["192.0.2.0/24", "192.0.2.1", "6.6.6.6", "192.0.2.0/24"]


def test_no_more_peers_are_remembered_than_there_is_room_for() -> None:
    client = Client(trusted_proxies=["10.0.0.0/8"])
    for number in range(3 * REMEMBERED):
        peer = f"20.0.{number >> 8}.{number & 255}"
        assert client.find(peer, ["6.6.6.6"]) == alone(peer)
        assert len(client._peers) <= REMEMBERED
    assert client.find(PROXY, ["203.0.113.7"]) == CLIENT


def test_a_client_is_a_value_that_prints_as_typed() -> None:
    networks: list[Network] = [
        "10.0.0.0/8",
        "2001:DB8::/32",
        IPv4Network("192.0.2.1/32"),
        "10.0.0.0/8",
    ]
    client = Client(trusted_proxies=networks, header="Forwarded", trusted_hops=2, ipv4=24, ipv6=56)
    assert repr(client) == (
        'Client(trusted_proxies=["10.0.0.0/8", "2001:db8::/32", "192.0.2.1"], '
        'header="forwarded", trusted_hops=2, ipv4=24, ipv6=56)'
    )
    same = eval(repr(client))
    client.find("203.0.113.7", [])
    assert (client == same, hash(client) == hash(same)) == (True, True)
    assert client.trusted_proxies == ("10.0.0.0/8", "2001:db8::/32", "192.0.2.1")
    with pytest.raises(FrozenInstanceError):
        client.ipv4 = 32  # type: ignore[misc]


def test_by_default_a_client_trusts_nobody() -> None:
    assert repr(Client()) == "Client()"
    assert Client() == Client(trusted_proxies=[], header="X-Forwarded-For", ipv6=64)
    assert Client() != Client(ipv6=56)


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
def test_a_copy_finds_the_same_and_knows_nobody(again: Any) -> None:
    assert BEHIND.find("203.0.113.7", []) == CLIENT
    copied = again(BEHIND)
    assert (copied, copied._peers) == (BEHIND, {})
    assert copied.find(PROXY, ["6.6.6.6, 203.0.113.7"]) == CLIENT


NO_HEADER = "is no name of a header; try x-forwarded-for or forwarded"
WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    (
        {"trusted_proxies": ["10.0.0.1/8"]},
        ValueError,
        'client: trusted_proxies: "10.0.0.1/8" has bits set beyond its prefix; try 10.0.0.0/8',
    ),
    (
        {"trusted_proxies": "10.0.0.0/8"},
        TypeError,
        "client: trusted_proxies: networks are a list such as [\"10.0.0.0/8\"], not '10.0.0.0/8'",
    ),
    (
        {"trusted_proxies": [7]},
        TypeError,
        'client: trusted_proxies: a network is a str such as "10.0.0.0/8", not 7',
    ),
    (
        {"trusted_proxies": ["*"]},
        ValueError,
        'client: trusted_proxies: "*" is no network; try one such as 10.0.0.0/8 or 2001:db8::/32',
    ),
    *(
        (
            {"trusted_proxies": [everybody]},
            ValueError,
            f'client: trusted_proxies: "{everybody}" trusts everybody, who may then be anybody; '
            "name the networks of the proxies, or count them with trusted_hops",
        )
        for everybody in ("0.0.0.0/0", "::/0")
    ),
    (
        {"header": "X_Forwarded_For"},
        ValueError,
        'client: header: "X_Forwarded_For" has an underscore, which many servers take for a '
        "hyphen, so that anybody can send it past a proxy; try x-forwarded-for",
    ),
    ({"header": ""}, ValueError, f'client: header: "" {NO_HEADER}'),
    ({"header": "x forwarded"}, ValueError, f'client: header: "x forwarded" {NO_HEADER}'),
    ({"header": "x-real-ip:"}, ValueError, f'client: header: "x-real-ip:" {NO_HEADER}'),
    ({"header": "\u212a-ip"}, ValueError, f'client: header: "\u212a-ip" {NO_HEADER}'),
    (
        {"header": None},
        TypeError,
        'client: header is a str such as "x-forwarded-for", not None',
    ),
    ({"trusted_hops": -1}, ValueError, "client: trusted_hops is 0 or more, not -1"),
    ({"trusted_hops": 33}, ValueError, "client: trusted_hops is from 0 to 32, not 33"),
    ({"trusted_hops": True}, TypeError, "client: trusted_hops is a whole number, not True"),
    (
        {"trusted_hops": 2, "header": "CF-Connecting-IP"},
        ValueError,
        "client: trusted_hops is 0 or 1 with cf-connecting-ip, which has one address",
    ),
    ({"ipv4": 33}, ValueError, "client: ipv4 is from 1 to 32, not 33"),
    ({"ipv4": 0}, ValueError, "client: ipv4 is 1 or more, not 0"),
    ({"ipv6": 129}, ValueError, "client: ipv6 is from 1 to 128, not 129"),
    ({"ipv6": "64"}, TypeError, "client: ipv6 is a whole number, not '64'"),
]


@pytest.mark.parametrize(("options", "kind", "message"), WRONG)
def test_a_client_that_makes_no_sense_is_explained(
    options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as refusal:
        Client(**options)
    assert str(refusal.value) == message
