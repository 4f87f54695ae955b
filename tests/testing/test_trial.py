"""Rules tried in virtual time, as users do it in their own tests."""

from __future__ import annotations

import gc
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import pytest

from headgate.rules.live.entry import Refusal
from headgate.rules.matching.request import Request
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from headgate.testing.plugin import headgate_rules
from headgate.testing.trial import Outcome, Trial

Begin = Callable[[object], Trial]
LOGIN = Rule("login", match={"method": "POST", "path": "/login"}, key="client.ip", limit="5/min")
U = Rule("u", match={"path": "/u"}, key="header.x-user", limit="1/min")
ONE = {"by": "aimd", "initial": 1, "floor": 1, "ceiling": 2}
ADA = {"x-user": "ada"}
KNOWN = "client, user, plan, headers, host, scheme and address"

# A trial stops after 10,000 admitted requests, which takes 0.3 s: once is enough.
few = pytest.mark.usefixtures("_few")
# Here the fixture is taken by its name, whether or not Headgate is installed.
__all__ = ["headgate_rules"]


@pytest.fixture
def _few(monkeypatch: pytest.MonkeyPatch, scale: int) -> None:
    """Treat 500 admitted requests as endless."""
    if scale == 1:
        monkeypatch.setattr("headgate.testing.trial.MOST", 500)


def test_rules_of_a_file_are_tried(headgate_rules: Begin, tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text('version = 1\n[[rules]]\nname = "login"\nkey = "client.ip"\nlimit = "5/min"\n')
    trial = headgate_rules(file)

    trial.assert_admits(5, "POST /login", client="203.0.113.7")
    trial.assert_admits(5, "POST /login", client="203.0.113.8")


@pytest.mark.parametrize(("within", "count"), [(0.0, 5), (11.9, 5), (12.0, 6), (60.0, 10)])
def test_who_comes_as_soon_as_they_may_gets_all_there_is(within: float, count: int) -> None:
    trial = Trial(Rules([LOGIN]))

    assert trial.admitted("POST /login", within, client="203.0.113.7") == count
    assert trial.clock.now() == round(within * 1e6)


@few
def test_whoever_is_held_stays_inside() -> None:
    trial = Trial(Rules([Rule("one", concurrent=1)]))
    held = trial.hold("GET /")

    trial.assert_refused("one", "GET /")
    trial.leave(held)
    trial.assert_admits(inf, "GET /")


def test_whoever_is_held_stays_inside_though_nobody_keeps_the_entry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A place that is lost is given back by a thread, which here does not take its time.
    monkeypatch.setattr("_thread.start_new_thread", lambda recover, told: recover(*told))
    trial = Trial(Rules([Rule("one", concurrent=1)]))
    trial.hold("GET /")

    gc.collect()

    trial.assert_refused("one", "GET /")


def test_only_answers_that_count_count() -> None:
    trial = Trial(Rules([Rule("login", limit="2/min", counts={"status": 401})]))

    trial.assert_admits(inf, "POST /login", status=200)
    trial.assert_admits(2, "POST /login", status=401)


@few
def test_a_claim_that_is_wrong_fails_in_words() -> None:
    trial = Trial(Rules([LOGIN]))

    with pytest.raises(AssertionError) as caught:
        trial.assert_admits(6, "POST /login", client="203.0.113.7")
    assert str(caught.value) == (
        "POST /login: 5 got in at once, not 6; refused by login: over 5/min, again in 12 s"
    )
    with pytest.raises(AssertionError) as caught:
        trial.assert_admits(5, "GET /")
    assert str(caught.value) == (
        "GET /: no end of them got in at once, not 5; no rule applies to it"
    )
    with pytest.raises(AssertionError) as caught:
        trial.assert_refused("login", "GET /")
    assert str(caught.value) == (
        "GET /: got in, where login was to refuse it; login does not apply to it"
    )


def test_a_line_that_is_none_is_said_to_be() -> None:
    with pytest.raises(ValueError) as caught:
        Trial(Rules([LOGIN])).send("login")
    assert str(caught.value) == "a request is a line such as \"GET /search?q=1\", not 'login'"


@few
def test_the_query_is_part_of_the_line() -> None:
    trial = Trial(Rules([Rule("search", match={"query.q": "x"}, limit="0/s")]))

    trial.assert_refused("search", "GET /search?q=x")
    trial.assert_admits(inf, "GET /search?q=y")


def test_a_rule_refuses_by_its_own_terms_or_by_the_kind_that_is_named() -> None:
    trial = Trial(Rules([U]))

    assert refused(trial, "u", "GET /u", client="10.0.0.1") == (
        'GET /u: u was to refuse it by its own terms, not with kind="key"; '
        "refused by u: no header x-user"
    )
    trial.assert_refused("u", "GET /u", kind="key")
    trial.assert_admits(1, "GET /u", headers=ADA)
    trial.assert_refused("u", "GET /u", headers=ADA)
    trial.assert_refused("u", "GET /u", headers=ADA, kind="limit")
    assert refused(trial, "u", "GET /u", headers=ADA, kind="key") == (
        'GET /u: u was to refuse it with kind="key", not with kind="limit"; '
        "refused by u: over 1/min, again in 60 s"
    )


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        (Rule("r", limit="0/s"), "limit"),
        (Rule("r", concurrent=1), "capacity"),
        (Rule("r", key="method", concurrent=1), "limit"),
        (Rule("r", adaptive=ONE), "capacity"),
        (Rule("r", breaker={"calls": 1}), "capacity"),
        (Rule("r", deny=True), "denied"),
    ],
    ids=repr,
)
def test_whatever_a_rule_says_itself_is_among_its_terms(rule: Rule, kind: str) -> None:
    trial = Trial(Rules([rule]))
    trial.send("GET /", status=500)
    trial.hold("GET /")

    trial.assert_refused("r", "GET /")
    trial.assert_refused("r", "GET /", kind=kind)


