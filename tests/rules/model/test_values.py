"""Rules are values: a file, the same in code, and what is printed are equal, whatever the form."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import fields, replace
from inspect import signature
from typing import Any

import pytest
from hypothesis import given, settings

from headgate import FixedWindow, Rate, SlidingLog, SlidingWindow, TokenBucket, WarmUp
from headgate.errors import Problem, RulesError
from headgate.rules.clients.client import Client
from headgate.rules.matching.expression import Expression
from headgate.rules.model.allowance import Allowance
from headgate.rules.model.charge import Cost, Counts
from headgate.rules.model.gates import Adaptive, Break, Deny
from headgate.rules.model.gateway import Gateway
from headgate.rules.model.match import Match
from headgate.rules.model.over import Degrade, Redirect, Reject, Wait
from headgate.rules.model.route import Route
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from headgate.rules.model.terms import Terms
from tests.rules.model.forms import as_json, toml, yaml
from tests.rules.model.rich import RICH, SMALL
from tests.rules.model.strategies import files

# Making one example takes 20 ms and more, and `make soak` has hundreds of them.
shorter = settings(max_examples=settings().max_examples * 2 // 5)
GOOD = {"rich": RICH, **SMALL}
SPACE = {"Rules": Rules, "Rule": Rule}


def rule(**fields: Any) -> Rule:
    """A rule that says this and no more than it must."""
    return Rule("r", **({"limit": "5/s"} | fields))


@pytest.mark.parametrize("name", GOOD)
def test_the_three_forms_of_a_file_are_equal(name: str) -> None:
    rules = Rules.read(yaml(GOOD[name]).text, "yaml")

    assert Rules.read(as_json(GOOD[name]).text, "json") == rules
    assert Rules.read(toml(GOOD[name]), "toml") == rules


@pytest.mark.parametrize("name", GOOD)
def test_code_equals_the_file(name: str) -> None:
    plain = dict(GOOD[name])
    made = Rules([Rule(**fields) for fields in plain.pop("rules", ())], **plain)

    assert made == Rules.read(yaml(GOOD[name]).text)


@shorter
@given(files())
def test_what_is_printed_is_what_one_would_type(plain: Mapping[str, Any]) -> None:
    rules = Rules.read(as_json(plain).text, "json")

    assert eval(repr(rules), dict(SPACE)) == rules


@shorter
@given(files())
def test_what_is_spelled_is_read_again(plain: Mapping[str, Any]) -> None:
    rules = Rules.read(as_json(plain).text, "json")

    assert Rules.read(as_json(rules.spelled()).text, "json") == rules
    assert Rules.read(yaml(rules.spelled()).text, "yaml") == rules


@shorter
@given(files())
def test_equal_rules_have_one_hash_and_one_digest_and_survive_pickling(
    plain: Mapping[str, Any],
) -> None:
    rules = Rules.read(as_json(plain).text, "json")
    again = pickle.loads(pickle.dumps(rules))

    assert again == rules
    assert hash(again) == hash(rules)
    assert again.digest == rules.digest


@pytest.mark.parametrize(
    ("field", "said", "value"),
    [
        ("match", {"path": "/a"}, Match({"path": ["/a"]})),
        ("match", {"method": "get", "header.X-A": 1}, Match({"header.x-a": "1", "method": "GET"})),
        ("match", {"not": {"host": "A.example"}}, Match({"not": {"host": "a.example"}})),
        ("match", {"client.ip": "10.1.2.3"}, Match({"client.ip": ["10.1.2.3"]})),
        ("when", "size>5", Expression("size > 5")),
        ("key", "client.ip", ("client.ip",)),
        ("key", ["header.X-User", "u:{user}"], ("header.x-user", "u:{user}")),
        ("limit", "5/min", (Allowance("5/min"),)),
        ("limit", ["5/s", {"rate": "9/h"}], (Allowance("5/s"), Allowance(Rate("9/h")))),
        ("limit", SlidingLog("5/min"), (Allowance("5/min", by="sliding_log"),)),
        ("limit", TokenBucket("5/s", initial=0), (Allowance("5/s", "token_bucket", initial=0),)),
        ("limit", TokenBucket("5/s", burst=9), (Allowance("5/s", "token_bucket", burst=9),)),
        ("limit", WarmUp("5/s", period=3), (Allowance("5/s", "warm_up", period="3s"),)),
        ("limit", SlidingWindow("5/s", name="x"), (Allowance("5/s", "sliding_window", "x"),)),
        (
            "limit",
            FixedWindow("5/day", calendar="day", zone="Europe/Paris"),
            (Allowance("5/day", "fixed_window", calendar="day", zone="Europe/Paris"),),
        ),
        ("cost", 5, (Cost(5),)),
        ("cost", {"path": "/a", "units": 2}, (Cost(2, {"path": "/a"}),)),
        ("cost", [{"by": "body", "per": "1KiB"}, 3], (Cost(by="body", per=1024), Cost(3))),
        ("counts", {"status": "4xx"}, Counts(["4xx"])),
        ("over", "reject", Reject()),
        ("over", "reject 503", Reject(503)),
        ("over", {"reject": 503}, Reject(status=503)),
        ("over", "wait 1.5s", Wait("1500ms")),
        ("over", "wait 2", Wait("2s")),
        ("over", "wait 0.5", Wait("500ms")),
        ("over", {"wait": {"timeout": 2, "queue": 0}}, Wait("2s", 0)),
        ("over", "redirect /busy", Redirect("/busy")),
        ("over", "degrade", Degrade()),
        ("over", {"degrade": {"stale": "1min"}}, Degrade(stale=60)),
        ("breaker", True, Break()),
        ("breaker", {"slow_after": "1s"}, Break(slow_after=1.0)),
        ("adaptive", "bbr", Adaptive("bbr")),
        ("adaptive", {"by": "aimd", "floor": 3}, Adaptive("aimd", floor=3)),
        ("rollout", "12.5%", 12.5),
        ("rollout", 12, 12.0),
        ("bandwidth", "100KB/s", Rate("100000/s")),
    ],
)
def test_a_field_may_be_said_in_several_ways(field: str, said: Any, value: Any) -> None:
    assert getattr(rule(**{field: said}), field) == value
    assert rule(**{field: said}) == rule(**{field: value})


@pytest.mark.parametrize(
    ("said", "value"),
    [(True, Deny()), (410, Deny(410)), ({"status": 410, "body": "gone"}, Deny(410, "gone"))],
)
def test_a_denial_may_be_said_in_several_ways(said: Any, value: Deny) -> None:
    assert Rule("r", deny=said) == Rule("r", deny=value)


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("unlimited", "unlimited"),
        ("5/s", Terms(limit="5/s")),
        ({"rate": "5/s", "burst": 9}, Terms(limit={"rate": "5/s", "burst": 9})),
        ({"limit": ["5/s", "9/h"]}, Terms(limit=["5/s", "9/h"])),
        (5, Terms(concurrent=5)),
    ],
)
def test_terms_may_be_said_in_several_ways(said: Any, value: Any) -> None:
    made = rule(key="user", concurrent=1, overrides={"k": said})

    assert made.overrides["k"] == value


def test_the_client_may_be_said_as_a_mapping_or_made() -> None:
    said = Rules(client={"trusted_proxies": "10.0.0.0/8", "ipv6": 48})

    assert said.client == Client(trusted_proxies=["10.0.0.0/8"], ipv6=48)
    assert said == Rules(client=Client(trusted_proxies=["10.0.0.0/8"], ipv6=48))


def test_limits_are_named_for_their_rule() -> None:
    lone, several = rule(), rule(limit=["5/s", {"rate": "9/h", "name": "hourly"}])

    assert [limit.name for limit in lone.limits()] == ["r"]
    assert [limit.name for limit in several.limits()] == ["r:1", "hourly"]


def test_what_is_unlimited_is_no_limit() -> None:
    assert rule(limit="unlimited").limits() == ()


@pytest.mark.parametrize("value", [rule(), Match({"path": "/a"}), Rules(), Terms("5/s")])
def test_rules_cannot_be_changed(value: Any) -> None:
    with pytest.raises(AttributeError):
        value.limit = "6/s"


def test_where_rules_are_kept_is_not_in_their_digest() -> None:
    assert Rules([rule()], store="shared://a").digest == Rules([rule()]).digest
    assert Rules([rule(limit="6/s")]).digest != Rules([rule()]).digest


def test_a_password_is_not_printed() -> None:
    rules = Rules(store="redis://me:hunter2@host/1")

    assert repr(rules) == "Rules([], store='redis://***@host/1')"
    assert rules.store == "redis://me:hunter2@host/1"


def test_a_gateway_is_kept_and_frozen() -> None:
    plain = {"routes": [{"upstream": "http://a", "match": {"path": "/a"}}]}
    rules = Rules(gateway=plain)
    plain["routes"].append({})

    assert rules.gateway == Gateway(routes=[Route("http://a", {"path": "/a"})])
    assert repr(rules.gateway) == (
        "Gateway(routes=[{'upstream': 'http://a', 'match': {'path': '/a'}}])"
    )
    assert repr(rules.gateway.routes[0]) == ("Route(upstream='http://a', match={'path': '/a'})")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Rule("a", keyy=1), "keyy: there is no such field; did you mean key?"),
        (
            lambda: Rule("a", methods=["GET"], limt="5/s"),
            "methods: there is no such field; write match: {method: ...}\n"
            "limt: there is no such field; did you mean limit?",
        ),
        (
            lambda: Rule("a", key_func=str),
            "key_func: there is no such field; write key: client.ip, or another fact",
        ),
        (
            lambda: Rule("a", deduct_when=bool),
            "deduct_when: there is no such field; write counts: {status: [...]}",
        ),
        (
            lambda: Rule("a", exempt_when=bool),
            "exempt_when: there is no such field; write when: not (...)",
        ),
        (
            lambda: Rule("a", per_method=True),
            "per_method: there is no such field; write key: [..., method]",
        ),
        (lambda: Rules([], stor="memory://"), "stor: there is no such field; did you mean store?"),
        (
            lambda: Allowance("5/s", brust=9),
            "brust: there is no such field; did you mean burst?",
        ),
        (
            lambda: Terms(zzz=9),
            "zzz: there is no such field; there are limit, concurrent, bandwidth",
        ),
        (
            lambda: replace(rule(), mod="shadow"),
            "mod: there is no such field; did you mean mode?",
        ),
    ],
)
def test_a_field_that_is_none_is_told_in_code_as_in_a_file(make: Any, said: str) -> None:
    with pytest.raises(RulesError) as caught:
        make()

    assert str(caught.value) == said


def test_the_fields_of_a_rule_are_told_to_who_asks_for_its_signature() -> None:
    assert [*signature(Rule).parameters] == [one.name for one in fields(Rule)]


def test_what_a_variable_holds_is_filled_in_and_not_told() -> None:
    text = "{version: 1, rules: [{name: a, limit: '${LIMIT}', mode: '${MODE:-shadow}'}]}"

    with pytest.raises(RulesError) as caught:
        Rules.read(text, environment={"LIMIT": "hunter2"})

    assert Rules.read(text, environment={"LIMIT": "5/s"}).rules[0].mode == "shadow"
    assert str(caught.value) == (
        'rules:1:39: rules[0].limit: rate "${LIMIT}": expected a count but found "${LIMIT}" at '
        "column 1; try 100/min or unlimited"
    )


def test_code_is_told_the_way_to_what_is_wrong_and_no_line() -> None:
    with pytest.raises(RulesError) as caught:
        Rule("a b", limit="5/s", over={"wait": {"timeout": "2s", "queue": -1}})

    assert caught.value.problems == (
        Problem(
            'is a name of letters, digits and _ . : -, at most 64 of them, not "a b"', ("name",)
        ),
        Problem(
            "is how many may wait, a whole number of 0 or more, not -1", ("over", "wait", "queue")
        ),
    )


def test_problems_come_in_the_order_of_the_file() -> None:
    text = "rules: [{name: a, deny: no}, {nam: b}]\nversion: 2\n"

    with pytest.raises(RulesError) as caught:
        Rules.read(text)

    places = [(problem.line, problem.column) for problem in caught.value.problems]
    assert places == sorted(places)
    assert len(places) == 4


def test_of_very_many_problems_enough_are_told() -> None:
    text = yaml({"version": 1, "rules": [{"nam": str(number)} for number in range(5000)]}).text

    with pytest.raises(RulesError) as caught:
        Rules.read(text, file="rules.yaml")

    assert len(caught.value.problems) <= 103
    assert str(caught.value.problems[-1]) == "rules.yaml: and perhaps more; this is enough for now"


@pytest.mark.parametrize("name", ["none.yaml", "folder.yaml", "rules.ini", "\0.yaml"])
def test_a_file_that_cannot_be_read_is_a_problem_too(name: str, tmp_path: Any) -> None:
    (tmp_path / "folder.yaml").mkdir()

    with pytest.raises(RulesError):
        Rules.load(f"{tmp_path}/{name}")
