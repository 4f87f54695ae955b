"""An address is read in every form it is met in, and has one spelling and one key."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.rules.clients.address import LONGEST, group, parse, spell, unpack

# text, its one spelling
GOOD = [
    ("203.0.113.7", "203.0.113.7"),
    ("0.0.0.0", "0.0.0.0"),
    ("255.255.255.255", "255.255.255.255"),
    ("1.2.3.4:567", "1.2.3.4"),
    ("1.2.3.4:0", "1.2.3.4"),
    ("1.2.3.4:_gazonk", "1.2.3.4"),
    ("2001:db8::1", "2001:db8::1"),
    ("2001:DB8:0:0:0:0:0:0001", "2001:db8::1"),
    ("[2001:db8::1]", "2001:db8::1"),
    ("[2001:db8::1]:443", "2001:db8::1"),
    ("[2001:db8::1]:_a.b-c_D9", "2001:db8::1"),
    ("2001:db8::1:443", "2001:db8::1:443"),
    ("fe80::1%eth0", "fe80::1"),
    ("[fe80::1%25eth0]:80", "fe80::1"),
    ("::", "::"),
    ("::1", "::1"),
    ("1:0:0:2:0:0:0:3", "1:0:0:2::3"),
    ("1:2:3:0:5:6:7:8", "1:2:3:0:5:6:7:8"),
    ("::ffff:203.0.113.7", "203.0.113.7"),
    ("::FFFF:cb00:7107", "203.0.113.7"),
    ("0:0:0:0:0:ffff:203.0.113.7", "203.0.113.7"),
    ("[::ffff:203.0.113.7]:80", "203.0.113.7"),
    ("::ffff:10.0.0.1", "10.0.0.1"),
    ("::ffff:203.0.113.7%eth0", "203.0.113.7"),
    ("64:ff9b::203.0.113.7", "203.0.113.7"),
    ("64:ff9b::cb00:7107", "203.0.113.7"),
    ("0064:FF9B:0:0:0:0:cb00:7107", "203.0.113.7"),
    ("64:ff9b::10.0.0.1", "64:ff9b::a00:1"),
    ("64:ff9b::127.0.0.1", "64:ff9b::7f00:1"),
    ("64:ff9b::192.168.1.1", "64:ff9b::c0a8:101"),
    ("64:ff9b::172.31.255.255", "64:ff9b::ac1f:ffff"),
    ("64:ff9b::172.32.0.0", "172.32.0.0"),
    ("64:ff9b:1::203.0.113.7", "64:ff9b:1::cb00:7107"),
    ("64:ff9b::1:203.0.113.7", "64:ff9b::1:cb00:7107"),
    ("::203.0.113.7", "::cb00:7107"),
    ("::1:ffff:203.0.113.7", "::1:ffff:cb00:7107"),
    ("2002:cb00:7107::1", "2002:cb00:7107::1"),
    ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:0:4136:e378:8000:63bf:3fff:fdd2"),
]

BAD = [
    "",
    " ",
    "unknown",
    "_hidden",
    "localhost",
    "example.com:80",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.256",
    "01.2.3.4",
    "1.2.3.04",
    "1.2.3.00",
    "0x1.2.3.4",
    "16909060",
    "1.2.3.-4",
    "1.2.3.4 ",
    " 1.2.3.4",
    "1.2.3.4\n",
    "1.2.3.4\0",
    "1.2.3.4/32",
    "1.2.3.4:",
    "1.2.3.4:123456",
    "1.2.3.4:8a",
    "1.2.3.4:_",
    "1.2.3.4:_a b",
    "1.2.3.4:+1",
    "1.2.3.4:\u0661",
    "\u0661.2.3.4",
    "1.2.3.4%eth0",
    "[1.2.3.4]",
    "[1.2.3.4]:80",
    "1.2.3.4]",
    "[2001:db8::1",
    "2001:db8::1]",
    "[2001:db8::1]443",
    "[2001:db8::1]:",
    "[2001:db8::1]]:1",
    "[]",
    "[]:80",
    "[[::1]]",
    ":",
    ":80",
    ":::",
    "1::2::3",
    "12345::",
    "g::1",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "2001:db8::1/64",
    "::ffff:01.2.3.4",
    "::ffff:1.2.3.256",
    "fe80::1%",
    "fe80::1%a%b",
    "\ud800",
    "fe80::1%" + "z" * LONGEST,
]


@pytest.mark.parametrize(("text", "spelled"), GOOD)
def test_an_address_has_one_spelling(text: str, spelled: str) -> None:
    number = parse(text)
    assert number is not None
    assert spell(number) == spelled


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_address_has_no_number(text: str) -> None:
    assert parse(text) is None


def test_the_longest_address_is_read_and_a_longer_one_is_not() -> None:
    zone = "z" * (LONGEST - len("fe80::1%"))
    assert (parse(f"fe80::1%{zone}"), parse(f"fe80::1%{zone}z")) == (parse("fe80::1"), None)


# address, ipv4, ipv6, key
GROUPS = [
    ("203.0.113.7", 32, 64, "203.0.113.7"),
    ("203.0.113.7", 24, 64, "203.0.113.0/24"),
    ("203.0.113.7", 31, 64, "203.0.113.6/31"),
    ("203.0.113.7", 1, 64, "128.0.0.0/1"),
    ("203.0.113.7:99", 24, 64, "203.0.113.0/24"),
    ("::ffff:203.0.113.7", 32, 64, "203.0.113.7"),
    ("::ffff:203.0.113.7", 24, 64, "203.0.113.0/24"),
    ("64:ff9b::203.0.113.7", 32, 64, "203.0.113.7"),
    ("64:ff9b::10.0.0.1", 32, 64, "64:ff9b::/64"),
    ("2001:DB8:CAFE:0:1:2:3:4", 32, 64, "2001:db8:cafe::/64"),
    ("2001:db8:cafe:12ff::1", 32, 64, "2001:db8:cafe:12ff::/64"),
    ("2001:db8:cafe:12ff::1", 32, 56, "2001:db8:cafe:1200::/56"),
    ("2001:db8:cafe:12ff::1", 32, 48, "2001:db8:cafe::/48"),
    ("2001:db8:cafe:12ff::1", 32, 128, "2001:db8:cafe:12ff::1"),
    ("2001:db8:cafe:12ff::1", 32, 127, "2001:db8:cafe:12ff::/127"),
    ("fe80::1%eth0", 32, 64, "fe80::/64"),
    ("::1", 32, 64, "::/64"),
    ("2002:cb00:7107::1", 32, 64, "2002:cb00:7107::/64"),
]


@pytest.mark.parametrize(("address", "ipv4", "ipv6", "key"), GROUPS)
def test_neighbours_share_a_key(address: str, ipv4: int, ipv6: int, key: str) -> None:
    assert group(address, ipv4, ipv6) == key


def test_by_default_an_ipv4_address_is_alone_and_a_64_of_ipv6_is_one() -> None:
    assert (group("203.0.113.7"), group("2001:db8::7")) == ("203.0.113.7", "2001:db8::/64")


def test_what_is_no_address_has_no_group_and_is_not_repeated() -> None:
    with pytest.raises(ValueError) as refusal:
        group("alice@example.com")
    assert str(refusal.value) == (
        "what is to be grouped is no address; try 203.0.113.7 or 2001:db8::1"
    )


ipv4_numbers = st.integers(0, 2**32 - 1)
ipv6_numbers = st.integers(0, 2**128 - 1) | st.integers(0, 2**48 - 1)


@given(ipv4_numbers)
def test_an_ipv4_address_is_the_same_in_all_its_forms(number: int) -> None:
    address = IPv4Address(number)
    halves = f"{number >> 16:x}:{number & 0xFFFF:X}"
    forms = [
        str(address),
        f"{address}:80",
        f"{address}:_port",
        f"::ffff:{address}",
        f"::FFFF:{halves}",
        f"0:0:0:0:0:ffff:{address}",
        f"[::ffff:{address}]:443",
        f"::ffff:{address}%eth0",
    ]
    numbers = {
        *map(parse, forms),
        unpack(address.packed),
        unpack(bytes(10) + b"\xff\xff" + address.packed),
    }
    assert len(numbers) == 1
    assert {group(form) for form in forms} == {str(address)}


@given(ipv6_numbers)
def test_an_ipv6_address_is_the_same_in_all_its_forms(number: int) -> None:
    address = IPv6Address(number)
    forms = [
        address.compressed,
        address.compressed.upper(),
        address.exploded,
        f"[{address}]",
        f"[{address}]:443",
        f"{address}%eth0",
        f"[{address}%1]:_port",
    ]
    assert {*map(parse, forms)} == {unpack(address.packed)}
    assert len({group(form) for form in forms}) == 1


@given(ipv6_numbers | ipv4_numbers.map(lambda number: 0xFFFF << 32 | number))
def test_what_is_spelled_is_read_back(number: int) -> None:
    found = unpack(number.to_bytes(16))
    assert parse(spell(found)) == found


@given(ipv6_numbers, st.integers(0, 2**64 - 1))
def test_nobody_leaves_a_key_within_their_64_bits(number: int, host: int) -> None:
    neighbour = number >> 64 << 64 | host
    keys = {
        group(str(IPv6Address(one)))
        for one in (number, neighbour)
        # Some of these are IPv4, and alone.
        if one >> 32 not in (0xFFFF, 0x64FF9B << 64)
    }
    assert len(keys) <= 1


@given(st.text(max_size=120) | st.text("0123456789abcdef:.[]%_", max_size=60))
def test_no_text_makes_reading_fail(text: str) -> None:
    number = parse(text)
    assert number is None or parse(spell(number)) == number