@pytest.mark.parametrize(
    ("rule", "cause"),
    [
        (Rule("r", limit="1/min"), "over 1/min, again in 60 s"),
        (Rule("r", limit="1/min", over="wait 2s"), "over 1/min, again in 60 s"),
        (Rule("r", limit=["2/min", "1 per 30day"]), "over 1 per 30day, again in 2592000 s"),
        (Rule("r", limit="7/s", cost=4), "over 7/s, again in 0.142858 s"),
        (Rule("r", limit="2/min", cost=2, overrides={"GET": "1/min"}, key="method"),
         "more than 1/min ever allows"),
        (Rule("r", limit="0/s"), "more than 0/s ever allows"),
        (Rule("r", limit="1/min", over={"wait": {"timeout": "2min", "queue": 0}}),
         "as many wait as may, again in 60 s"),
        (Rule("r", concurrent=1), "over 1 at once"),
        (Rule("r", concurrent=7, key="method", overrides={"GET": 1}), "over 1 at once"),
        (Rule("r", limit="9/s", concurrent=1), "over 1 at once"),
        (Rule("r", adaptive=ONE),
         "over what adaptive lets in at once"),
        (Rule("r", concurrent=7, adaptive=ONE),
         "over what adaptive lets in at once"),
        (Rule("r", deny=True), "it lets nobody in"),
        (Rule("r", key="client.ip", limit="1/s"), "no client"),
        (Rule("r", key=["cookie.sid", "u:{user}:{query.q}", "user", "method"], limit="1/s"),
         "no cookie sid, no user, no query q"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_wrong_claim_ends_with_why_it_was_refused(rule: Rule, cause: str) -> None:
    trial = Trial(Rules([rule]))
    trial.hold("GET /")

    said = f"GET /: 0 got in at once, not 2; refused by r: {cause}"
    assert admits(trial, 2, "GET /") == said


def test_a_breaker_that_is_open_says_when_to_come_back() -> None:
    trial = Trial(Rules([Rule("r", breaker={"calls": 1, "pause": "5s"})]))
    trial.send("GET /", status=500)
    wait = trial.send("GET /").refusal.retry_after  # type: ignore[union-attr]

    cause = f"its breaker is open, again in {wait:.6f}".rstrip("0")
    assert admits(trial, 1, "GET /") == f"GET /: 0 got in at once, not 1; refused by r: {cause} s"


def test_a_store_that_cannot_be_asked_is_named() -> None:
    trial = Trial(Rules([U]))
    entry = trial.send("GET /")
    entry.refusal = Refusal("unavailable", U)

    found = Outcome(trial.keeper.lodge.book, Request("GET", "/"), entry)
    assert found.reason() == "refused by u: its store cannot be asked"


def test_another_rule_that_refuses_is_named_with_its_reason() -> None:
    trial = Trial(Rules([Rule("api", limit="1/min"), U]))

    trial.assert_admits(1, "GET /u", headers=ADA)
    assert refused(trial, "u", "GET /u", headers=ADA) == (
        "GET /u: u was to refuse it; refused by api: over 1/min, again in 60 s"
    )
    assert refused(trial, "u", "GET /u", kind="key") == (
        'GET /u: u was to refuse it with kind="key"; refused by api: over 1/min, again in 60 s'
    )


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (Rule("r", limit="5/min"), "; r has 4 of 5 left"),
        (Rule("r", match={"path": "/r"}, limit="5/min"), "; r does not apply to it"),
        (Rule("r", limit="0/s", mode="shadow"),
         "; r would have refused it, but its mode is shadow"),
        (Rule("r", limit="0/s", rollout=0.5),
         "; r would have refused it, but its rollout of 0.5% leaves it out"),
        (Rule("r", key="user", limit="0/s", empty_key="allow"),
         "; r lets in who has no key: no user"),
        (Rule("r", concurrent=1), ""),
    ],
    ids=repr,
)  # fmt: skip
def test_a_rule_that_lets_in_what_it_was_to_refuse_says_why(rule: Rule, why: str) -> None:
    trial = Trial(Rules([rule]))

    assert refused(trial, "r", "GET /") == f"GET /: got in, where r was to refuse it{why}"


@few
def test_where_there_is_no_end_of_them_every_rule_they_met_says_why() -> None:
    both = [Rule("a", limit="0/s", mode="shadow"), Rule("b", limit="5/s", counts={"status": 401})]
    trial = Trial(Rules([*both, Rule("c", concurrent=1)]))

    assert admits(trial, 5, "GET /", within=0.5) == (
        "GET /: no end of them got in within 0.5 s, not 5; "
        "a would have refused it, but its mode is shadow; b has 4 of 5 left"
    )
    trial = Trial(Rules([Rule("c", concurrent=1)]))
    assert admits(trial, 5, "GET /") == "GET /: no end of them got in at once, not 5"


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ([LOGIN, U], 'there is no rule "logn"; did you mean login?'),
        ([U, Rule("api", limit="1/s")], 'there is no rule "logn"; there are u, api'),
        ([], 'there is no rule "logn"; there are none'),
    ],
)
def test_a_rule_that_does_not_exist_is_not_waited_for(rules: list[Rule], said: str) -> None:
    trial = Trial(Rules(rules))

    with pytest.raises(ValueError) as caught:
        trial.assert_refused("logn", "POST /login", client="203.0.113.7")
    assert str(caught.value) == said
    assert {tally.passed for tally in trial.keeper.tallies().values()} <= {0}


