"""The short way answers as the long one does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.rules.model.rules import Rules
from tests.service.rls.calls import Desk, call, limited, priced

FILE = """
domain: edge
descriptors:
  - {key: path, rate_limit: {unit: minute, requests_per_unit: 3, name: paths}}
  - {key: many, rate_limit: {unit: hour, requests_per_unit: 100000}}
  - {key: bucket, rate_limit: {limit: 2/s burst 4}}
  - {key: two, rate_limit: {limit: [3/s, {rate: 5/min, by: sliding_log, name: slow}]}}
  - {key: banned, rate_limit: {unit: day, requests_per_unit: 0}}
  - {key: tried, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 1}}
  - {key: quota, quota_mode: true, rate_limit: {unit: day, requests_per_unit: 2}}
  - {key: free, rate_limit: {unlimited: true}}
"""
RULES = """
version: 1
rules:
  - {name: login, match: {path: /login}, key: user, limit: 2/min, overrides: {ann: unlimited}}
  - {name: two, match: {path: /two}, limit: [1/s, 3/min]}
  - {name: off, match: {path: /off}, deny: true}
"""
KEYS = ("path", "many", "bucket", "two", "banned", "tried", "quota", "free", "none")
TOLD: list[Any] = [
    *({key: "x"} for key in KEYS),
    *(priced(hits, **{key: "x"}) for key in ("path", "bucket") for hits in (0, 2, 5, -1)),
    limited(2, "DAY", path="x"),
]
PETITIONS: list[Any] = [
    *({"path": "/login", "user": user} for user in ("ann", "bob")),
    {"path": "/login"},
    {"path": "/two"},
    {"path": "/off"},
    priced(0, path="/two"),
    priced(2, path="/login", user="bob"),
]
STEP = st.tuples(st.integers(0, 3_000), st.integers(0, len(TOLD) - 1), st.integers(0, 3))


@pytest.fixture(scope="module")
def desks() -> tuple[Desk, Desk]:
    """One that goes either way, and one that goes the long one; both go on from test to test."""
    short, long = (Desk(FILE, rules=Rules.read(RULES)) for _ in range(2))
    long.limit._plain = False
    return short, long


@given(steps=st.lists(STEP, max_size=30))
def test_a_file_is_asked_in_either_way(
    desks: tuple[Desk, Desk], steps: list[tuple[int, int, int]]
) -> None:
    same(*desks, "edge", TOLD, steps)


@given(steps=st.lists(STEP, max_size=30))
def test_rules_are_asked_in_either_way(
    desks: tuple[Desk, Desk], steps: list[tuple[int, int, int]]
) -> None:
    same(*desks, "any", PETITIONS, steps)


def same(
    short: Desk, long: Desk, domain: str, told: list[Any], steps: list[tuple[int, int, int]]
) -> None:
    """Play the same with both, and compare every byte."""
    for wait, number, hits in steps:
        for desk in (short, long):
            desk.clock.advance(wait / 1000)
        message = call(domain, told[number % len(told)], hits=hits)
        assert short.limit.answer(message) == long.limit.answer(message)
    assert short.limit.status() == long.limit.status()
    assert str(short.keeper.tallies()) == str(long.keeper.tallies())


@pytest.mark.parametrize("key", ["path", "bucket", "two", "quota"])
def test_the_commonest_calls_go_the_short_way(desks: tuple[Desk, Desk], key: str) -> None:
    desk = desks[0]
    message = call("edge", {key: "x"})
    desk.limit.answer(message)

    assert desk.limit._known[message].hatch is not None
