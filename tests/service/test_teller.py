"""The teller: verbs of limiters on the limits of rules, by the rule's name."""

from __future__ import annotations

import asyncio
from math import inf
from typing import Any

import pytest

from headgate import Decision, ManualClock
from headgate.rules import AsyncGatekeeper, Request, Rule, Rules
from headgate.rules.live.entry import Entry
from headgate.service.teller import Teller, Unknown
from headgate.service.till import KNOWN
from headgate.testing.cases import cases
from headgate.testing.conformance import verify
from tests.service.counters import Counter, Town

LOGIN = Rule("login", key="client.ip", limit="3/min")


def near(*rules: Rule, **more: Any) -> Counter:
    """A counter whose store is in memory."""
    return Counter([*rules], "memory://", ManualClock(1000.0), **more)


def test_every_verb_says_what_the_limiter_says(town: Town) -> None:
    async def scene(town: Town) -> None:
        async with town.open(LOGIN) as at:
            assert await at.take("login", "a") == Decision(True, 3, 2, 0.0, 20.0, "login")
            assert await at.ask("peek", "login", "a", 0) == Decision(True, 3, 2, 0.0, 20.0, "login")
            assert (await at.take("login", "a", 2)).remaining == 0
            assert await at.take("login", "a") == Decision(False, 3, 0, 20.0, 60.0, "login")
            assert (await at.ask("debit", "login", "a", 3)).retry_after == 60.0
            assert (await at.ask("refund", "login", "a", 4)).remaining == 1
            assert await at.ask("reset", "login", "a") is None
            assert (await at.take("login", "a", 3)).allowed
            assert (await at.take("login", "b")).remaining == 2

    town.play(scene)


def test_a_request_and_a_key_by_name_are_counted_together() -> None:
    at = near(Rule("api", key="header.x-user", limit="2/min"))
    for user in ("ann", "someone with blanks", "x" * 500):
        request = Request(headers={"x-user": user})
        assert at.keeper.glance(request)
        assert at.teller.take("api", user)
        assert not at.teller.take("api", user)
        assert not at.keeper.glance(request)


@pytest.mark.parametrize("key", [5, None, ["a"], b"a"])
def test_a_key_is_a_text(key: Any) -> None:
    with pytest.raises(TypeError):
        near(LOGIN).teller.take("login", key)


def test_only_so_many_keys_are_remembered() -> None:
    at = near(Rule("api", key="user", limit="1/min"))
    for number in range(KNOWN + 10):
        assert at.teller.take("api", f"user {number}")
    assert not at.teller.take("api", "user 0")


def test_a_rule_without_a_key_counts_all_together() -> None:
    teller = near(Rule("all", limit="2/min")).teller
    assert [bool(teller.take("all", key)) for key in ("a", "b", "c")] == [True, True, False]


def test_plans_and_overrides_hold() -> None:
    rule = Rule("api", key="user", limit="1/min", overrides={"vip": "unlimited", "b": "3/min"})
    teller = near(rule, plans={"gold": {"api": "2/min"}, "root": "unlimited"}).teller

    def granted(key: str, plan: str = "") -> int:
        return sum(bool(teller.take("api", key, plan=plan)) for _ in range(5))

    assert granted("a") == 1
    assert granted("a", "gold") == 2
    assert granted("a", "root") == 5
    assert granted("a", "unheard") == 0
    assert granted("b", "gold") == 3
    assert granted("vip") == 5
    assert teller.take("api", "vip") == Decision(True)


def test_a_rule_that_is_tried_out_refuses_nobody_and_counts_whom_it_would_have() -> None:
    at = near(Rule("api", key="user", limit="1/min", mode="shadow"))
    assert at.teller.take("api", "a")
    assert at.teller.take("api", "a") == Decision(True, 1, 0, 0.0, 60.0, "api")
    assert at.teller.peek("api", "a").allowed
    tally = at.keeper.tallies()["api"]
    assert (tally.passed, tally.refused, tally.shadowed) == (2, 0, 1)


def test_who_is_banned_is_refused_for_good() -> None:
    at = near(Rule("ban", deny=True))
    never = Decision(False, 0, 0, inf, rule="ban")
    assert at.teller.take("ban", "a") == never
    assert at.teller.peek("ban", "a") == never
    assert at.keeper.tallies()["ban"].refused == 1


@pytest.mark.parametrize(("mode", "answers"), [
    ("deny", "no no no"), ("allow", "yes yes yes"), ("share", "yes no no")
])  # fmt: skip
def test_who_has_no_key_is_treated_as_the_rule_says(mode: str, answers: str) -> None:
    teller = near(Rule("api", key="user", limit="1/min", empty_key=mode)).teller
    said = ["yes" if teller.take("api") else "no" for _ in range(3)]
    assert " ".join(said) == answers


def test_a_cost_that_nobody_says_is_the_rules_own() -> None:
    teller = near(Rule("api", key="user", limit="10/min", cost=4)).teller
    assert teller.take("api", "a", None).remaining == 6
    assert teller.take("api", "a").remaining == 5


