"""Which answers are kept for those who are refused later, and who gets them."""

from __future__ import annotations

from typing import Any

import pytest

from headgate import ManualClock
from headgate.adapters.http.larder import LARGEST, Larder, stocked
from headgate.rules import Entry, Gatekeeper, Request, Rule, Rules

HEADERS = [(b"content-type", b"text/plain"), (b"date", b"today"), (b"content-length", b"2")]
STALE = {"degrade": {"stale": "60s", "status": 503}}


class Shop:
    """A gatekeeper with a rule that would rather have an old answer than none."""

    def __init__(self, **fields: Any) -> None:
        self.clock = ManualClock()
        settings = {"limit": "1/h", "over": STALE, **fields}
        self.keeper = Gatekeeper(Rules([Rule("stock", **settings)]), clock=self.clock)
        self.larder = Larder(self.clock.now, 3)

    def ask(self, path: str = "/stock", **facts: Any) -> Entry:
        return self.keeper.enter(Request(path=path, **facts))


def test_whoever_is_refused_gets_the_last_good_answer() -> None:
    shop = Shop()
    good = shop.ask()
    shop.larder.keep(good, "/stock", 200, HEADERS, b"12")
    shop.clock.advance(59.5)

    found = shop.larder.find(shop.ask(), "/stock")

    assert stocked(good)
    assert found == (
        [(b"content-type", b"text/plain"), (b"content-length", b"2"), (b"age", b"59")], b"12",
    )  # fmt: skip


def test_an_answer_that_is_too_old_is_none() -> None:
    shop = Shop()
    shop.larder.keep(shop.ask(), "/stock", 200, HEADERS, b"12")
    shop.clock.advance(60.000001)

    assert shop.larder.find(shop.ask(), "/stock") is None


def test_who_was_not_refused_gets_none() -> None:
    shop = Shop()
    entry = shop.ask()
    shop.larder.keep(entry, "/stock", 200, HEADERS, b"12")

    assert shop.larder.find(entry, "/stock") is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"headers": {"x-user": "a"}}, {"headers": {"x-user": "b"}}),
        ({"headers": {"x-user": "a"}, "host": "one"}, {"headers": {"x-user": "a"}, "host": "two"}),
        (
            {"headers": {"x-user": "a", "accept-language": "de"}},
            {"headers": {"x-user": "a", "accept-language": "fr"}},
        ),
    ],
)
def test_who_asks_otherwise_gets_no_answer_of_others(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    shop = Shop(key="header.x-user")
    shop.larder.keep(shop.ask(**first), "/stock", 200, HEADERS, b"12")
    refused = [shop.ask(**second) for _ in range(2)][-1]

    assert shop.larder.find(refused, "/stock") is None
    assert shop.larder.find(shop.ask(**first), "/stock") is not None


@pytest.mark.parametrize(
    ("status", "headers", "body", "facts"),
    [
        (404, HEADERS, b"12", {}),
        (200, [(b"set-cookie", b"a=b")], b"12", {}),
        (200, [(b"Cache-Control", b"max-age=9, Private")], b"12", {}),
        (200, [(b"cache-control", b"no-store")], b"12", {}),
        (200, [(b"vary", b"accept, x-user")], b"12", {}),
        (200, [(b"vary", b"*")], b"12", {}),
        (200, HEADERS, b"x" * (LARGEST + 1), {}),
        (200, HEADERS, b"12", {"method": "POST"}),
        (200, HEADERS, b"12", {"headers": {"authorization": "Bearer x"}}),
        (200, HEADERS, b"12", {"headers": {"cookie": "session=1"}}),
    ],
)
def test_what_is_not_for_everybody_is_not_kept(
    status: int, headers: list[tuple[bytes, bytes]], body: bytes, facts: dict[str, Any]
) -> None:
    shop = Shop()
    shop.larder.keep(shop.ask(**facts), "/stock", status, headers, body)

    assert shop.larder.find(shop.ask(**facts), "/stock") is None


def test_the_least_used_makes_room() -> None:
    shop = Shop(key="path")
    for number in range(5):
        path = f"/{number}"
        shop.larder.keep(shop.ask(path), path, 200, HEADERS, b"12")

    found = [shop.larder.find(shop.ask(f"/{number}"), f"/{number}") for number in range(5)]

    assert [one is not None for one in found] == [False, False, True, True, True]


def test_a_rule_without_staleness_keeps_nothing() -> None:
    shop = Shop(over={"degrade": {"body": "sold out"}})
    entry = shop.ask()
    shop.larder.keep(entry, "/stock", 200, HEADERS, b"12")

    assert not stocked(entry)
    assert shop.larder.find(shop.ask(), "/stock") is None
