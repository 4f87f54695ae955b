"""Behind proxies an echo tells which address is seen, and whether a client can choose it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from headgate.doctor.chain import probe
from headgate.doctor.echo import Echo
from headgate.rules import Client
from tests.doctor.scenes import told
from tests.gateway.answering import Answering
from tests.gateway.staging import Stage, plan
from tests.servers.ports import Port

HERE = "127.0.0.1"


@contextmanager
def echoing(client: Client) -> Iterator[str]:
    with Echo((HERE, 0), client) as echo:
        thread = Thread(target=echo.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://{HERE}:{echo.server_address[1]}"
        finally:
            echo.shutdown()
            thread.join()


def seen(url: str, expect: str = "") -> list[str]:
    return [told(one, Path("/nowhere")).replace(url, "URL") for one in probe(url, expect)]


def test_an_address_that_nobody_can_choose_is_well() -> None:
    with echoing(Client()) as url:
        assert seen(url, HERE) == [
            "good: chain.reach: URL: an echo answers",
            "good: chain.spoof: URL: whatever a client says, it is 127.0.0.1",
            "good: chain.seen: URL: 127.0.0.1 is seen; 127.0.0.1 is the client, for no proxy is "
            "trusted",
        ]


@pytest.mark.parametrize(
    ("client", "said"),
    [
        (
            {"trusted_proxies": ["127.0.0.0/8"]},
            "bad: chain.spoof: URL: a client that says it is 198.51.100.99 in x-forwarded-for is "
            "taken for that; 127.0.0.1 is a proxy: trusted_proxies has 127.0.0.0/8, 198.51.100.99 "
            "is no proxy that trusted_proxies names: the client",
        ),
        (
            {"trusted_hops": 2},
            "bad: chain.spoof: URL: a client that says it is 198.51.100.99 in x-forwarded-for is "
            "taken for that; 127.0.0.1 is believed, whoever it is: 2 proxies are counted, none "
            "named, 198.51.100.99 is a proxy: trusted_hops counts 2 of them, it has fewer "
            "addresses than there are proxies; the first of them is the client",
        ),
        (
            {"trusted_proxies": ["127.0.0.0/8"], "header": "cf-connecting-ip"},
            "bad: chain.spoof: URL: a client that says it is 198.51.100.99 in cf-connecting-ip is "
            "taken for that; 127.0.0.1 is a proxy: trusted_proxies has 127.0.0.0/8, 198.51.100.99 "
            "is no proxy that trusted_proxies names: the client",
        ),
    ],
)
def test_an_address_that_anybody_can_choose_is_found(client: dict[str, Any], said: str) -> None:
    with echoing(Client(**client)) as url:
        assert seen(url, HERE)[1] == said


@contextmanager
def fronted(client: Client) -> Iterator[str]:
    """An echo behind a proxy, which writes anew whom it saw: a gateway of ours."""
    with echoing(client) as url, Stage(plan(url, rules=[])) as stage:
        yield f"http://{HERE}:{stage.port}"


def test_through_a_proxy_that_is_believed_the_client_is_seen() -> None:
    # Who asks is on this machine like the proxy, so only the count tells them apart.
    with fronted(Client(trusted_hops=1)) as url:
        assert seen(url, HERE) == [
            "good: chain.reach: URL: an echo answers",
            "good: chain.spoof: URL: whatever a client says, it is 127.0.0.1",
            "good: chain.seen: URL: 127.0.0.1 is seen; 127.0.0.1 is believed, whoever it is: 1 "
            "proxies are counted, none named, 127.0.0.1 is number 1 from the right, as "
            "trusted_hops has it: the client",
        ]


def test_a_proxy_that_is_taken_for_the_client_is_found() -> None:
    proxy = (
        "127.0.0.1 is seen; 127.0.0.1 is the client, for no proxy is trusted, 127.0.0.1 is "
        "hearsay, and is not looked at"
    )
    with fronted(Client()) as url:
        assert seen(url)[2] == f"doubt: chain.seen: URL: {proxy}: is that a proxy of yours?"
        assert seen(url, "203.0.113.7")[2] == (
            f"bad: chain.seen: URL: {proxy}; it should be 203.0.113.7"
        )


def test_what_is_no_echo_is_told() -> None:
    port = Port()
    with Answering() as service:
        assert seen(service.url) == [
            "bad: chain.reach: URL: there answers something else, with 200, and no echo"
        ]
    assert seen(f"http://{HERE}:{port.number}") == [
        "bad: chain.reach: URL: [Errno 111] Connection refused"
    ]
    assert seen("ftp://a.test") == [
        'bad: chain.reach: URL: "URL" is no address of a chain; write one such as '
        "https://a.example/"
    ]
