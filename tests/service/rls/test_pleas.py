"""Descriptors of domains that no file has: rules decide, as they do on requests."""

from __future__ import annotations

import pytest

from headgate.rules.model.rules import Rules
from headgate.service.rls.petition import Petition
from tests.service.rls.calls import Desk, codes, priced, stand

OVER = "OVER_LIMIT"
RULES = """
version: 1
rules:
  - name: login
    match: {path: /login, method: POST}
    key: client.ip
    limit: 2/min
  - name: checkout
    match: {header.generic-key: checkout}
    key: header.remote-address
    limit: [3/min, 5/h]
  - name: tried
    match: {header.tried: "1"}
    mode: shadow
    limit: 1/min
  - name: off
    match: {header.off: "1"}
    deny: true
  - name: slow
    match: {host: slow}
    limit: 1/min
    over: {wait: 10s}
  - name: tokens
    match: {host: tokens}
    key: user
    cost: {by: response.header.x-tokens}
    limit: {rate: 10/min, by: fixed_window}
  - name: few
    match: {host: both}
    limit: 5/min
  - name: many
    match: {host: both}
    limit: 50/min
  - name: planned
    match: {host: planned}
    key: user
    limit: 1/min
    overrides: {ann: unlimited}
plans:
  gold: {planned: 3/min}
"""


@pytest.fixture
def desk() -> Desk:
    return Desk(rules=Rules.read(RULES))


def test_who_asks_most_is_noted() -> None:
    desk = Desk(rules=Rules.read("{version: 1, rules: [{name: a, key: client.ip, limit: 2/day}]}"))
    told = {"remote_address": "192.0.2.1"}
    for _ in range(3):
        desk.ask("any", told)
    desk.ask("any", told, {"remote_address": "192.0.2.2"})

    found, total, _ = desk.keeper.tallies()["a"].tops.most(5, desk.clock.now())
    # The third, and what came with the fourth, were refused.
    assert found[0] == ("192.0.2.1", 4, 0, 2)
    assert total in (4, 5)


def test_an_entry_is_the_fact_of_its_name_and_a_header() -> None:
    entries = [
        ("remote_address", "2001:db8:1:2:3::9"),
        (":path", "/a%20b?q=1"),
        (":method", "put"),
        (":authority", "Shop.example:443"),
        ("user", "ann"),
        ("plan", "gold"),
        ("generic_key", "checkout"),
    ]

    found = Petition("edge", entries, Rules().client)

    assert (found.client, found.address) == ("2001:db8:1:2::/64", "2001:db8:1:2:3::9")
    assert (found.method, found.path, found.query("q")) == ("PUT", "/a b", "1")
    assert (found.host, found.user, found.plan) == ("shop.example", "ann", "gold")
    assert (found.header("generic-key"), found.header("x-none")) == ("checkout", "")


def test_the_host_is_the_domain_unless_an_entry_says_which() -> None:
    plain = Petition("edge", [("masked_remote_address", "10.0.0.0/24")], Rules().client)

    assert (plain.host, plain.method, plain.path, plain.client) == (
        *("edge", "GET", "/"),
        "10.0.0.0/24",
    )


def test_a_rule_counts_a_descriptor_like_a_request(desk: Desk) -> None:
    told = {"remote_address": "192.0.2.1", "path": "/login", "method": "POST"}

    found = [stand(desk.ask("edge", told)) for _ in range(3)]
    other = desk.ask("edge", {**told, "remote_address": "192.0.2.2"})

    assert found == [
        ("OK", 2, "MINUTE", 1, 30),
        ("OK", 2, "MINUTE", 0, 60),
        (OVER, 2, "MINUTE", 0, 30),
    ]
    assert codes(other) == ["OK", "OK"]
    assert other.statuses[0].current_limit.name == "login"
    tally = desk.keeper.tallies()["login"]
    assert (tally.passed, tally.refused) == (3, 1)


def test_a_rule_is_not_about_a_descriptor_that_lacks_its_key(desk: Desk) -> None:
    assert desk.codes("edge", {"path": "/login", "method": "POST"}) == ["OK", "OK"]
    assert desk.codes("edge", {"generic_key": "checkout"}) == ["OK", "OK"]


