"""Addresses are read in one way only, and what is none says what would be right."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headgate.rules.model.place import Place, address, listening

SIGNS = st.text("0123456789abcxABFht:/.[]-_@?#%* unix", max_size=30)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("http://10.0.0.1:9000", Place("http", "10.0.0.1", 9000)),
        ("http://10.0.0.1:9000/", Place("http", "10.0.0.1", 9000)),
        ("http://App_1.Example", Place("http", "app_1.example", 80)),
        ("https://a-b.example", Place("https", "a-b.example", 443)),
        ("https://[2001:DB8:0::1]:8443", Place("https", "2001:db8::1", 8443)),
        ("http://[::1]", Place("http", "::1", 80)),
        ("http://169.254.169.254", Place("http", "169.254.169.254", 80)),
        ("http://localhost:65535", Place("http", "localhost", 65535)),
        ("unix:/run/app.sock", Place("unix", path="/run/app.sock")),
        ("unix:/run/a@b?c#d", Place("unix", path="/run/a@b?c#d")),
    ],
)
def test_the_address_of_a_server(text: str, place: Place) -> None:
    assert address(text) == place


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("127.0.0.1:8080", Place("http", "127.0.0.1", 8080)),
        ("localhost:0", Place("http", "localhost", 0)),
        (":8080", Place("http", "", 8080)),
        ("[::]:443", Place("http", "::", 443)),
        ("[0:0::1]:443", Place("http", "::1", 443)),
        ("web.example:80", Place("http", "web.example", 80)),
        ("unix:/run/web.sock", Place("unix", path="/run/web.sock")),
    ],
)
def test_an_address_to_listen_on(text: str, place: Place) -> None:
    assert listening(text) == place


HTTP = "write http://127.0.0.1:9000, or https://"
BRACKETS = "an IPv6 address stands in brackets, as in [::1]:8080"
INSIDE = "in brackets stands an IPv6 address, as in [::1]:8080"
FOUR = "an IPv4 address is four numbers from 0 to 255"
HOST = "a host is letters, digits and - . _, as in a.example"
PORT = "a port is a number up to 65535"
SOCKET = "write the whole path of a socket, as in unix:/run/app.sock"
SECRET = "a name and a password cannot stand there; leave them out"
ASCII = "write it in ASCII and without blanks"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("127.0.0.1:9000", HTTP),
        ("//127.0.0.1:9000", HTTP),
        ("HTTP://127.0.0.1:9000", HTTP),
        ("ftp://127.0.0.1:9000", HTTP),
        ("http://", "write a host, as in http://127.0.0.1:9000"),
        ("http://:80", "write a host, as in http://127.0.0.1:9000"),
        ("http://me:pw@a", SECRET),
        ("http://me@a", SECRET),
        ("http://a/b", "only a host and a port stand there; write http://a"),
        ("http://a:81//", "only a host and a port stand there; write http://a:81"),
        ("https://a?b=c", "only a host and a port stand there; write https://a"),
        ("http://a#b", "only a host and a port stand there; write http://a"),
        ("http://a:0", "ports go from 1 to 65535"),
        ("http://a:", PORT),
        ("http://a:65536", PORT),
        ("http://a:080", PORT),
        ("http://a:+80", PORT),
        ("http://a:99999999999", PORT),
        ("http://::1", BRACKETS),
        ("http://[::1", BRACKETS),
        ("http://[::1]80", BRACKETS),
        ("http://[::g]", INSIDE),
        ("http://[127.0.0.1]", INSIDE),
        ("http://[fe80::1%eth0]", INSIDE),
        ("http://[]", INSIDE),
        ("http://300.0.0.1", FOUR),
        ("http://127.1", FOUR),
        ("http://2130706433", FOUR),
        ("http://0x7f000001", FOUR),
        ("http://0177.0.0.1", FOUR),
        ("http://a..b", HOST),
        ("http://a.example.", HOST),
        ("http://-a", HOST),
        ("http://a%41", HOST),
        ("http://*", HOST),
        (f"http://{'a' * 64}", HOST),
        (f"http://{'a.' * 127}a", HOST),
        ("http://a b", ASCII),
        ("http://a\r\nx: y", ASCII),
        ("http://ä", ASCII),
        (f"http://{'a.' * 200}a", "at most 300 characters"),
        ("unix:run/app.sock", SOCKET),
        ("unix://run/app.sock", SOCKET),
        ("unix:///run/app.sock", SOCKET),
        ("unix:/run/", SOCKET),
        ("unix:", SOCKET),
        (f"unix:/{'a' * 107}", "the path of a socket has at most 107 characters"),
    ],
)
def test_what_is_no_server(text: str, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        address(text)

    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("8080", "write 127.0.0.1:8080, or :8080 for all interfaces"),
        ("*:8080", "write :8080 for all interfaces"),
        ("127.0.0.1", "write a port after it, as in 127.0.0.1:8080"),
        ("[::1]", "write a port after it, as in 127.0.0.1:8080"),
        ("http://127.0.0.1:80", "http or https is not said there; write a host and a port"),
        ("me@127.0.0.1:80", SECRET),
        ("::1:80", BRACKETS),
        (":", PORT),
        (":-1", PORT),
        (":65536", PORT),
        ("a/b:80", HOST),
        ("1.2.3:80", FOUR),
        ("unix:web.sock", SOCKET),
        ("a :80", ASCII),
    ],
)
def test_where_nobody_can_listen(text: str, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        listening(text)

    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("127.0.0.1:1", True),
        ("127.9.9.9:1", True),
        ("[::1]:1", True),
        ("LocalHost:1", True),
        ("unix:/run/a.sock", True),
        (":1", False),
        ("0.0.0.0:1", False),
        ("[::]:1", False),
        ("[::ffff:127.0.0.1]:1", False),
        ("128.0.0.1:1", False),
        ("127.example:1", False),
        ("localhost.example:1", False),
    ],
)
def test_only_what_cannot_be_reached_from_elsewhere_is_near(text: str, near: bool) -> None:
    assert listening(text).near is near


@given(st.one_of(SIGNS, st.text(max_size=30)), st.sampled_from([address, listening]))
@example("http://[::1]:1", address)
@example("[::]:0", listening)
def test_any_text_is_a_place_or_says_why_not(text: str, read: Any) -> None:
    with contextlib.suppress(ValueError):
        place = read(text)
        prefix = f"{place.scheme}://" if read is address and place.scheme != "unix" else ""

        assert read(f"{prefix}{place}") == place