def test_a_kind_that_does_not_exist_is_not_waited_for() -> None:
    with pytest.raises(ValueError) as caught:
        Trial(Rules([U])).assert_refused("u", "GET /u", kind="keys")
    assert str(caught.value) == (
        "kind is limit, capacity, denied, key or unavailable, not 'keys'; did you mean key?"
    )


@pytest.mark.parametrize("word", ["client", "address"])
@pytest.mark.parametrize("given", ["203.0.113.777", "ada", "2001:db8::/64", 7, None])
def test_what_is_no_address_is_refused(word: str, given: object) -> None:
    with pytest.raises(ValueError) as caught:
        Trial(Rules([LOGIN])).send("POST /login", **{word: given})
    assert str(caught.value) == (
        f"{word} is an address such as 203.0.113.7 or 2001:db8::1, not {given!r}"
    )


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("203.0.113.7", "203.0.113.7:80", True),
        ("203.0.113.7", "203.0.113.8", False),
        ("2001:db8::1", "2001:DB8::2", True),
        ("2001:db8::1", "2001:db8:1::1", False),
        ("local", "local", True),
        ("203.0.113.7", lambda request: "203.0.113.7", True),
    ],
)
def test_clients_are_counted_as_in_front_of_an_app(first: Any, second: Any, same: bool) -> None:
    trial = Trial(Rules([LOGIN]))

    trial.assert_admits(5, "POST /login", client=first)
    assert trial.admitted("POST /login", client=second) == (0 if same else 5)


