"""What a server is told of where a request comes from: by the gateway, and by who is believed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.backing import Backing
from tests.gateway.staging import FINE, Stage, answered, plan
from tests.gateway.talking import Talk

NAMES = (
    *("forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"),
    *("x-forwarded-port", "x-forwarded-prefix", "x-forwarded-ssl", "x-real-ip", "cf-connecting-ip"),
)
# What somebody says of others, all of it made up.
CLAIMS = {
    "Forwarded": 'for="[2001:db8::9]";proto=https;host=c.test',
    "X-Forwarded-For": "192.0.2.9",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "b.test",
    "X-Forwarded-Port": "444",
    "X-Forwarded-Prefix": "/b",
    "X-Forwarded-Ssl": "on",
    "X-Real-IP": "192.0.2.9",
    "CF-Connecting-IP": "192.0.2.8",
}
NEAR = {"trusted_proxies": ["127.0.0.0/8"]}
FAR = {"trusted_proxies": ["10.0.0.0/8"]}
SELF = {"x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "http", "x-forwarded-host": "a.test"}
# By whom the client is, and what the server is told of it.
TOLD: dict[str, tuple[Any, dict[str, str]]] = {
    "nobody is believed": (None, {**SELF, "cf-connecting-ip": "192.0.2.8"}),
    "others are": (FAR, {**SELF, "cf-connecting-ip": "192.0.2.8"}),
    "others are, by Forwarded": (
        {**FAR, "header": "forwarded"},
        {**SELF, "forwarded": "for=127.0.0.1;proto=http", "cf-connecting-ip": "192.0.2.8"},
    ),
    "others are, by a header of their own": ({**FAR, "header": "cf-connecting-ip"}, SELF),
    "it is": (
        NEAR,
        {
            "x-forwarded-for": "192.0.2.9, 127.0.0.1",
            "x-forwarded-proto": "https",
            "x-forwarded-host": "b.test",
            "cf-connecting-ip": "192.0.2.8",
        },
    ),
    "it is, by Forwarded": (
        {**NEAR, "header": "forwarded"},
        {
            "forwarded": f"{CLAIMS['Forwarded']}, for=127.0.0.1;proto=http",
            "x-forwarded-for": "2001:db8::9, 127.0.0.1",
            "x-forwarded-proto": "https",
            "x-forwarded-host": "a.test",
            "cf-connecting-ip": "192.0.2.8",
        },
    ),
    "it is, by a header of its own": (
        {**NEAR, "header": "cf-connecting-ip"},
        {
            "x-forwarded-for": "192.0.2.8, 127.0.0.1",
            "x-forwarded-proto": "https",
            "x-forwarded-host": "b.test",
            "cf-connecting-ip": "192.0.2.8",
        },
    ),
    "whoever it is": (
        {"trusted_hops": 1},
        {
            "x-forwarded-for": "192.0.2.9, 127.0.0.1",
            "x-forwarded-proto": "https",
            "x-forwarded-host": "b.test",
            "cf-connecting-ip": "192.0.2.8",
        },
    ),
}


def told(talk: Talk, server: Backing, said: bytes, start: bytes = b"") -> dict[str, str]:
    """What the server is told; no header of these comes twice."""
    talk.send(start + b"GET /a HTTP/1.1\r\nHost: a.test\r\n" + said + b"\r\n")
    caller = server.take()
    lines = [line.partition(b": ") for line in caller.head().split(b"\r\n")[1:-2]]
    caller.say(FINE)
    found = [(name.decode().lower(), value.decode()) for name, _, value in lines]
    ours = [(name, value) for name, value in found if name in NAMES]
    assert len(dict(ours)) == len(ours)
    return dict(ours)


def claims(**said: str) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in said.items()).encode()


@pytest.mark.parametrize(("client", "expected"), TOLD.values(), ids=[*TOLD])
def test_what_others_say_counts_only_from_who_is_believed(
    client: Any, expected: dict[str, str], server: Backing
) -> None:
    with Stage(plan(server.url, client=client)) as stage, stage.talk() as talk:
        assert told(talk, server, claims(**CLAIMS)) == expected


@pytest.mark.parametrize("header", ["x-forwarded-for", "forwarded"])
def test_who_is_believed_and_says_nothing_is_the_client(header: str, server: Backing) -> None:
    client = {**NEAR, "header": header}
    own = {"forwarded": "for=127.0.0.1;proto=http"} if header == "forwarded" else {}
    with Stage(plan(server.url, client=client)) as stage, stage.talk() as talk:
        assert told(talk, server, b"") == {**SELF, **own}


def test_several_lines_are_one(server: Backing) -> None:
    said = b"X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 192.0.2.2, 192.0.2.3\r\n"
    with Stage(plan(server.url, client=NEAR)) as stage, stage.talk() as talk:
        found = told(talk, server, said)

        assert found["x-forwarded-for"] == "192.0.2.1, 192.0.2.2, 192.0.2.3, 127.0.0.1"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"PROXY TCP6 2001:db8::7 2001:db8::1 1 2\r\n", 'for="[2001:db8::7]";proto=http'),
        (b"PROXY TCP4 203.0.113.7 192.0.2.1 1 2\r\n", "for=203.0.113.7;proto=http"),
    ],
)
def test_addresses_are_spelled_as_the_standard_has_it(
    line: bytes, expected: str, server: Backing
) -> None:
    rules = plan(
        server.url,
        client={**NEAR, "header": "forwarded"},
        listen={"address": "127.0.0.1:0", "proxy_protocol": True},
    )
    with Stage(rules) as stage, stage.talk() as talk:
        assert told(talk, server, b"", line)["forwarded"] == expected


def test_a_header_of_proxies_does_not_come_behind_a_body_either(server: Backing) -> None:
    """Some servers put what comes there among the others."""
    rules = plan(server.url, client={**FAR, "header": "cf-connecting-ip"})
    chunks = b"0\r\nCF-Connecting-IP: 192.0.2.8\r\nX-Sum: 1\r\n\r\n"
    with Stage(rules) as stage, stage.talk() as talk:
        talk.send(b"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
        caller = server.take()
        caller.head()

        assert caller.read(len(b"0\r\nX-Sum: 1\r\n\r\n")) == b"0\r\nX-Sum: 1\r\n\r\n"


def test_a_rule_sees_what_a_server_sees(server: Backing) -> None:
    rule = {"name": "each", "key": "header.cf-connecting-ip", "limit": "1/h"}
    rules = plan(server.url, client={**FAR, "header": "cf-connecting-ip"}, rules=[rule])
    with Stage(rules) as stage, stage.talk() as talk:
        talk.send(b"GET /a HTTP/1.1\r\nHost: a.test\r\nCF-Connecting-IP: 192.0.2.8\r\n\r\n")
        answer = answered(talk)

        assert answer.status == 403


def test_who_is_believed_may_change_while_a_client_is_connected(server: Backing) -> None:
    with Stage(plan(server.url)) as stage, stage.talk() as talk:
        assert told(talk, server, claims(**CLAIMS))["x-forwarded-for"] == "127.0.0.1"
        talk.hear()
        stage.clear()
        stage.change(plan(server.url, client=NEAR))
        assert told(talk, server, claims(**CLAIMS))["x-forwarded-for"] == "192.0.2.9, 127.0.0.1"


@pytest.mark.parametrize(
    ("header", "said", "scheme"),
    [
        ("forwarded", b"Forwarded: for=192.0.2.9;proto=https\r\n", "https"),
        ("forwarded", b"Forwarded: for=192.0.2.9;proto=http\r\n", "http"),
        # Whose client may say that is not whose word is taken.
        ("forwarded", b"Forwarded: for=192.0.2.9\r\nX-Forwarded-Proto: https\r\n", "http"),
        ("x-forwarded-for", b"X-Forwarded-For: 192.0.2.9\r\nX-Forwarded-Proto: https\r\n", "https"),
        ("x-forwarded-for", b"Forwarded: for=192.0.2.9;proto=https\r\n", "http"),
    ],
)
def test_rules_see_the_scheme_that_servers_are_told(
    header: str, said: bytes, scheme: str, server: Backing
) -> None:
    client = {**NEAR, "header": header}
    rule = {"name": "other", "match": {"scheme": "http" if scheme == "https" else "https"}}
    rules = plan(server.url, client=client, rules=[{**rule, "deny": True}])
    with Stage(rules) as stage, stage.talk() as talk:
        assert told(talk, server, said)["x-forwarded-proto"] == scheme
        assert answered(talk).status == 200
