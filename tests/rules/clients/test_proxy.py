"""The PROXY protocol is read whole, or not yet, or refused; and never read as anything else."""

from __future__ import annotations

import pickle
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import HeadgateError
from headgate.rules.clients.address import parse as address_number
from headgate.rules.clients.address import spell
from headgate.rules.clients.proxy import LONGEST_BINARY, Proxied, ProxyError, parse

SIGNATURE = bytes.fromhex("0D0A0D0A000D0A515549540A")
FOUR = bytes([203, 0, 113, 7, 192, 0, 2, 1]) + (51000).to_bytes(2) + (443).to_bytes(2)
SEEN = Proxied("address", "203.0.113.7", 51000, "192.0.2.1", 443)


def binary(command: int, family: int, block: bytes, length: int | None = None) -> bytes:
    size = len(block) if length is None else length
    return SIGNATURE + bytes([command, family]) + size.to_bytes(2) + block


def packed(source: str, destination: str) -> bytes:
    return IPv6Address(source).packed + IPv6Address(destination).packed + bytes([0, 80, 1, 187])


GOOD = [
    (b"PROXY TCP4 203.0.113.7 192.0.2.1 51000 443\r\n", SEEN),
    (
        b"PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n",
        Proxied("address", "255.255.255.255", 65535, "255.255.255.255", 65535),
    ),
    (
        b"PROXY TCP6 2001:DB8::7 2001:db8:0:0::1 0 65535\r\n",
        Proxied("address", "2001:db8::7", 0, "2001:db8::1", 65535),
    ),
    (b"PROXY TCP6 ::ffff:203.0.113.7 ::ffff:192.0.2.1 51000 443\r\n", SEEN),
    (b"PROXY UNKNOWN\r\n", Proxied("unknown")),
    (b"PROXY UNKNOWN whatever comes\r\n", Proxied("unknown")),
    (b"PROXY UNKNOWN " + b"f" * 91 + b"\r\n", Proxied("unknown")),
    (binary(0x21, 0x11, FOUR), SEEN),
    (binary(0x21, 0x12, FOUR), SEEN),
    (binary(0x21, 0x11, FOUR + b"\x04\x00\x02ab"), SEEN),
    (binary(0x21, 0x11, FOUR + b"malformed, and skipped"), SEEN),
    (binary(0x21, 0x11, FOUR + bytes(LONGEST_BINARY - 28)), SEEN),
    (
        binary(0x21, 0x21, packed("2001:db8::7", "::1")),
        Proxied("address", "2001:db8::7", 80, "::1", 443),
    ),
    (
        binary(0x21, 0x22, packed("::ffff:203.0.113.7", "64:ff9b::192.0.2.1") + b"\x04\x00\x00"),
        Proxied("address", "203.0.113.7", 80, "192.0.2.1", 443),
    ),
    (binary(0x21, 0x31, b"/run/app.sock".ljust(216, b"\0")), Proxied("unix")),
    (binary(0x21, 0x32, bytes(220)), Proxied("unix")),
    (binary(0x20, 0x00, b""), Proxied("local")),
    (binary(0x20, 0x11, FOUR), Proxied("local")),
    (binary(0x20, 0x11, b"short"), Proxied("local")),
    (binary(0x20, 0xFF, b"anything"), Proxied("local")),
    (binary(0x21, 0x00, b""), Proxied("unknown")),
    (binary(0x21, 0x00, FOUR), Proxied("unknown")),
    (binary(0x21, 0x10, FOUR), Proxied("unknown")),
    (binary(0x21, 0x01, b""), Proxied("unknown")),
]


@pytest.mark.parametrize(("header", "proxied"), GOOD)
def test_a_header_is_read_and_what_follows_is_left(header: bytes, proxied: Proxied) -> None:
    for rest in (b"", b"GET / HTTP/1.1\r\n", b"\r\n", header):
        assert parse(header + rest) == (proxied, len(header))