WRONG = {
    "logn": 'there is no rule "logn"; did you mean login?',
    "zzz": 'there is no rule "zzz"; there are login, desk, pipe',
    "desk": 'the rule "desk" has no limit; hold one of its places',
    "pipe": 'the rule "pipe" has no limit; give it one, such as limit: 100/s',
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_unknown_is_said_with_what_would_be_right(name: str) -> None:
    teller = near(LOGIN, Rule("desk", concurrent=2), Rule("pipe", bandwidth="1MB/s")).teller
    with pytest.raises(Unknown) as problem:
        teller.take(name, "a")
    assert str(problem.value) == WRONG[name]


def test_without_rules_that_is_said() -> None:
    with pytest.raises(Unknown) as problem:
        near().teller.take("api", "a")
    assert str(problem.value) == 'there is no rule "api", as there are none at all'


def test_new_rules_count_at_once() -> None:
    at = near(LOGIN)
    assert at.teller.take("login", "a")
    at.keeper.change(Rules([Rule("login", key="client.ip", limit="6/min"), Rule("b", limit="1/s")]))
    assert at.teller.take("login", "a").limit == 6
    assert at.teller.take("b")
    at.keeper.change(Rules([]))
    with pytest.raises(Unknown):
        at.teller.take("login", "a")


def test_while_no_rules_are_asked_everybody_is_let_in() -> None:
    at = near(LOGIN)
    at.keeper.enabled = False
    assert at.teller.take("login", "a", 100) == Decision(True)
    assert at.teller.hold("login", "a")
    with pytest.raises(Unknown):
        at.teller.take("logn", "a")
    at.keeper.enabled = True
    assert not at.teller.take("login", "a", 100)


def test_listeners_hear_of_it_as_of_requests() -> None:
    heard: list[Entry] = []
    at = near(LOGIN, Rule("try", key="user", limit="1/min", mode="shadow"), Rule("ban", deny=True))
    at.keeper.listen(heard.append)
    at.teller.take("login", "a", 3)
    at.teller.take("login", "a")
    at.teller.take("login", "")
    at.teller.take("try", "a", 2)
    at.teller.take("ban", "a")
    kinds = [one.refusal.kind if one.refusal else "" for one in heard]
    assert kinds == ["", "limit", "key", "", "denied"]
    assert [one.rule for one in heard] == ["", "login", "login", "", "ban"]
    assert [one.passes[0].key if one.passes else "" for one in heard] == ["a", "a", "", "a", ""]
    assert [rule.name for rule in heard[3].shadowed] == ["try"]


def test_rules_are_told_of() -> None:
    at = near(LOGIN)
    at.teller.take("login", "a")
    assert at.teller.rules() == [
        {
            "name": "login", "description": "", "key": ["client.ip"],
            "limits": ["TokenBucket(\"3/min\", name='login')"], "concurrent": 0, "mode": "enforce",
            "passed": 1, "refused": 0, "shadowed": 0,
        }
    ]  # fmt: skip


def test_where_the_store_is_gone_the_rule_says_what_then() -> None:
    async def scene() -> None:
        url = "redis://127.0.0.1:1"
        for mode, said in (("allow", ""), ("deny", "unavailable"), ("local", "")):
            rule = Rule("api", key="user", limit="2/min", when_unavailable=mode)
            async with Counter([rule], url, ManualClock(1000.0)) as at:
                decision = await at.take("api", "a")
                assert (decision.reason, decision.degraded) == (said, True)
                assert at.keeper.tallies()["api"].refused == (mode == "deny")

    asyncio.run(scene())


class Named:
    """A ledger that asks a teller; the clock is moved to the moment that the case says."""

    def __init__(self, rule: Rule) -> None:
        self.clock = ManualClock()
        self.teller = Teller(AsyncGatekeeper(Rules([rule]), clock=self.clock))

    def at(self, now: int) -> Teller:
        self.clock.set(now / 1e6)
        return self.teller

    def take(self, key: str, cost: int, now: int, patience: int) -> Any:
        return self.at(now).take("rule", key, cost)

    def peek(self, key: str, cost: int, now: int) -> Any:
        return self.at(now).peek("rule", key, cost)

    def charge(self, key: str, cost: int, now: int, due: int) -> Any:
        teller = self.at(now)
        if cost >= 0:
            return teller.debit("rule", key, cost)
        return teller.refund("rule", key, -cost)

    def forget(self, key: str) -> None:
        self.teller.reset("rule", key)


PLAYED = [
    case
    for case in cases()
    if not {row.do for row in case.rows} & {"reserve", "cancel"}
    and len({row.key for row in case.rows} & {""}) == len({row.key for row in case.rows})
    and all(row.answer is None or row.answer.rule is None for row in case.rows)
]


@pytest.mark.parametrize("case", PLAYED, ids=str)
def test_the_cases_hold_by_name(case: Any) -> None:
    rule = Rule("rule", key="user", empty_key="share", limit=list(case.limits))
    verify(case, lambda limits: Named(rule))  # type: ignore[arg-type, return-value]
