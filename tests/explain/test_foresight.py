"""What rules would say is what they say; looking changes nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import ManualClock
from headgate.drive import adrive
from headgate.explain.foresight import explain, explaining
from headgate.explain.opinion import Explanation, Opinion
from headgate.rules import AsyncGatekeeper, Gatekeeper, Request, Rule, Rules
from headgate.rules.live.gatekeeper import aperform
from tests.servers.launch import Server

LIMITS = ("3/min", "10/h", {"rate": "4/min", "by": "gcra"}, {"rate": "5/min", "by": "sliding_log"},
          {"rate": "6/min", "by": "fixed_window"}, {"rate": "6/min", "by": "sliding_window"},
          {"rate": "2/s", "by": "leaky_bucket"})  # fmt: skip
MIXED = Rules(
    [
        Rule("banned", match={"client.ip": "203.0.113.0/24"}, deny=True),
        Rule("login", match={"method": "POST", "path": "/login"}, key="client.ip", limit="2/min"),
        Rule("api", match={"path": "/v1/**"}, when="size < 10", key=["header.x-user", "client.ip"],
             limit=["20/s burst 40", {"rate": "5/day", "by": "gcra"}], cost=2),
        Rule("trial", match={"path": "/v1/**"}, key="user", limit="1/h", mode="shadow"),
        Rule("slow", match={"path": "/slow"}, limit="1/s burst 1", over="wait 5s"),
        Rule("first", match={"path": "/v1/a"}, group="g", limit="9/h"),
        Rule("other", match={"path": "/v1/**"}, group="g", limit="9/h"),
    ],
    plans={"vip": "unlimited", "small": {"login": "1/h"}},
)  # fmt: skip


def of(found: Explanation, rule: str) -> Opinion:
    return next(one for one in found.opinions if one.rule == rule)


@given(
    st.sampled_from(LIMITS),
    st.sampled_from(LIMITS),
    st.lists(st.tuples(st.integers(0, 40_000_000), st.integers(0, 3)), max_size=8),
)
def test_what_would_be_is_what_is(one: Any, two: Any, steps: list[tuple[int, int]]) -> None:
    clock = ManualClock(1_000_000.0)
    rule = Rule("r", limit=[one, two], cost={"by": "header.x-cost", "most": 100})
    keeper = Gatekeeper(Rules([rule]), clock=clock)
    for pause, cost in steps:
        clock.advance(pause / 1e6)
        request = Request("GET", "/", {"x-cost": str(cost)})
        found = explain(keeper, request)
        entry = keeper.enter(request)
        decision = entry.decisions["r"]

        assert found.outcome == ("allowed" if entry else "refused")
        assert (found.rule, found.wait) == (entry.rule, decision.retry_after)
        assert of(found, "r").after == decision.remaining
        assert of(found, "r").policy == decision.rule


def test_every_rule_says_why() -> None:
    found = explain(
        Gatekeeper(MIXED, clock=ManualClock(0.0)),
        Request("GET", "/v1/a", {"x-user": "ada"}, client="192.0.2.1"),
    )

    assert {one.rule: (one.outcome, one.why) for one in found.opinions} == {
        "banned": ("unmet", "client.ip is 192.0.2.1, not 203.0.113.0/24"),
        "login": ("unmet", "path is /v1/a, not /login"),
        "api": ("allowed", "5 of 5 are left, then 3"),
        "trial": ("shadowed", "it has no user, so nobody knows whom to count"),
        "slow": ("unmet", "path is /v1/a, not /slow"),
        "first": ("allowed", "9 of 9 are left, then 8"),
        "other": ("grouped", "another of the group g was first"),
    }
    api = of(found, "api")
    assert api.source == (("header.x-user", "ada"), ("client.ip", "192.0.2.1"))
    assert (api.key, api.cost, api.policy) == ("ada:192.0.2.1", 2, "api:2")
    assert api.terms == ("20/s burst 40", "{rate: 5/day, by: gcra}")


@pytest.mark.parametrize(
    ("plan", "terms", "chosen", "why"),
    [
        ("", ("2/min",), "", "2 of 2 are left, then 1"),
        ("small", ("1/h",), "plan small", "1 of 1 are left, then 0"),
        ("vip", ("unlimited",), "plan vip", "unlimited, by plan vip"),
    ],
)
def test_the_terms_in_force_are_told(
    plan: str, terms: tuple[str, ...], chosen: str, why: str
) -> None:
    request = Request("POST", "/login", client="192.0.2.1", plan=plan)
    one = of(explain(Gatekeeper(MIXED), request), "login")

    assert (one.terms, one.chosen, one.why) == (terms, chosen, why)


def test_a_request_that_is_counted_is_told_of_as_its_client_is() -> None:
    keeper = Gatekeeper(MIXED, clock=ManualClock(0.0))
    request = Request("POST", "/login", client="192.0.2.1")
    counts = [explain(keeper, request, spend=True) for _ in range(3)]

    assert [one.outcome for one in counts] == ["allowed", "allowed", "refused"]
    assert dict(counts[1].headers)["ratelimit"] == '"login";r=0;t=30'
    assert (counts[2].status, dict(counts[2].headers)["retry-after"]) == (429, "30")
    assert of(counts[2], "login").why == "it costs 1, and 0 of 2 are left; it would fit in 30 s"
    assert [of(counts[2], name).outcome for name in ("api", "slow")] == ["unmet", "unmet"]


def test_who_would_wait_is_told_how_long() -> None:
    keeper = Gatekeeper(MIXED, clock=ManualClock(0.0))
    keeper.enter(Request("GET", "/slow"))
    found = explain(keeper, Request("GET", "/slow"))

    assert (found.outcome, found.wait) == ("delayed", 1.0)
    assert of(found, "slow").why == "0 of 1 are left; it waits 1 s until there is room"


def test_places_and_breakers_are_looked_at() -> None:
    rules = Rules(
        [
            Rule("room", match={"path": "/room"}, concurrent=1),
            Rule("mine", match={"path": "/mine"}, concurrent=1, key="client.ip"),
            Rule("wary", match={"path": "/wary"}, breaker={"calls": 1}),
        ]
    )
    keeper = Gatekeeper(rules, clock=ManualClock(0.0))
    paths = {"room": "/room", "mine": "/mine", "wary": "/wary"}
    free = [explain(keeper, Request("GET", path, client="192.0.2.1")) for path in paths.values()]
    held = [keeper.enter(Request("GET", path, client="192.0.2.1")) for path in paths.values()]
    keeper.leave(held[2], 500)
    full = [explain(keeper, Request("GET", path, client="192.0.2.1")) for path in paths.values()]

    assert [one.outcome for one in free] == ["allowed"] * 3
    assert [(one.outcome, one.status) for one in full] == [
        ("refused", 503), ("refused", 429), ("refused", 503)
    ]  # fmt: skip
    assert [of(one, name).why for one, name in zip(full[:2], paths, strict=False)] == [
        "the only place is taken, and nobody waits for one"
    ] * 2
    assert of(full[2], "wary").why.startswith("its breaker is open; it lets one try in ")
    assert of(full[0], "mine").why == "path is /room, not /mine"


def test_a_breaker_is_asked_as_a_request_asks_it() -> None:
    clock = ManualClock(0.0)
    rules = Rules([Rule("wary", breaker={"calls": 1, "pause": "10s"})])
    keeper, request = Gatekeeper(rules, clock=clock), Request("GET", "/")
    keeper.leave(keeper.enter(request), 500)
    found = []
    for pause in (0.0, 60.0, 0.0):
        clock.advance(pause)
        seen, entry = explain(keeper, request), keeper.enter(request)
        found.append(of(seen, "wary").outcome)
        assert (found[-1] == "refused") is not bool(entry)

    # Open; then half open, and one goes in to try; of whom nothing is known yet.
    assert found == ["refused", "allowed", "refused"]


def test_a_queue_that_is_full_is_told_of_as_what_it_is() -> None:
    async def meet() -> tuple[Explanation, Any]:
        rule = Rule(
            "room", key="client.ip", concurrent=1, over={"wait": {"timeout": "9s", "queue": 1}}
        )
        keeper = AsyncGatekeeper(Rules([rule]))
        request = Request("GET", "/", client="192.0.2.1")
        inside = await keeper.enter(request)
        waiting = asyncio.create_task(keeper.glance(request))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        found = await adrive(explaining(keeper, request), aperform)
        entry = await keeper.enter(request)
        waiting.cancel()
        await keeper.leave(inside)
        return found, entry

    found, entry = asyncio.run(meet())

    refusal: Any = entry.refusal
    assert of(found, "room").cause == refusal.cause
    assert (found.status, refusal.kind) == (503, "capacity")


def test_a_server_is_looked_at_and_nothing_is_written(valkey: Server) -> None:
    keeper = Gatekeeper(MIXED, store=valkey.patient)
    request = Request("POST", "/login", client="192.0.2.1")
    keeper.enter(request)
    (name,) = valkey.ask("KEYS", "headgate:1:login:*")
    before = valkey.ask("DUMP", name)
    for _ in range(3):
        found = explain(keeper, request)
    keeper.close()

    assert of(found, "login").why == "1 of 2 are left, then 0"
    assert (found.spent, found.store) == (False, f"{valkey.url}?***")
    assert valkey.ask("DUMP", name) == before


def test_it_can_be_awaited(valkey: Server) -> None:
    async def ask() -> Explanation:
        keeper = AsyncGatekeeper(MIXED, store=valkey.patient)
        flow = explaining(keeper, Request("POST", "/login", client="192.0.2.1"))
        found = await adrive(flow, aperform)
        await keeper.close()
        return found

    assert of(asyncio.run(ask()), "login").why == "2 of 2 are left, then 1"
