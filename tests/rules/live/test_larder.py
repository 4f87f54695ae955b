"""Which answers are kept for those who are refused later, and who gets them."""

from __future__ import annotations

from typing import Any

import pytest

from headgate import ManualClock
from headgate.rules import Entry, Gatekeeper, Request, Rule, Rules
from headgate.rules.live.larder import LARGEST, Larder

STALE = {"degrade": {"stale": "60s", "status": 503}}


class Shop:
    """A gatekeeper with a rule that would rather give an old answer than none."""

    def __init__(self, **fields: Any) -> None:
        self.clock = ManualClock()
        settings = {"limit": "1/h", "over": STALE, **fields}
        self.keeper = Gatekeeper(Rules([Rule("stock", **settings)]), clock=self.clock)

    def ask(self, path: str = "/stock", **facts: Any) -> Entry:
        return self.keeper.enter(Request(path=path, **facts))

    def serve(
        self, status: int = 200, body: bytes = b"12", whole: bool = True, **facts: Any
    ) -> None:
        headers = {"content-type": "text/plain", **facts.pop("answer", {})}
        entry = self.ask(**facts)
        for start in range(0, len(body), 7):
            entry.send(body[start : start + 7])
        entry.complete = whole
        self.keeper.leave(entry, status, lambda name: headers.get(name, ""), len(body))


def test_whoever_is_refused_gets_the_last_good_answer() -> None:
    shop = Shop()
    shop.serve(body=b"as many as there were")
    shop.clock.advance(59.5)

    spare = shop.ask().spare

    assert spare is not None
    assert spare.headers == (("content-type", "text/plain"), ("age", "59"))
    assert spare.body == b"as many as there were"


def test_an_answer_that_is_too_old_is_none() -> None:
    shop = Shop()
    shop.serve()
    shop.clock.advance(60.000001)

    assert shop.ask().spare is None


def test_a_place_that_is_held_is_as_good_as_a_limit() -> None:
    shop = Shop(limit=(), concurrent=1)
    shop.serve()
    inside = shop.ask()

    spare = shop.ask().spare
    shop.keeper.leave(inside)

    assert spare is not None
    assert spare.body == b"12"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"headers": {"x-user": "a"}}, {"headers": {"x-user": "b"}}),
        ({"headers": {"x-user": "a"}, "host": "one"}, {"headers": {"x-user": "a"}, "host": "two"}),
        (
            {"headers": {"x-user": "a"}, "query": "n=1"},
            {"headers": {"x-user": "a"}, "query": "n=2"},
        ),
        (
            {"headers": {"x-user": "a", "accept-language": "de"}},
            {"headers": {"x-user": "a", "accept-language": "fr"}},
        ),
        ({"headers": {"x-user": "a"}}, {"headers": {"x-user": "a"}, "scheme": "https"}),
    ],
)
def test_who_asks_otherwise_gets_no_answer_of_others(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    shop = Shop(key="header.x-user")
    shop.serve(**first)
    refused = [shop.ask(**second) for _ in range(2)][-1]

    assert (bool(refused), refused.spare) == (False, None)
    assert shop.ask(**first).spare is not None


@pytest.mark.parametrize(
    "served",
    [
        {"status": 404},
        {"whole": False},
        {"body": b"x" * (LARGEST + 1)},
        {"answer": {"set-cookie": "a=b"}},
        {"answer": {"cache-control": "max-age=9, Private"}},
        {"answer": {"cache-control": "no-store"}},
        {"answer": {"content-length": "3"}},
        {"answer": {"vary": "accept, x-user"}},
        {"answer": {"vary": "*"}},
        {"method": "POST"},
        {"headers": {"authorization": "Bearer x"}},
        {"headers": {"cookie": "session=1"}},
        {"headers": {"content-length": "9"}},
        {"headers": {"transfer-encoding": "chunked"}},
    ],
)
def test_what_is_not_for_everybody_is_not_kept(served: dict[str, Any]) -> None:
    shop = Shop()
    shop.serve(**served)

    same = {word: served[word] for word in ("method", "headers") if word in served}

    assert shop.ask(**same).spare is None


def test_an_answer_that_may_be_kept_is() -> None:
    shop = Shop()
    shop.serve(answer={"vary": "Accept, accept-encoding", "content-length": "2"})

    assert shop.ask().spare is not None


def test_the_least_used_makes_room() -> None:
    larder = Larder(ManualClock(), most=3)
    requests = [Request(path=f"/{number}") for number in range(5)]
    for request in requests:
        larder.keep(request, "", lambda name: "", b"12")

    found = [larder.find(request, "", 60.0) is not None for request in requests]

    assert found == [False, False, True, True, True]


def test_a_rule_without_staleness_keeps_nothing() -> None:
    shop = Shop(over={"degrade": {"body": "sold out"}})
    shop.serve()

    assert shop.ask().spare is None


@pytest.mark.parametrize(
    ("facts", "given"),
    [
        ({"method": "GET"}, True),
        ({"method": "HEAD"}, True),
        ({"method": "POST"}, False),
        ({"method": "DELETE"}, False),
        ({"headers": {"authorization": "Bearer 1"}}, False),
        ({"headers": {"cookie": "session=1"}}, False),
        ({"headers": {"content-length": "0"}}, True),
        ({"headers": {"content-length": "9"}}, False),
        ({"headers": {"transfer-encoding": "chunked"}}, False),
    ],
)
def test_an_old_answer_is_for_those_who_only_look(facts: dict[str, Any], given: bool) -> None:
    shop = Shop()
    shop.serve()

    assert (shop.ask(**facts).spare is not None) is given


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("v=1&id=1&id=666", "v=1&id=1"),
        ("a=1%26b%3D2&v=1", "a=1&b=2&v=1"),
        ("v=1&v=2", "v=1&v=3"),
        ("v=%31", "v=1"),
    ],
)
def test_another_query_is_another_question_whatever_rules_have_read_of_it(
    first: str, second: str
) -> None:
    shop = Shop(match={"query.v": "1"})
    shop.serve(query=first)

    assert shop.ask(query=second).spare is None
    assert shop.ask(query=first).spare is not None


