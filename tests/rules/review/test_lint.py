"""What is probably not meant is told, with the way to it, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from headgate.rules.review.lint import warnings
from tests.rules.model.rich import RICH

PROXIES = {"trusted_proxies": ["10.0.0.0/8"]}


def rule(name: str = "a", **fields: Any) -> Rule:
    return Rule(name, **({"limit": "5/s"} | fields))


def told(*rules: Rule, **top: Any) -> list[str]:
    found = warnings(Rules(rules, **top))
    assert all(warning.warning for warning in found)
    return [str(warning) for warning in found]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"limit": "20000/s", "by": "sliding_log"},
            "rules[0].limit: a sliding_log keeps 20,000 moments for every key; sliding_window "
            "needs a few numbers",
        ),
        (
            {"limit": ["5/s", {"rate": "20000/h", "by": "sliding_log"}]},
            "rules[0].limit: a sliding_log keeps 20,000 moments for every key; sliding_window "
            "needs a few numbers",
        ),
        ({"limit": "0/s"}, "rules[0].limit: 0/s lets nothing in; deny: true says so"),
        (
            {"limit": "100KB/s"},
            "rules[0].limit: 100KB/s counts requests, each as one byte; say cost: {by: body}, or "
            "use bandwidth",
        ),
        (
            {"limit": (), "bandwidth": "100/s"},
            "rules[0].bandwidth: counts bytes: 100/s is 100 of them; write it in B, KB or MB",
        ),
        (
            {"limit": "5/s burst 8", "cost": 9},
            "rules[0].cost: 9 units never fit into a limit of 8, so what costs them is always "
            "refused; raise the burst",
        ),
        (
            {"cost": [1, {"by": "header.x-n"}]},
            "rules[0].cost[1]: header.x-n is whatever a client says, up to 1,099,511,627,776; say "
            "with most how much of it is believed",
        ),
        (
            {"limit": (), "deny": True},
            "rules[0].deny: lets nobody in at all, for the rule has no match; say whom it is about",
        ),
        (
            {"counts": {"status": 401}, "over": "wait 2s"},
            "rules[0].over: makes requests wait that may turn out not to count; with counts, "
            "reject is better",
        ),
        (
            {"limit": (), "breaker": True, "over": "wait 2s"},
            "rules[0].over: nothing here can be waited for; leave it out",
        ),
        (
            {"over": "degrade"},
            "rules[0].over: answers 200 with an empty body, as if that were the answer; say a "
            "body, or stale",
        ),
        (
            {"over": "redirect /busy?why=limit"},
            "rules[0].over: /busy?why=limit meets this rule again, so whoever is refused goes in "
            "circles; except it with match: {not: {path: /busy}}",
        ),
        (
            {
                "match": {"path": "/**", "method": "POST"},
                "over": {"redirect": {"to": "/busy", "status": 307}},
            },
            "rules[0].over: /busy meets this rule again, so whoever is refused goes in circles; "
            "except it with match: {not: {path: /busy}}",
        ),
        (
            {"rollout": "0%", "key": "user"},
            "rules[0].rollout: is enforced for nobody; mode: shadow says so",
        ),
        (
            {"rollout": "50%", "key": "user", "mode": "shadow"},
            "rules[0].rollout: says nothing in shadow, where nobody is refused; leave one of them "
            "out",
        ),
        (
            {"rollout": "50%"},
            "rules[0].rollout: is a share of keys, and without a key it is all requests or none; "
            "say a key",
        ),
        (
            {"when_unavailable": "deny"},
            "rules[0].when_unavailable: is about a store that may be away, and memory:// never is; "
            "leave it out",
        ),
        (
            {"key": "header.x-user"},
            "rules[0].key: header.x-user is whatever a client sends: with another one it is "
            "counted anew, with yours it counts for you; count by user, or add a rule by client.ip",
        ),
        (
            {"key": "u:{cookie.session}"},
            "rules[0].key: cookie.session is whatever a client sends: with another one it is "
            "counted anew, with yours it counts for you; count by user, or add a rule by client.ip",
        ),
        (
            {"key": ["header.x-user", "client.ip"]},
            "rules[0].key: header.x-user is whatever a client sends: with another one it is "
            "counted anew; count by user, or add a rule by client.ip",
        ),
        (
            {"match": {"path": "/users/<int:id>"}},
            'rules[0].match.path: "/users/<int:id>" is taken literally; paths have {id}, * and **, '
            "as in /users/{id}",
        ),
        (
            {"match": {"path": ["/a", "/users/:id"]}},
            'rules[0].match.path[1]: "/users/:id" is taken literally; paths have {id}, * and **, '
            "as in /users/{id}",
        ),
        (
            {"match": {"not": {"path": "/users/[0-9]+/x"}}},
            'rules[0].match.not.path: "/users/[0-9]+/x" is taken literally; paths have {id}, * and '
            "**, as in /users/*/x",
        ),
        (
            {"cost": {"path": "/users/:id", "units": 2}},
            'rules[0].cost.path: "/users/:id" is taken literally; paths have {id}, * and **, as in '
            "/users/{id}",
        ),
        (
            {"cost": [{"path": "/users/:id", "units": 2}, 3]},
            'rules[0].cost[0].path: "/users/:id" is taken literally; paths have {id}, * and **, as '
            "in /users/{id}",
        ),
        (
            {"key": "header.x-forwarded-for"},
            "rules[0].key: header.x-forwarded-for is whatever a client sends, and client.ip is who "
            "it is; write that, and name the proxies to believe in client.trusted_proxies",
        ),
        (
            {"match": {"header.x-real-ip": "10.*"}},
            "rules[0].match: header.x-real-ip is whatever a client sends, and client.ip is who it "
            "is; write that, and name the proxies to believe in client.trusted_proxies",
        ),
        (
            {"group": "g"},
            "rules[0].group: is alone in its group, which does nothing then; leave it out",
        ),
        (
            {"key": "client.ip", "overrides": {"10.0.0.0/8": "unlimited"}},
            "rules[0].overrides.10.0.0.0/8: is a network, and keys are compared as they are: none "
            "is in it; write a rule that matches client.ip: 10.0.0.0/8",
        ),
        (
            {"key": "client.ip", "overrides": {"2001:db8::1": "unlimited"}},
            "rules[0].overrides.2001:db8::1: is counted as a part of 2001:db8::/64; write that",
        ),
        (
            {"key": "client.ip", "overrides": {"root": "unlimited"}},
            "rules[0].overrides.root: is no address, and the key is client.ip; write one such as "
            "203.0.113.7",
        ),
    ],
)  # fmt: skip
def test_an_odd_rule_is_told_what_would_be_better(fields: dict[str, Any], said: str) -> None:
    assert told(rule(**fields)) == [said]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"limit": "10000/s", "by": "sliding_log"},
        {"limit": "100KB/s", "cost": {"by": "body", "most": 10**6}},
        {"limit": (), "bandwidth": "100KB/s"},
        {"limit": (), "bandwidth": "unlimited"},
        {"cost": {"by": "response.body"}},
        {"cost": 5},
        {"limit": (), "deny": True, "match": {"path": "/x"}},
        {"limit": (), "deny": True, "when": "size > 5"},
        {"over": "redirect https://example.com/"},
        {"over": "redirect //example.com/"},
        {"over": "redirect /busy", "match": {"path": "/v1/**"}},
        {"over": "redirect /busy", "match": {"not": {"path": "/busy"}}},
        {"over": "redirect /busy", "match": {"method": "POST"}},
        {"over": {"degrade": {"stale": "1min"}}},
        {"over": "wait 2s"},
        {"limit": (), "concurrent": 5, "over": "wait 2s"},
        {"match": {"path": ["/users/{id}", "/**/.*", "/$batch", "/v1/x:cancel"]}},
        {"key": "user"},
        {"key": "user", "rollout": "50%"},
        {"key": "client.ip", "overrides": {"192.0.2.1": "unlimited", "2001:db8::/64": "5/s"}},
        {"key": "user", "overrides": {"10.0.0.0/8": "unlimited"}},
    ],
)
def test_a_rule_that_means_what_it_says_is_not(fields: dict[str, Any]) -> None:
    assert told(rule(**fields)) == []


@pytest.mark.parametrize("client", [PROXIES, {**PROXIES, "trusted_hops": 1}])
def test_what_a_proxy_may_have_written_is_believed(client: dict[str, Any]) -> None:
    assert told(rule(key="header.x-user"), client=client, plan="header.x-plan") == []


CLAIMED = (
    "rules[0].key: header.x-user is whatever a client sends: with another one it is counted anew, "
    "with yours it counts for you; count by user, or add a rule by client.ip"
)


@pytest.mark.parametrize(
    "fields",
    [
        {"key": "client.ip"},
        {"key": "user"},
        {"key": ["client.ip", "user"]},
        {"key": "ip:{client.ip}", "match": {"path": "/v1/**"}},
    ],
)
def test_a_key_that_anybody_can_choose_beside_one_that_nobody_can(fields: dict[str, Any]) -> None:
    chosen = rule(key="header.x-user", match={"path": "/v1/users"})

    assert told(chosen, rule("b", **fields)) == []
    assert told(rule("b", **fields), chosen) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"key": "client.ip", "match": {"path": "/v2/**"}},
        {"key": "client.ip", "match": {"method": "POST"}},
        {"key": "client.ip", "mode": "shadow"},
        {"key": "client.ip", "limit": "unlimited"},
        {"key": "client.ip", "limit": (), "concurrent": 5},
        {"key": ["client.ip", "path"]},
        {"key": "user", "empty_key": "allow"},
        {},
    ],
)
def test_a_key_that_anybody_can_choose_beside_one_that_does_not_bound_it(
    fields: dict[str, Any],
) -> None:
    chosen = rule(key="header.x-user", match={"path": "/v1/users"})

    assert told(chosen, rule("b", **fields)) == [CLAIMED]


def test_of_a_group_one_rule_does_not_bound_another() -> None:
    chosen = rule(key="header.x-user", match={"path": "/v1/users"}, group="g")

    assert told(chosen, rule("b", key="client.ip", group="g")) == [CLAIMED]


def test_no_rules_are_no_limits() -> None:
    assert told() == ["rules: there is none, so everything is let in; write one"]


def test_a_plan_that_anybody_can_choose() -> None:
    assert told(rule(), plan="header.x-plan") == [
        "plan: is whatever a client sends, so everybody chooses their own plan; let the app say "
        "it, or a proxy that client.trusted_proxies names"
    ]


@pytest.mark.parametrize("proxies", [["0.0.0.0/1", "128.0.0.0/1"], ["32.0.0.0/3"], ["2000::/3"]])
def test_proxies_that_are_everybody(proxies: list[str]) -> None:
    (said,) = told(rule(), client={"trusted_proxies": proxies})

    assert said.startswith("client.trusted_proxies: ")
    assert said.endswith(
        " is far more than anybody's proxies, and all there are believed; name the networks of "
        "your own proxies"
    )


@pytest.mark.parametrize("proxies", [["10.0.0.0/8"], ["fc00::/7"], ["172.16.0.0/12"]])
def test_proxies_of_ones_own_network(proxies: list[str]) -> None:
    assert told(rule(), client={"trusted_proxies": proxies}) == []


def test_hops_without_proxies() -> None:
    assert told(rule(), client={"trusted_hops": 1}) == [
        "client.trusted_hops: whoever reaches the app past the proxies chooses their own address; "
        "name the proxies in trusted_proxies too"
    ]


@pytest.mark.parametrize("terms", [{}, {"a": "5/s"}])
def test_a_plan_that_changes_nothing(terms: dict[str, Any]) -> None:
    assert told(rule(), plans={"free": terms}) == [
        "plans.free: changes nothing: who has it may what all may; leave it out"
    ]


def test_a_plan_without_limits_where_there_are_none() -> None:
    denied = Rule("a", deny=True, match={"path": "/x"})

    assert told(denied, plans={"vip": "unlimited"}) == [
        "plans.vip: changes nothing: who has it may what all may; leave it out"
    ]


@pytest.mark.parametrize("terms", ["unlimited", {"a": "unlimited"}, {"a": "6/s"}])
def test_a_plan_that_changes_something(terms: Any) -> None:
    assert told(rule(), plans={"free": terms}) == []


def test_a_match_for_a_plan_that_is_none() -> None:
    plans = {"free": {"a": "1/s"}}

    assert told(rule(match={"plan": "fre"}), plans=plans) == [
        'rules[0].match.plan: there is no plan "fre"; did you mean free?'
    ]
    assert told(rule(match={"plan": "free"}), plans=plans) == []


def test_a_rule_that_is_never_reached() -> None:
    first = rule("first", group="g", match={"path": "/v1/**"})
    second = rule("second", group="g", match={"path": "/v1/users", "method": "GET"})

    assert told(first, second) == [
        'rules[1]: is never reached: "first" of the same group meets all it would; put it before '
        "that one"
    ]
    assert told(second, first) == []


def test_a_group_that_is_misspelled() -> None:
    rules = [rule(name, group="tenants", match={"path": f"/{name}"}) for name in "ab"]

    assert told(*rules, rule("c", group="tenant")) == [
        "rules[2].group: is alone in its group, which does nothing then; did you mean tenants?"
    ]


def test_two_rules_that_count_the_same() -> None:
    assert told(rule("a", key="user"), rule("b", key="user")) == [
        'rules[1]: counts what "a" counts, for the same keys; keep one of them'
    ]
    assert told(rule("a", key="user"), rule("b", key="client.ip")) == []


def test_the_rich_file_is_odd_in_one_way_only() -> None:
    assert [str(warning) for warning in warnings(Rules(**RICH))] == [
        "rules[4].over: /busy meets this rule again, so whoever is refused goes in circles; except "
        "it with match: {not: {path: /busy}}",
    ]
