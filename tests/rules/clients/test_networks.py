"""Networks hold the addresses that are in them, in every form, and say what is wrong with them."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.rules.clients.address import Network, Networks

SOME = Networks(["10.0.0.0/8", "192.0.2.1", "2001:db8::/32", "2001:db8:1::1", "172.16.0.0/12"])

# address, whether SOME hold it
HELD = [
    ("10.0.0.0", True),
    ("10.255.255.255", True),
    ("10.1.2.3:443", True),
    ("::ffff:10.1.2.3", True),
    ("9.255.255.255", False),
    ("11.0.0.0", False),
    ("::10.1.2.3", False),
    ("64:ff9b::10.1.2.3", False),
    ("192.0.2.1", True),
    ("64:ff9b::192.0.2.1", True),
    ("192.0.2.2", False),
    ("172.31.255.255", True),
    ("172.32.0.0", False),
    ("2001:db8::", True),
    ("2001:DB8:ffff::1%eth0", True),
    ("[2001:db8::1]:443", True),
    ("2001:db9::", False),
    ("", False),
    ("unknown", False),
    ("10.0.0.01", False),
]


@pytest.mark.parametrize(("address", "held"), HELD)
def test_networks_hold_what_is_in_them(address: str, held: bool) -> None:
    assert SOME.holds(address) is held


@pytest.mark.parametrize(
    ("cidr", "ipv4", "ipv6"),
    [("0.0.0.0/0", True, False), ("::/0", False, True), ("::/64", False, True)],
)
def test_ipv4_is_in_no_network_of_ipv6(cidr: str, ipv4: bool, ipv6: bool) -> None:
    networks = Networks([cidr])
    assert (networks.holds("203.0.113.7"), networks.holds("::ffff:203.0.113.7")) == (ipv4, ipv4)
    assert networks.holds("::1") is ipv6


def test_a_network_around_nat64_has_what_stays_ipv6() -> None:
    networks = Networks(["64:ff9b::/64"])
    held = [networks.holds(f"64:ff9b::{end}") for end in ("1:2:3", "10.0.0.1", "203.0.113.7")]
    assert (networks.cidrs, held) == (("64:ff9b::/64",), [True, True, False])


def test_no_networks_hold_nobody() -> None:
    assert not Networks([]).holds("10.0.0.1")
    assert not Networks([])
    assert Networks(["::1"])


def test_networks_are_kept_as_they_are_best_written_each_once() -> None:
    given_so: list[Network] = [
        "10.0.0.0/8",
        "2001:DB8:0::/32",
        "192.0.2.1/32",
        "::1/128",
        "10.0.0.0/8",
        "0.0.0.0/0",
        IPv4Network("198.51.100.0/24"),
        IPv6Network("2001:db8:1::/48"),
        IPv4Address("192.0.2.1"),
        IPv6Address("::2"),
    ]
    assert Networks(given_so).cidrs == (
        "10.0.0.0/8",
        "2001:db8::/32",
        "192.0.2.1",
        "::1",
        "0.0.0.0/0",
        "198.51.100.0/24",
        "2001:db8:1::/48",
        "::2",
    )


def test_networks_are_values_that_print_as_typed() -> None:
    networks = Networks(["10.0.0.0/8", "::1"])
    same = Networks(iter(("10.0.0.0/8", "::1/128")))
    assert (networks == same, hash(networks) == hash(same)) == (True, True)
    assert networks != Networks(["10.0.0.0/8"])
    assert repr(networks) == 'Networks(["10.0.0.0/8", "::1"])'
    assert eval(repr(networks)) == networks
    for copied in (copy.deepcopy(networks), pickle.loads(pickle.dumps(networks))):
        assert copied == networks
        assert copied.holds("10.1.2.3")
    with pytest.raises(FrozenInstanceError):
        networks.cidrs = ()  # type: ignore[misc]


NO_NETWORK = "is no network; try one such as 10.0.0.0/8 or 2001:db8::/32"
NO_PREFIX = "has no good prefix; after the / is a number from 0 to"
WRONG: list[tuple[Any, type[Exception], str]] = [
    ("10.0.0.0/8", TypeError, "networks are a list such as [\"10.0.0.0/8\"], not '10.0.0.0/8'"),
    (None, TypeError, 'networks are a list such as ["10.0.0.0/8"], not None'),
    ([7], TypeError, 'a network is a str such as "10.0.0.0/8", not 7'),
    ([b"::1"], TypeError, "a network is a str such as \"10.0.0.0/8\", not b'::1'"),
    ([""], ValueError, f'"" {NO_NETWORK}'),
    (["*"], ValueError, f'"*" {NO_NETWORK}'),
    (["/8"], ValueError, f'"/8" {NO_NETWORK}'),
    (["10.0.0/8"], ValueError, f'"10.0.0/8" {NO_NETWORK}'),
    (["010.0.0.0/8"], ValueError, f'"010.0.0.0/8" {NO_NETWORK}'),
    (["10.0.0.0:80"], ValueError, f'"10.0.0.0:80" {NO_NETWORK}'),
    (["[::1]"], ValueError, f'"[::1]" {NO_NETWORK}'),
    (["fe80::%eth0/64"], ValueError, f'"fe80::%eth0/64" {NO_NETWORK}'),
    (["proxy.local"], ValueError, f'"proxy.local" {NO_NETWORK}'),
    ([" 10.0.0.0/8"], ValueError, f'" 10.0.0.0/8" {NO_NETWORK}'),
    (["10.0.0.0/"], ValueError, f'"10.0.0.0/" {NO_PREFIX} 32'),
    (["10.0.0.0/33"], ValueError, f'"10.0.0.0/33" {NO_PREFIX} 32'),
    (["10.0.0.0/-1"], ValueError, f'"10.0.0.0/-1" {NO_PREFIX} 32'),
    (["10.0.0.0/08"], ValueError, f'"10.0.0.0/08" {NO_PREFIX} 32'),
    (["10.0.0.0/00"], ValueError, f'"10.0.0.0/00" {NO_PREFIX} 32'),
    (["10.0.0.0/\u0668"], ValueError, f'"10.0.0.0/\u0668" {NO_PREFIX} 32'),
    (["10.0.0.0/255.0.0.0"], ValueError, f'"10.0.0.0/255.0.0.0" {NO_PREFIX} 32'),
    (["10.0.0.0/8/8"], ValueError, f'"10.0.0.0/8/8" {NO_PREFIX} 32'),
    (["2001:db8::/129"], ValueError, f'"2001:db8::/129" {NO_PREFIX} 128'),
    (["::/" + "1" * 5000], ValueError, f'"::/{"1" * 5000}" {NO_PREFIX} 128'),
    (
        ["::1", "10.0.0.1/8"],
        ValueError,
        '"10.0.0.1/8" has bits set beyond its prefix; try 10.0.0.0/8',
    ),
    (["1.2.3.4/0"], ValueError, '"1.2.3.4/0" has bits set beyond its prefix; try 0.0.0.0/0'),
    (
        ["2001:DB8::1/64"],
        ValueError,
        '"2001:DB8::1/64" has bits set beyond its prefix; try 2001:db8::/64',
    ),
    (
        ["::ffff:10.0.0.0/104"],
        ValueError,
        '"::ffff:10.0.0.0/104" is IPv4 in the guise of IPv6; try 10.0.0.0/8',
    ),
    (
        ["::ffff:192.0.2.1"],
        ValueError,
        '"::ffff:192.0.2.1" is IPv4 in the guise of IPv6; try 192.0.2.1',
    ),
    (
        ["64:ff9b::/96"],
        ValueError,
        '"64:ff9b::/96" is IPv4 in the guise of IPv6; try 0.0.0.0/0',
    ),
    (
        ["64:ff9b::203.0.113.0/120"],
        ValueError,
        '"64:ff9b::203.0.113.0/120" is IPv4 in the guise of IPv6; try 203.0.113.0/24',
    ),
]


@pytest.mark.parametrize(("cidrs", "kind", "message"), WRONG)
def test_a_network_that_is_wrong_is_explained(
    cidrs: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as refusal:
        Networks(cidrs)
    assert str(refusal.value) == message


ipv4 = st.integers(0, 2**32 - 1).map(IPv4Address)
# From few networks, or no address would ever be in one.
ipv6 = st.builds(
    lambda top, low: IPv6Address(0x20010DB8 << 96 | top << 64 | low),
    st.integers(0, 7),
    st.integers(0, 2**64 - 1),
)


@given(
    st.lists(
        st.tuples(ipv4, st.integers(1, 32)) | st.tuples(ipv6, st.integers(1, 128)), max_size=8
    ),
    st.lists(ipv4 | ipv6, max_size=8),
)
def test_networks_hold_what_the_standard_library_says(
    pairs: list[tuple[IPv4Address | IPv6Address, int]], others: list[IPv4Address | IPv6Address]
) -> None:
    plain = [ip_network(pair, strict=False) for pair in pairs]
    networks = Networks(plain)
    for address in [*others, *(address for address, _ in pairs)]:
        assert networks.holds(str(address)) == any(address in network for network in plain)