@pytest.mark.parametrize("header", [header for header, _ in GOOD])
def test_a_header_that_has_begun_is_waited_for(header: bytes) -> None:
    for size in {*range(min(len(header), 60)), len(header) - 1}:
        assert parse(header[:size]) == (None, 0)


BEGINNING = "PROXY protocol: it begins with PROXY or the signature of version 2"
ENDING = "PROXY v1: the line ends in CR LF, within 107 bytes"
WORDS = "PROXY v1: there are two addresses and two ports, a space before each"
FAMILY = "PROXY v1: after PROXY comes TCP4, TCP6 or UNKNOWN"
NOT_4 = "PROXY v1: an address of TCP4 is not IPv4"
NOT_6 = "PROXY v1: an address of TCP6 is not IPv6"
PORT = "PROXY v1: a port is a number from 0 to 65535, without zeros before it"
WRONG = [
    (b"G", BEGINNING),
    (b"GET / HTTP/1.1\r\n\r\n", BEGINNING),
    (b"PROXX", BEGINNING),
    (b"proxy TCP4", BEGINNING),
    (b"PROXY\tTCP4", BEGINNING),
    (b"PROXY\r\n", BEGINNING),
    (b" PROXY TCP4", BEGINNING),
    (b"\r\n\r\nX", BEGINNING),
    (SIGNATURE[:-1] + b"X", BEGINNING),
    (b"PROXY \r\n", FAMILY),
    (b"PROXY UDP4 1.2.3.4 5.6.7.8 1 2\r\n", FAMILY),
    (b"PROXY tcp4 1.2.3.4 5.6.7.8 1 2\r\n", FAMILY),
    (b"PROXY UNKNOWNS\r\n", FAMILY),
    (b"PROXY  TCP4 1.2.3.4 5.6.7.8 1 2\r\n", FAMILY),
    (b"PROXY UNKNOWN\n", ENDING),
    (b"PROXY UNKNOWN\nGET / HTTP/1.1\r\n", ENDING),
    (b"PROXY UNKNOWN " + b"f" * 92 + b"\r\n", ENDING),
    (b"PROXY UNKNOWN " + b"f" * 93, ENDING),
    (b"PROXY TCP4\r\n", WORDS),
    (b"PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n", WORDS),
    (b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2 3\r\n", WORDS),
    (b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2 \r\n", WORDS),
    (b"PROXY TCP4 1.2.3.4  5.6.7.8 1 2\r\n", WORDS),
    (b"PROXY TCP4 1.2.3.04 5.6.7.8 1 2\r\n", NOT_4),
    (b"PROXY TCP4 1.2.3.4:80 5.6.7.8 1 2\r\n", NOT_4),
    (b"PROXY TCP4 ::1 5.6.7.8 1 2\r\n", NOT_4),
    (b"PROXY TCP4 1.2.3.4 5.6.7 1 2\r\n", NOT_4),
    (b"PROXY TCP4  5.6.7.8 1 2\r\n", NOT_4),
    (b"PROXY TCP4 \xff 5.6.7.8 1 2\r\n", NOT_4),
    (b"PROXY TCP6 1.2.3.4 ::1 1 2\r\n", NOT_6),
    (b"PROXY TCP6 1.2.3.4:80 ::1 1 2\r\n", NOT_6),
    (b"PROXY TCP6 [::1] ::1 1 2\r\n", NOT_6),
    (b"PROXY TCP6 ::1 fe80::1%eth0 1 2\r\n", NOT_6),
    (b"PROXY TCP4 1.2.3.4 5.6.7.8 65536 2\r\n", PORT),
    (b"PROXY TCP4 1.2.3.4 5.6.7.8 1 02\r\n", PORT),
    (b"PROXY TCP4 1.2.3.4 5.6.7.8 -1 2\r\n", PORT),
    (b"PROXY TCP4 1.2.3.4 5.6.7.8 1 \r\n", PORT),
    (b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\r\n", PORT),
    (b"PROXY TCP4 1.2.3.4 5.6.7.8 1 \xb2\r\n", PORT),
    (binary(0x11, 0x11, FOUR), "PROXY v2: the command is 0x20 or 0x21, not 0x11"),
    (binary(0x22, 0x11, FOUR), "PROXY v2: the command is 0x20 or 0x21, not 0x22"),
    (binary(0x21, 0x41, FOUR), "PROXY v2: there is no family 0x41"),
    (binary(0x21, 0x13, FOUR), "PROXY v2: there is no family 0x13"),
    (binary(0x21, 0x03, FOUR), "PROXY v2: there is no family 0x03"),
    (binary(0x21, 0x11, FOUR[:-1]), "PROXY v2: 11 bytes are too few; this family has 12"),
    (binary(0x21, 0x21, FOUR), "PROXY v2: 12 bytes are too few; this family has 36"),
    (binary(0x21, 0x31, bytes(215)), "PROXY v2: 215 bytes are too few; this family has 216"),
    (binary(0x21, 0x11, b"", 4081), "PROXY v2: 4097 bytes are too many; the most is 4096"),
    (binary(0x20, 0x00, b"", 65535), "PROXY v2: 65551 bytes are too many; the most is 4096"),
]


@pytest.mark.parametrize(("data", "message"), WRONG)
def test_what_is_no_header_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(ProxyError) as refusal:
        parse(data)
    assert str(refusal.value) == message


def test_the_error_is_of_the_family_and_crosses_processes() -> None:
    problem = pickle.loads(pickle.dumps(ProxyError("no")))
    assert (str(problem), isinstance(problem, HeadgateError)) == ("no", True)
    assert isinstance(problem, ValueError)


ports = st.integers(0, 65535)
pairs = st.one_of(
    st.tuples(st.ip_addresses(v=4), st.ip_addresses(v=4)),
    st.tuples(st.ip_addresses(v=6), st.ip_addresses(v=6)),
)


@given(pairs, ports, ports, st.binary(max_size=40), st.binary(max_size=40))
def test_what_a_proxy_says_is_understood(
    pair: tuple[IPv4Address | IPv6Address, IPv4Address | IPv6Address],
    source_port: int,
    destination_port: int,
    extra: bytes,
    rest: bytes,
) -> None:
    source, destination = pair
    line = f"PROXY TCP{source.version} {source} {destination} {source_port} {destination_port}\r\n"
    block = source.packed + destination.packed
    block += source_port.to_bytes(2) + destination_port.to_bytes(2)
    spoken = binary(0x21, 0x11 if source.version == 4 else 0x21, block + extra)
    proxied = Proxied("address", plain(source), source_port, plain(destination), destination_port)

    assert parse(line.encode() + rest) == (proxied, len(line))
    assert parse(spoken + rest) == (proxied, len(spoken))


def plain(address: IPv4Address | IPv6Address) -> str:
    # One spelling for all forms of it, NAT64 and mapped ones too: what test_address.py shows.
    number = address_number(str(address))
    assert number is not None
    return spell(number)


pieces = st.sampled_from(
    [
        b"PROXY ",
        b"TCP4 ",
        b"TCP6 ",
        b"UNKNOWN",
        b"1.2.3.4 ",
        b"::1 ",
        b"80",
        b" ",
        b"\r\n",
        SIGNATURE,
    ]
)


@given(
    st.binary()
    | st.lists(pieces | st.binary(max_size=3)).map(b"".join)
    | st.binary(max_size=300).map(lambda tail: SIGNATURE + tail)
)
def test_no_bytes_raise_anything_but_its_own_error(data: bytes) -> None:
    try:
        proxied, size = parse(data)
    except ProxyError:
        return
    assert (proxied is None) == (size == 0)
    assert size <= min(len(data), LONGEST_BINARY)
    # More bytes change nothing of what is read already.
    assert proxied is None or parse(data + b"more") == (proxied, size)