@pytest.mark.parametrize(
    "fields",
    [
        {"breaker": {"failures": 0.5, "calls": 2}},
        {"adaptive": {"by": "aimd", "initial": 2, "ceiling": 2}},
    ],
    ids=["breaker", "adaptive"],
)
def test_a_breaker_and_a_limit_that_finds_itself_are_as_good(fields: dict[str, Any]) -> None:
    shop = Shop(limit=(), **fields)
    shop.serve()
    inside = [entry for entry in [shop.ask() for _ in range(4)] if entry]
    for entry in inside if "breaker" in fields else []:
        shop.keeper.leave(entry, 500)

    spare = shop.ask().spare

    assert spare is not None
    assert spare.body == b"12"


@pytest.mark.parametrize(
    ("other", "facts", "given"),
    [
        ({"match": {"client.ip": "192.0.2.0/24"}, "deny": True}, {}, True),
        ({"match": {"client.ip": "10.0.0.0/8"}, "deny": True}, {}, False),
        ({"match": {"client.ip": "10.0.0.0/8"}, "deny": True, "mode": "shadow"}, {}, True),
        ({"key": "header.x-user", "limit": "9/h"}, {}, False),
        ({"key": "header.x-user", "limit": "9/h"}, {"headers": {"x-user": "a"}}, True),
        ({"key": "header.x-user", "limit": "9/h", "empty_key": "allow"}, {}, True),
    ],
)
def test_an_old_answer_is_not_for_whom_a_later_rule_would_not_let_in(
    other: dict[str, Any], facts: dict[str, Any], given: bool
) -> None:
    rules = Rules([Rule("stock", limit="1/h", over=STALE), Rule("other", **other)])
    keeper = Gatekeeper(rules, clock=ManualClock())
    entry = keeper.enter(Request(client="198.51.100.1", headers={"x-user": "a"}))
    entry.send(b"12")
    entry.complete = True
    keeper.leave(entry)

    refused = keeper.enter(Request(client="10.0.0.1", **facts))

    assert (bool(refused), refused.spare is not None) == (False, given)