def test_what_one_descriptor_refuses_spends_nothing_of_others(desk: Desk) -> None:
    login = {"remote_address": "192.0.2.1", "path": "/login", "method": "POST"}
    buy = {"generic_key": "checkout", "remote_address": "192.0.2.1"}
    for _ in range(2):
        desk.ask("edge", login)

    refused = desk.ask("edge", buy, login)

    assert codes(refused) == [OVER, "OK", OVER]
    assert stand(refused)[:4] == ("OK", 3, "MINUTE", 3)
    assert stand(desk.ask("edge", priced(0, **buy)))[3] == 3


def test_hits_are_so_many_times_what_a_request_costs(desk: Desk) -> None:
    buy = {"generic_key": "checkout", "remote_address": "192.0.2.1"}

    assert stand(desk.ask("edge", buy, hits=3))[3] == 0
    assert codes(desk.ask("edge", priced(1, **buy))) == [OVER, OVER]
    assert stand(desk.ask("edge", priced(-2, **buy)))[:4] == ("OK", 3, "MINUTE", 2)
    assert codes(desk.ask("edge", buy, hits=2)) == ["OK", "OK"]


def test_of_several_rules_the_tightest_is_told_when_some_is_given_back(desk: Desk) -> None:
    desk.ask("both", {"a": "b"}, hits=4)

    assert stand(desk.ask("both", priced(-1, a="b"))) == ("OK", 5, "MINUTE", 2, 36)


def test_a_rule_that_is_tried_out_refuses_nobody(desk: Desk) -> None:
    assert [desk.codes("edge", {"tried": "1"})[0] for _ in range(3)] == ["OK"] * 3
    assert desk.keeper.tallies()["tried"].shadowed == 2


def test_who_is_denied_is_refused(desk: Desk) -> None:
    response = desk.ask("edge", {"off": "1"})

    assert codes(response) == [OVER, OVER]
    assert stand(response) == (OVER, 0, "UNKNOWN", 0, 0)


def test_a_rule_that_would_have_one_wait_says_when_to_come_back(desk: Desk) -> None:
    found = [stand(desk.ask("slow", {"a": "1"})) for _ in range(2)]

    assert found == [("OK", 1, "MINUTE", 0, 60), (OVER, 1, "MINUTE", 0, 60)]


def test_what_answers_cost_is_told_afterwards_and_owed(desk: Desk) -> None:
    before = desk.codes("tokens", priced(0, user="ann"))
    after = desk.codes("tokens", priced(12, user="ann"))

    assert (before, after) == (["OK", "OK"], [OVER, OVER])
    assert desk.codes("tokens", priced(0, user="ann")) == [OVER, OVER]
    assert desk.codes("tokens", priced(0, user="bob")) == ["OK", "OK"]


@pytest.mark.parametrize(
    ("told", "most"),
    [({"user": "ann"}, 5), ({"user": "bob"}, 1), ({"user": "cid", "plan": "gold"}, 3)],
)
def test_plans_and_overrides_hold(desk: Desk, told: dict[str, str], most: int) -> None:
    found = [desk.codes("planned", told)[0] for _ in range(5)]

    assert found == ["OK"] * most + [OVER] * (5 - most)


def test_new_rules_hold_from_the_next_call_on(desk: Desk) -> None:
    told = {"remote_address": "192.0.2.1", "path": "/login", "method": "POST"}
    before = [desk.codes("edge", told)[0] for _ in range(3)]

    desk.keeper.change(Rules.read(RULES.replace("2/min", "40/min")))

    assert before == ["OK", "OK", OVER]
    desk.clock.advance(1.5)

    assert stand(desk.ask("edge", told)) == ("OK", 40, "MINUTE", 0, 60)


def test_listeners_hear_of_each_descriptor(desk: Desk) -> None:
    heard = []
    desk.keeper.listen(heard.append)

    desk.ask("edge", {"off": "1"}, {"none": "1"})
    desk.ask("slow", {"a": "1"})

    assert [bool(entry) for entry in heard] == [False, True, True]
