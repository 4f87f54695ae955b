"""How a key stands with a rule is told limit by limit, and it can be lifted."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import pytest

from headgate import ManualClock
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.live.standing import Unknown, lift, stand
from headgate.rules.live.trial import Trial
from headgate.rules.matching.request import Request
from headgate.rules.model.rules import Rules
from headgate.stores.shared.store import SharedStore

RULES = """
version: 1
plans: {vip: unlimited, free: {thrifty: 1/h}}
plan: header.x-plan
rules:
  - {name: thrifty, match: {path: /thrifty}, key: client.ip, limit: 5/h}
  - {name: api, key: client.ip, limit: [2/s, 100/day]}
  - {name: places, match: {path: /slow}, concurrent: 3}
  - {name: banned, match: {path: /no}, deny: true}
  - {name: fragile, match: {path: /down}, breaker: {failures: 0.5, calls: 2}}
"""


@pytest.fixture(params=["memory", "shared"])
def store(request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"standing-{os.getpid()}"
    yield "memory://" if request.param == "memory" else f"shared://{name}"
    SharedStore(name).remove()


def asked(url: str, *steps: Any) -> list[dict[str, Any]]:
    """What each step says, one after another."""

    async def converse() -> list[dict[str, Any]]:
        keeper = AsyncGatekeeper(Rules.read(RULES), url, ManualClock(1_000.0))
        try:
            return [await step(keeper) for step in steps]
        finally:
            await keeper.close()

    return asyncio.run(converse())


async def spend(keeper: Any) -> None:
    for _ in range(2):
        assert await keeper.enter(Request(client="192.0.2.1"))


async def look(keeper: Any) -> Any:
    return await stand(keeper.lodge, "api", "192.0.2.1")


def test_every_limit_of_a_key_is_told(store: str) -> None:
    _, found = asked(store, spend, look)

    assert found == {
        "rule": "api", "key": "192.0.2.1", "plan": "", "denied": False, "unlimited": False,
        "limits": [
            {
                "name": "api:1", "terms": "2/s", "limit": 2, "remaining": 0, "allowed": False,
                "retry_after": 0.5, "reset_after": 1.0, "degraded": False,
            },
            {
                "name": "api:2", "terms": "100/day", "limit": 100, "remaining": 98, "allowed": True,
                "retry_after": 0.0, "reset_after": 1728.0, "degraded": False,
            },
        ],
        "places": None, "breaker": "",
    }  # fmt: skip


def test_looking_spends_nothing(store: str) -> None:
    first, second = asked(store, look, look)

    assert first == second
    assert [limit["remaining"] for limit in first["limits"]] == [2, 100]


def test_a_key_that_is_lifted_is_as_if_it_had_never_been_seen(store: str) -> None:
    fresh, _, lifted = asked(
        store, look, spend, lambda keeper: lift(keeper.lodge, "api", "192.0.2.1")
    )

    assert lifted == fresh


def test_a_key_is_lifted_by_whatever_plan_it_has_asked(store: str) -> None:
    async def enter(keeper: Any) -> Any:
        request = Request(path="/thrifty", client="192.0.2.1", headers={"x-plan": "free"})
        return bool(await keeper.enter(request))

    first, second, _, third = asked(
        store, enter, enter, lambda keeper: lift(keeper.lodge, "thrifty", "192.0.2.1"), enter
    )

    assert (first, second, third) == (True, False, True)


def test_places_that_are_taken_stay_taken(store: str) -> None:
    async def enter(keeper: Any) -> Any:
        keeper.entries = [
            await keeper.enter(Request(path="/slow", client=f"192.0.2.{one}")) for one in range(2)
        ]
        return await lift(keeper.lodge, "places", "whoever")

    async def leave(keeper: Any) -> Any:
        for entry in keeper.entries:
            await keeper.leave(entry)
        return await stand(keeper.lodge, "places", "")

    taken, free = asked(store, enter, leave)

    assert (taken["key"], taken["places"]) == ("", {"limit": 3, "inside": 2, "waiting": 0})
    assert free["places"]["inside"] == 0


def test_a_breaker_is_closed_when_its_key_is_lifted() -> None:
    async def fail(keeper: Any) -> Any:
        for one in range(2):
            entry = await keeper.enter(Request(path="/down", client=f"192.0.2.{one}"))
            await keeper.leave(entry, 500)
        return await stand(keeper.lodge, "fragile", "")

    opened, closed = asked("memory://", fail, lambda keeper: lift(keeper.lodge, "fragile", ""))

    assert (opened["breaker"], closed["breaker"]) == ("open", "closed")


def test_who_may_do_as_they_like_or_nothing_has_no_levels() -> None:
    vip, banned = asked(
        "memory://",
        lambda keeper: stand(keeper.lodge, "api", "192.0.2.1", "vip"),
        lambda keeper: stand(keeper.lodge, "banned", ""),
    )

    assert (vip["unlimited"], vip["limits"]) == (True, [])
    assert (banned["denied"], banned["limits"]) == (True, [])


def test_a_rule_on_trial_can_be_looked_at_too() -> None:
    async def attempt(keeper: Any) -> Any:
        keeper.lodge.attempt(Trial({"limit": "7/s"}))
        return await stand(keeper.lodge, "~trial", "")

    assert asked("memory://", attempt)[0]["limits"][0]["limit"] == 7


def test_a_rule_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(Unknown) as caught:
        asked("memory://", lambda keeper: stand(keeper.lodge, "apis", ""))
    with pytest.raises(Unknown) as other:
        asked("memory://", lambda keeper: stand(keeper.lodge, "x", ""))

    assert str(caught.value) == 'there is no rule "apis"; did you mean api?'
    assert str(other.value) == (
        'there is no rule "x"; there are thrifty, api, places, banned, fragile'
    )
