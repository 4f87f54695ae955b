"""The PROXY protocol: a proxy that is believed says who its client is, before anything else."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.gateway import porch
from headgate.rules.clients.proxy import SIGNATURE
from tests.gateway.asking import reply
from tests.gateway.backing import Backing
from tests.gateway.staging import FINE, ROOM, Stage, answered, plan
from tests.gateway.talking import SECONDS, Talk, single, split
from tests.servers.locked import Notary, lock

GET = b"GET /a HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 198.51.100.9\r\n\r\n"
LINE = b"PROXY TCP4 203.0.113.7 192.0.2.1 51000 443\r\n"
SIX = b"PROXY TCP6 2001:db8::7 2001:db8::1 51000 443\r\n"
FOUR = socket.inet_aton("203.0.113.7") + socket.inet_aton("192.0.2.1") + b"\xc7\x38\x01\xbb"
LONG = socket.inet_pton(socket.AF_INET6, "2001:db8::7") * 2 + b"\xc7\x38\x01\xbb"


def binary(command: int, family: int, block: bytes) -> bytes:
    return SIGNATURE + bytes([command, family]) + len(block).to_bytes(2, "big") + block


HEADERS = {
    "v1": (LINE, "203.0.113.7"),
    "v1 ipv6": (SIX, "2001:db8::7"),
    "v2": (binary(0x21, 0x11, FOUR), "203.0.113.7"),
    "v2 ipv6": (binary(0x21, 0x21, LONG), "2001:db8::7"),
    "v2 and more": (binary(0x21, 0x11, FOUR + b"\x04\x00\x01x"), "203.0.113.7"),
}
# Who has no address: what its client says of itself is not believed, unless it is the proxy's own.
OTHERS = {
    "v1 unknown": (b"PROXY UNKNOWN\r\n", "198.51.100.9, 127.0.0.1"),
    "v2 local": (binary(0x20, 0x00, b""), "198.51.100.9, 127.0.0.1"),
    "v2 unix": (binary(0x21, 0x31, bytes(216)), "unknown"),
}
# Whoever hangs up is not to wait, but to have done with it.
RESET = struct.pack("ii", 1, 0)
TRUST = {"trusted_proxies": ["127.0.0.1/32"]}


def staged(server: Backing, client: Any = TRUST, **listen: Any) -> Stage:
    said = {"address": "127.0.0.1:0", "proxy_protocol": True, **listen}
    return Stage(plan(server.url, client=client, listen=said))


def served(talk: Talk, server: Backing) -> str:
    """Have a request answered, and say whom the server took for its client."""
    caller = server.take()
    lines = caller.head().split(b"\r\n")
    caller.say(FINE)
    answer = answered(talk)
    assert answer.body == b"fine"
    found = [line for line in lines if line.startswith(b"x-forwarded-for: ")]
    assert len(found) == 1
    return found[0].removeprefix(b"x-forwarded-for: ").decode()


@pytest.mark.parametrize(
    ("header", "client"), [*HEADERS.values(), *OTHERS.values()], ids=[*HEADERS, *OTHERS]
)
@pytest.mark.parametrize("way", ["at once", "apart", "byte by byte"])
def test_the_client_is_whom_the_proxy_names(
    header: bytes, client: str, way: str, server: Backing
) -> None:
    with staged(server) as stage, stage.talk() as talk:
        ways = {
            "at once": [header + GET],
            "apart": [header, GET],
            "byte by byte": single(header + GET),
        }
        talk.send(*ways[way])

        assert served(talk, server) == client
    assert not stage.errors


@pytest.mark.parametrize("header", [LINE, HEADERS["v2"][0]], ids=["v1", "v2"])
@pytest.mark.parametrize("way", ["at once", "byte by byte"])
def test_tls_begins_behind_the_header(
    header: bytes, way: str, notary: Notary, server: Backing
) -> None:
    with staged(server, tls=notary.tls) as stage, stage.talk() as talk:
        talk.send(*([header] if way == "at once" else single(header)))
        line = lock(talk, notary.visiting())
        assert line.selected_alpn_protocol() == "http/1.1"
        talk.send(GET)

        assert served(talk, server) == "203.0.113.7"


@pytest.mark.parametrize("place", range(1, len(LINE) + 10))
def test_the_header_may_be_split_anywhere(place: int, shared: tuple[Stage, Backing]) -> None:
    stage, server = shared
    with stage.talk() as talk:
        talk.send(*split(LINE + GET, place))

        assert served(talk, server) == "203.0.113.7"
    stage.rest()
    stage.clear()


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Stage, Backing]]:
    with Backing() as server, staged(server) as stage:
        yield stage, server


@pytest.mark.parametrize(
    "said",
    [
        GET,
        b"PROXY TCP4 203.0.113.7\r\n",
        b"PROXY TCP9 203.0.113.7 192.0.2.1 51000 443\r\n",
        b"PROXY " + b"x" * 200,
        b"PROXY TCP4 203.0.113.7 192.0.2.1 51000 443\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        SIGNATURE + b"\x31\x11\x00\x0c" + FOUR,
        binary(0x21, 0x11, b"short"),
        binary(0x21, 0x11, bytes(5000)),
        b"proxy" + LINE[5:],
    ],
)  # fmt: skip
@pytest.mark.parametrize("way", ["at once", "byte by byte"])
def test_who_does_not_say_it_is_hung_up_on(
    said: bytes, way: str, shared: tuple[Stage, Backing]
) -> None:
    stage, server = shared
    with stage.talk() as talk:
        talk.send(*([said] if way == "at once" else single(said)))

        assert talk.rest() == b""
    assert not server.asked()
    stage.rest()


@pytest.mark.parametrize("said", [b"", LINE[:10], LINE[:-1]])
def test_who_hangs_up_in_the_middle_is_gone(said: bytes, shared: tuple[Stage, Backing]) -> None:
    stage, server = shared
    with stage.talk() as talk:
        talk.send(said)

        assert talk.finish() == b""
    assert not server.asked()
    stage.rest()


@pytest.mark.parametrize("client", [{"trusted_proxies": ["192.0.2.0/24"]}, None])
def test_who_is_not_believed_is_hung_up_on(client: Any, server: Backing) -> None:
    with staged(server, client) as stage, stage.talk() as talk:
        talk.send(LINE + GET)

        assert talk.rest() == b""
        assert not server.asked()
        stage.rest()


def test_who_takes_too_long_is_hung_up_on(
    server: Backing, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(porch, "PATIENCE", 0.05)
    with staged(server) as stage, stage.talk() as talk:
        talk.send(LINE[:10])

        assert talk.rest() == b""
        stage.rest()
    said = "a connection without a PROXY header is closed: there was none after 0.05 s"
    assert caplog.messages == [said]


def test_strangers_do_not_fill_the_log(server: Backing, caplog: pytest.LogCaptureFixture) -> None:
    with staged(server, None) as stage:
        for _ in range(5):
            with stage.talk() as talk:
                assert talk.rest() == b""
        stage.tick(1.0)
        with stage.talk() as talk:
            assert talk.rest() == b""

    said = "a connection without a PROXY header is closed: 127.0.0.1 is not among trusted_proxies"
    assert caplog.messages == [said, f"{said} (4 more before)"]


@pytest.mark.parametrize("abrupt", [False, True])
def test_the_log_is_silent_of_who_says_nothing(
    abrupt: bool, server: Backing, caplog: pytest.LogCaptureFixture
) -> None:
    with staged(server) as stage:
        with stage.talk() as talk:
            stage.turn()
            if abrupt:
                talk.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            else:
                assert talk.finish() == b""
        stage.turn()
        # Who said anything, and then no more, is told of.
        with stage.talk() as talk:
            talk.send(LINE[:10])
            assert talk.finish() == b""

    said = "a connection without a PROXY header is closed: it hung up in the middle"
    assert caplog.messages == [said]


def test_a_client_may_be_a_proxy_that_is_believed(server: Backing) -> None:
    client = {"trusted_proxies": ["127.0.0.1/32", "203.0.113.7/32"]}
    with staged(server, client) as stage, stage.talk() as talk:
        talk.send(LINE + GET)

        assert served(talk, server) == "198.51.100.9, 203.0.113.7"


def test_clients_behind_one_proxy_are_counted_apart(server: Backing) -> None:
    rules = plan(
        server.url,
        client=TRUST,
        rules=[ROOM, {"name": "each", "key": "client.ip", "limit": {"rate": "1/h", "burst": 1}}],
        listen={"address": "127.0.0.1:0", "proxy_protocol": True},
        limits={"per_client": 1},
    )
    with Stage(rules) as stage, stage.talk() as one:
        one.send(LINE + GET)
        assert served(one, server) == "203.0.113.7"
        stage.rest(clients=1)
        stage.clear()
        # They may have one connection each, and one request.
        with stage.talk() as two:
            two.send(LINE + GET)
            assert two.rest() == b""
        with stage.talk() as three:
            three.send(SIX + GET)
            assert served(three, server) == "2001:db8::7"
            assert reply(three, GET).status == 429


def test_clients_behind_one_proxy_are_counted_before_tls(notary: Notary, server: Backing) -> None:
    rules = plan(
        server.url,
        client=TRUST,
        listen={"address": "127.0.0.1:0", "proxy_protocol": True, "tls": notary.tls},
        limits={"per_client": 1},
    )
    with Stage(rules) as stage, stage.talk() as one, stage.talk() as two, stage.talk() as three:
        one.send(LINE)
        stage.rest(clients=1)
        two.send(LINE)
        assert two.rest() == b""
        three.send(SIX)
        stage.rest(clients=2)


@pytest.mark.parametrize("way", ["at once", "byte by byte"])
def test_it_comes_over_a_file_too(way: str, tmp_path: Path, server: Backing) -> None:
    place = f"{tmp_path}/web.sock"
    with (
        staged(server, {"trusted_hops": 1}, address=f"unix:{place}") as stage,
        socket.socket(socket.AF_UNIX) as client,
    ):
        client.settimeout(SECONDS)
        client.connect(place)
        for piece in [LINE + GET] if way == "at once" else single(LINE + GET):
            client.sendall(piece)
            stage.turn()
        caller = server.take()
        assert b"\r\nx-forwarded-for: 198.51.100.9, 203.0.113.7\r\n" in caller.head()


def test_the_end_of_the_gateway_is_the_end_of_who_waits_there(server: Backing) -> None:
    with staged(server) as stage:
        talk = stage.talk()
        talk.send(LINE[:10])
    with talk:
        assert talk.rest() == b""
