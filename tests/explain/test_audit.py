"""Every refusal of a gateway is explained by its line: the rule, who was counted, the numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from headgate.explain.hindsight import Account, account, lines
from headgate.explain.record import digest
from headgate.rules import Rules
from tests.explain.refusals import HELD, REFUSALS, Refused
from tests.gateway.answering import Answering
from tests.gateway.asking import reply
from tests.gateway.backing import Backing
from tests.gateway.staging import FINE, Stage, answered, plan
from tests.servers.ports import Port

NUMBERS = ("cost", "limit", "remaining", "reset", "retry_after", "waited")


def scene(url: str, log: Path, store: str = "memory://", **audit: Any) -> Rules:
    """A rule for each refusal, each about a path of its own."""
    rules = [
        {"name": name, "match": {"path": f"/{name}"}, **one.rule} for name, one in REFUSALS.items()
    ]
    trial = {"name": "trial", "match": {"path": "/lone"}, "limit": "1/h", "mode": "shadow"}
    terms = {"rate": "unlimited", "file": str(log), **audit}
    found = plan(url, rules=[trial, *rules], upstream={"breaker": False}, audit=terms)
    said = {**found.spelled(), "plan": "header.x-plan", "store": store}
    return Rules.read(
        json.dumps({**said, "plans": {"small": {"booked": {"rate": "1/h", "burst": 1}}}})
    )


def asking(name: str, one: Refused) -> bytes:
    headers = "".join(f"{word}: {value}\r\n" for word, value in one.headers)
    return f"GET /{name} HTTP/1.1\r\nHost: a.test\r\n{headers}\r\n".encode()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audit") / "refused.log"


@pytest.fixture(scope="module")
def told(log: Path) -> tuple[Rules, dict[str, str]]:
    """The decision that each client was told of, by the rule that refused it."""
    decisions = {}
    with Answering() as quick, Backing() as slow:
        rules = scene(quick.url, log)
        with Stage(rules) as stage:
            for name in [name for name in REFUSALS if name not in HELD]:
                decisions[name] = refused(stage, name)
        held = scene(slow.url, log)
        with Stage(held) as stage:
            for name in HELD:
                decisions[name] = crowded(stage, slow, name)
    return rules, decisions


def refused(stage: Stage, name: str) -> str:
    one = REFUSALS[name]
    with stage.talk() as talk:
        assert [reply(talk, asking(name, one)).status for _ in range(one.before)] == [
            200
        ] * one.before
        # The server's answer is here before its rules have heard of it.
        stage.rest(clients=1)
        answer = reply(talk, asking(name, one))
    assert answer.status == one.status
    return answer.all("headgate-decision")[0]


def crowded(stage: Stage, server: Backing, name: str) -> str:
    one = REFUSALS[name]
    with stage.talk() as inside, stage.talk() as talk:
        inside.send(asking(name, one))
        caller = server.take()
        caller.head()
        answer = reply(talk, asking(name, one))
        caller.say(FINE)
        answered(inside)
    stage.clear()
    assert answer.status == one.status
    return answer.all("headgate-decision")[0]


def read(log: Path) -> list[Any]:
    with log.open() as file:
        return [*lines(file)]


def found(log: Path, decision: str, rules: Rules | None = None) -> Account:
    (line,) = [line for line in read(log) if line["decision"] == decision]
    return account(line, rules)


def test_every_line_is_of_a_refusal_that_a_client_was_told_of(
    told: tuple[Rules, dict[str, str]], log: Path
) -> None:
    _, decisions = told

    assert sorted(line["decision"] for line in read(log)) == sorted(decisions.values())


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_explained(name: str, told: tuple[Rules, dict[str, str]], log: Path) -> None:
    _, decisions = told
    one, why = REFUSALS[name], found(log, decisions[name])

    assert (why.rule, why.kind, why.reason, why.status) == (name, one.kind, one.reason, one.status)
    assert why.sentences[1] == one.because.format(why.numbers["retry_after"])
    assert (why.key_source, why.policy) == (one.source, one.policy or named(one, name))
    assert (why.key, why.hashed) == ((digest(one.key), True) if one.hashed else (one.key, False))
    assert why.numbers == {word: one.numbers.get(word) for word in NUMBERS}


def named(one: Refused, name: str) -> str:
    # Whoever finds no place is told of the rule as of a policy.
    return name if name in HELD else ""


def test_all_of_it_in_words(told: tuple[Rules, dict[str, str]], log: Path) -> None:
    rules, decisions = told

    assert found(log, decisions["lone"], rules).text == (
        'GET a.test/lone from 127.0.0.1 was refused by the rule "lone", with 429.\n'
        'By its limit "lone" it costs 1, and 0 of 1 are left; it would fit in 3600 s.\n'
        "All requests are counted together.\n"
        "If this key keeps quiet, it has all of it again after 3600 s.\n"
        "It is counted in memory://, by the clock of this machine.\n"
        "Had they been enforced, these would have refused it too: trial.\n"
        f"The rules are still of version {rules.digest}."
    )
    assert found(log, decisions["booked"], Rules([])).text == (
        'GET a.test/booked from 127.0.0.1 was refused by the rule "booked", with 429.\n'
        'By its limit "booked" it costs 1, and 0 of 1 are left; it would fit in 3600 s.\n'
        "It counts by client.ip; here that is 127.0.0.1.\n"
        "The terms are not those of the rule: plan small.\n"
        "If this key keeps quiet, it has all of it again after 3600 s.\n"
        "It is counted in memory://, by the clock of this machine.\n"
        f"The rules were of version {rules.digest}; those here are {Rules([]).digest}, so look "
        "there."
    )


def test_a_key_is_written_if_the_rules_ask_for_it(tmp_path: Path) -> None:
    log = tmp_path / "refused.log"
    with Answering() as server, Stage(scene(server.url, log, keys="plain")) as stage:
        decision = refused(stage, "header")
    why = found(log, decision)

    assert (why.key, why.hashed) == ("ada", False)
    assert why.sentences[2] == "It counts by header.x-api-key; here that is ada."


NOBODY = "The store could not be asked, and then the rule lets nobody in."
SHARE = 'By its limit "away" it costs 1, and 0 of 1 are left; it would fit in 3600 s.'
ONCE = {"limit": {"rate": "1/h", "burst": 1}}


@pytest.mark.parametrize(
    ("rule", "mode", "said"),
    [(ONCE, "deny", NOBODY), ({"concurrent": 1}, "deny", NOBODY), (ONCE, "local", SHARE)],
)
def test_a_refusal_without_a_store_says_so(
    rule: dict[str, Any], mode: str, said: str, tmp_path: Path
) -> None:
    log, port = tmp_path / "refused.log", Port()
    away = {"name": "away", "when_unavailable": mode, **rule}
    store = f"redis://:hunter2@127.0.0.1:{port.number}"
    with Answering() as server:
        rules = plan(server.url, rules=[away], audit={"file": str(log)})
        rules = Rules.read(json.dumps({**rules.spelled(), "store": store}))
        with Stage(rules, clock=None) as stage, stage.talk() as talk:
            before = 1 if mode == "local" else 0
            assert [reply(talk).status for _ in range(before)] == [200] * before
            decision = reply(talk).all("headgate-decision")[0]
    (line,), why = read(log), found(log, decision)

    assert line["store"] == f"redis://***@127.0.0.1:{port.number}"
    assert re.sub("3599[.][0-9]+", "3600", why.sentences[1]) == said
    share = f"{line['store']} could not be asked: this was the share of one process."
    assert (share in why.sentences) is (mode == "local")


def test_what_is_no_line_of_ours_is_left_out() -> None:
    good = '{"decision": "a", "rule": "r", "kind": "limit", "version": "v"}'
    source = [
        "",
        "no",
        "{",
        "[" * 9_000,
        "{}",
        '{"decision": 1}',
        f"{' ' * 70_000}{good}",
        f"x: {good}\n",
    ]

    assert [line["decision"] for line in lines(source)] == ["a"]


def test_a_line_of_an_older_version_is_explained_as_far_as_it_goes() -> None:
    who = {"method": "GET", "host": "h", "path": "/p", "client": "::1", "status": 429}
    line = {**who, "decision": "a", "rule": "r", "kind": "limit", "version": "v", "suppressed": 7}

    assert account(line).text == (
        'GET h/p from ::1 was refused by the rule "r", with 429.\n'
        "There was not enough left; the line is of an older version, and does not say more.\n"
        "The rules were of version v.\n"
        "7 refusals before this one were left out of the log."
    )
