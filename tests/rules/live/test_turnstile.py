"""The short way in answers as the long one does, whatever the rule and whoever comes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate import ManualClock
from headgate.rules import Entry, Gatekeeper, Refusal, Request, Rule, Rules

RULES: dict[str, dict[str, Any]] = {
    "by address": {"key": "client.ip", "limit": "3/s"},
    "together": {"limit": "3/s"},
    "several limits": {"key": "client.ip", "limit": ["2/s", "4/min"]},
    "by cost": {"key": "client.ip", "limit": "3/s", "cost": 2},
    "by the request's cost": {"key": "client.ip", "limit": "9/s", "cost": {"by": "query.n"}},
    "too dear": {"key": "client.ip", "limit": "1/s", "cost": 2},
    "by plan": {"key": "client.ip", "limit": "1/s"},
    "with an override": {"key": "user", "limit": "1/s", "overrides": {"u1": "3/s"}},
    "an unlimited one": {"key": "user", "limit": "1/s", "overrides": {"u1": "unlimited"}},
    "nobody is let in": {"key": "user", "limit": "1/s", "empty_key": "allow"},
    "nobody is denied": {"key": "user", "limit": "1/s", "empty_key": "deny"},
    "nobody is counted": {"key": "user", "limit": "1/s", "empty_key": "share"},
    "another status": {"key": "client.ip", "limit": "1/s", "over": {"reject": {"status": 503}}},
}
PLANS = {"gold": {"r": "5/s"}, "vip": "unlimited"}

visits = st.lists(
    st.tuples(
        st.sampled_from(["192.0.2.1", "192.0.2.2"]),
        st.sampled_from(["", "u1", "u2"]),
        st.sampled_from(["", "gold", "vip"]),
        st.integers(0, 12),
        st.sampled_from([0.0, 0.1, 1.0]),
    ),
    min_size=1,
    max_size=12,
)


def told(entry: Entry) -> tuple[Any, ...]:
    passes = [(one.key, one.cost, one.decision) for one in entry.passes]
    return passes, entry.refusal, entry.version, entry.owing, entry.rule


def tallied(keeper: Gatekeeper) -> tuple[int, int]:
    tally = keeper.tallies()["r"]
    return tally.passed, tally.refused


# Each example makes two gatekeepers, and there are as many again for every rule.
@pytest.mark.parametrize("fields", RULES.values(), ids=RULES)
@settings(max_examples=settings().max_examples // 2)
@given(visits=visits)
def test_the_short_way_answers_as_the_long_one(
    fields: dict[str, Any], visits: list[tuple[str, str, str, int, float]]
) -> None:
    clock = ManualClock()
    rules = Rules([Rule("r", **fields)], plans=PLANS)
    short, long = Gatekeeper(rules, clock=clock), Gatekeeper(rules, clock=clock)
    (ruling,) = long.lodge.book.rulings
    ruling.turnstile = None
    assert short.lodge.book.rulings[0].turnstile is not None

    for client, user, plan, cost, pause in visits:
        request = Request("GET", "/", query=f"n={cost}", client=client, user=user, plan=plan)
        assert told(short.enter(request)) == told(long.enter(request))
        clock.sleep(pause)

    assert tallied(short) == tallied(long)


def test_a_store_that_cannot_be_asked_is_told_of_alike() -> None:
    rules = Rules([Rule("r", limit="1/s", when_unavailable="deny")])
    keeper = Gatekeeper(rules, store="redis://127.0.0.1:1")

    refused = keeper.enter(Request())

    assert refused.refusal == Refusal("unavailable", rules.rules[0], 0, 1.0)
    keeper.close()


def test_a_refusal_is_a_value() -> None:
    one, same, other = Refusal("limit", 1, 429), Refusal("limit", 1, 429), Refusal("limit", 1, 503)

    assert one == same
    assert one != other
    assert one != ("limit", 1, 429, 0.0, "")
    assert hash(one) == hash(same)
    assert repr(one) == "Refusal('limit', 1, 429, 0.0, '')"
