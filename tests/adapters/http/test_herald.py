"""What is told of entries: by the short way as by the long one, and by notices as by refusals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import Decision, ManualClock
from headgate.adapters.http.dialects import Headers, Policy
from headgate.adapters.http.herald import Herald, standing
from headgate.adapters.http.problem import Notice, Refusal, exceeded, seconds
from headgate.adapters.http.speaker import Speaker
from headgate.rules import Gatekeeper, Request, Rule, Rules

WAITS = st.integers(1_000, 1_000_000_000_000).map(lambda micro: micro / 1e6)
NOW = 1_731_715_200_250_000


DIALECTS = [
    ("draft-11",), ("draft-06",), ("x-epoch",), ("x-delta",), ("none",),
    ("draft-11", "draft-06", "x-epoch"), ("x-delta", "draft-06"),
]  # fmt: skip


@given(
    st.sampled_from(DIALECTS),
    st.sampled_from([0.5, 60.0, 86_400.0]),
    st.booleans(),
    st.integers(-5, 200),
    WAITS | st.just(float("inf")),
    WAITS,
    st.sampled_from([0.1, float("inf")]),
)
def test_the_short_way_says_what_the_long_way_says(
    dialects: tuple[str, ...],
    window: float,
    allowed: bool,
    left: int,
    wait: float,
    reset: float,
    pace: float,
) -> None:
    policy = Policy("api", 100, window)
    decision = Decision(allowed, 100, left, 0.0 if allowed else wait, reset, rule="api")
    headers = Headers(dialects)

    said = Speaker(policy, pace, headers, lambda: NOW).say(decision)

    stands = [standing({"api": (policy, pace)}, decision)]
    assert said == headers.render([policy], stands, NOW / 1e6)


@given(st.sampled_from([429, 503]), st.sampled_from(["api", 'a"b', "a:1"]), WAITS)
def test_a_notice_says_what_a_refusal_says(status: int, policy: str, wait: float) -> None:
    detail = exceeded(policy, seconds(wait))

    said = Refusal(status, "quota", (policy,), wait, detail).answer()

    assert Notice(status, policy).answer(wait) == said


@pytest.mark.parametrize("dialect", ["draft-11", "draft-06", "x-delta", "x-epoch", "none"])
def test_every_dialect_is_spoken_of_one_rule_and_of_two(dialect: str) -> None:
    clock = ManualClock(start=1_000.0)
    for limits in (["5/min"], ["5/min", "100/day"]):
        rules = Rules(
            [Rule(f"r{number}", limit=limit) for number, limit in enumerate(limits)],
            headers=dialect,
        )
        entry = Gatekeeper(rules, clock=clock).enter(Request())

        fields = dict(Herald(rules.headers, clock.now).fields(entry))

        assert fields == EXPECTED[dialect][len(limits) - 1]


EXPECTED: dict[str, tuple[dict[bytes, bytes], dict[bytes, bytes]]] = {
    "draft-11": (
        {b"ratelimit-policy": b'"r0";q=5;w=60', b"ratelimit": b'"r0";r=4;t=12'},
        {
            b"ratelimit-policy": b'"r0";q=5;w=60, "r1";q=100;w=86400',
            b"ratelimit": b'"r0";r=4;t=12, "r1";r=99;t=8554',
        },
    ),
    "draft-06": (
        {
            b"ratelimit-limit": b"5", b"ratelimit-remaining": b"4", b"ratelimit-reset": b"12",
            b"ratelimit-policy": b"5;w=60",
        },
        {
            b"ratelimit-limit": b"5", b"ratelimit-remaining": b"4", b"ratelimit-reset": b"12",
            b"ratelimit-policy": b"5;w=60, 100;w=86400",
        },
    ),
    "x-delta": (
        {b"x-ratelimit-limit": b"5", b"x-ratelimit-remaining": b"4", b"x-ratelimit-reset": b"12"},
    ) * 2,
    "x-epoch": (
        {b"x-ratelimit-limit": b"5", b"x-ratelimit-remaining": b"4", b"x-ratelimit-reset": b"1012"},
    ) * 2,
    "none": ({}, {}),
}  # fmt: skip


def test_a_rule_may_keep_to_itself() -> None:
    rules = Rules([Rule("quiet", limit="5/min", headers=False), Rule("loud", concurrent=2)])
    keeper = Gatekeeper(rules, clock=ManualClock())
    entry = keeper.enter(Request())

    fields = Herald(rules.headers, keeper.lodge.clock.now).fields(entry)
    keeper.leave(entry)

    assert fields == [
        (b"ratelimit-policy", b'"loud";q=2;qu="concurrent-requests"'),
        (b"ratelimit", b'"loud";r=1'),
    ]


def test_no_key_is_in_any_answer() -> None:
    rules = Rules([Rule("api", key="header.x-user", limit="1/min")])
    keeper = Gatekeeper(rules, clock=ManualClock())
    herald = Herald(rules.headers, keeper.lodge.clock.now)
    entry = [keeper.enter(Request(headers={"x-user": "ada@example.com"})) for _ in range(2)][-1]

    said = repr([herald.answer(entry, accept) for accept in ("", "text/plain", "text/html")])

    assert "ada" not in said


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_without_a_body_says_nothing_of_one(status: int) -> None:
    degrade = {"degrade": {"status": status, "headers": {"X-Mode": "lite"}}}
    rule = Rule("r", limit="0/s", over=degrade, headers=False)
    entry = Gatekeeper(Rules([rule])).enter(Request())

    answer = Herald(("draft-11",), lambda: 0).answer(entry)

    assert answer == (status, [(b"x-mode", b"lite"), (b"cache-control", b"no-store")], b"")