def test_rules_say_which_addresses_are_one_client() -> None:
    trial = Trial(Rules([LOGIN], client={"ipv4": 24}))

    trial.assert_admits(5, "POST /login", client="203.0.113.7")
    trial.assert_refused("login", "POST /login", client="203.0.113.8")


@few
@pytest.mark.parametrize(
    "facts",
    [{"client": "2001:db8::1"}, {"client": "192.0.2.1", "address": "2001:db8::1"}],
)
def test_networks_are_told_by_the_whole_address(facts: dict[str, str]) -> None:
    trial = Trial(Rules([Rule("inside", match={"client.ip": "2001:db8::1"}, deny=True)]))

    trial.assert_refused("inside", "GET /", **facts)
    trial.assert_admits(inf, "GET /", client="2001:db8::2")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"query": {"q": "x"}}, 'the query is part of the line, as in "GET /search?q=1"'),
        ({"method": "POST"}, 'the method is part of the line, as in "GET /search?q=1"'),
        ({"path": "/"}, 'the path is part of the line, as in "GET /search?q=1"'),
        ({"usr": "ada"}, f'there is no "usr" here; did you mean user? A request has {KNOWN}'),
        ({"whithin": 9}, f'there is no "whithin" here; did you mean within? A request has {KNOWN}'),
        ({"within": 9}, f'there is no "within" here; a request has {KNOWN}'),
        ({"body": "{}"}, f'there is no "body" here; a request has {KNOWN}'),
    ],
)
def test_a_keyword_that_is_none_is_answered_with_those_there_are(
    facts: dict[str, Any], said: str
) -> None:
    with pytest.raises(TypeError) as caught:
        Trial(Rules([LOGIN])).send("GET /", **facts)
    assert str(caught.value) == said


def test_a_failure_is_shown_at_the_line_of_the_test() -> None:
    with pytest.raises(AssertionError) as caught:
        Trial(Rules([U])).assert_admits(1, "GET /u")

    shown = caught.traceback.filter(caught)
    assert [Path(str(entry.path)).name for entry in shown] == ["test_trial.py"]


def refused(trial: Trial, rule: str, line: str, **facts: Any) -> str:
    """What a wrong claim that a rule refuses is answered with."""
    with pytest.raises(AssertionError) as caught:
        trial.assert_refused(rule, line, **facts)
    return str(caught.value)


def admits(trial: Trial, units: float, line: str, **facts: Any) -> str:
    """What a wrong claim of how many get in is answered with."""
    with pytest.raises(AssertionError) as caught:
        trial.assert_admits(units, line, **facts)
    return str(caught.value)


def test_rules_are_tried_although_limits_are_switched_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADGATE_ENABLED", "0")
    trial = Trial(Rules([Rule("r", limit="1/min")]))

    trial.assert_admits(1, "GET /")
