"""What was counted, held and promised goes on when rules change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import SharedStore
from headgate.rules.matching.request import Request
from headgate.rules.model.rules import Rules
from tests.rules.watch.scenes import API, Desk, left, limited, spelled, version, visit

OTHER: dict[str, Any] = {"name": "other", "match": {"path": "/other"}, "limit": "9/min"}
STORES = ["memory://", "shared://"]
BY = [
    "token_bucket", "gcra", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log",
]  # fmt: skip


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Iterator[str]:
    """A store of this process, then one of this machine."""
    if request.param == "memory://":
        yield "memory://"
        return
    name = f"watch-{uuid4().hex}"
    yield f"shared://{name}"
    SharedStore(name).remove()


@pytest.fixture
def desk(tmp_path: Path, store: str) -> Callable[..., Desk]:
    """A desk with these rules."""
    return lambda *rules, **said: Desk(tmp_path, spelled(*rules, **said), store)


@pytest.mark.parametrize("by", BY)
def test_what_did_not_change_goes_on_exactly(desk: Callable[..., Desk], by: str) -> None:
    here = desk({**API, "by": by}, OTHER)
    before = [left(here.keeper) for _ in range(3)]
    changed = here.change(spelled({**API, "by": by}, {**OTHER, "limit": "1/min"}))

    assert (before, changed) == ([4, 3, 2], True)
    assert [left(here.keeper) for _ in range(3)] == [1, 0, -1]


def test_what_changed_scales_with_the_capacity(desk: Callable[..., Desk]) -> None:
    here = desk({**API, "limit": "10/min"})
    for _ in range(6):
        visit(here.keeper)
    here.change(limited("20/min"))

    # Four of ten are eight of twenty.
    assert left(here.keeper) == 7


def test_debt_is_kept(desk: Callable[..., Desk]) -> None:
    rule = {**API, "limit": "10/min", "cost": {"by": "response.header.x-cost"}}
    here = desk(rule)
    entry = visit(here.keeper)
    here.keeper.leave(entry, 200, lambda name: "30")
    here.change(spelled({**rule, "limit": "20/min"}))
    wait = visit(here.keeper).refusal.retry_after

    # Twenty are owed, and one is asked for.
    assert wait == pytest.approx(21 * 60 / 20)


def test_a_rule_that_was_removed_and_is_back_begins_anew(tmp_path: Path) -> None:
    here = Desk(tmp_path, spelled(API))
    for _ in range(5):
        visit(here.keeper)
    here.change(spelled(OTHER))
    visit(here.keeper)
    here.change(spelled(API))

    assert left(here.keeper) == 4


def test_a_rule_that_is_removed_lets_everybody_in(desk: Callable[..., Desk]) -> None:
    here = desk({**API, "limit": "1/min"})
    visit(here.keeper)
    refused = visit(here.keeper)
    here.change(spelled())

    assert (bool(refused), bool(visit(here.keeper))) == (False, True)


PLANS = {"gold": {"api": "20/min"}, "free": {"api": "unlimited"}}


def test_plans_go_on_and_scale_like_rules(desk: Callable[..., Desk]) -> None:
    here = desk(API, plans=PLANS)
    for _ in range(15):
        visit(here.keeper, plan="gold")
    here.change(spelled({**API, "limit": "6/min"}, plans=PLANS))
    same = left(here.keeper, plan="gold")
    here.change(spelled(API, plans={**PLANS, "gold": {"api": "40/min"}}))

    # Four of twenty are eight of forty.
    assert (same, left(here.keeper, plan="gold")) == (4, 7)


def test_plans_come_and_go(desk: Callable[..., Desk]) -> None:
    here = desk(API, plans=PLANS)
    spent = [left(here.keeper, plan="gold"), left(here.keeper)]
    here.change(spelled(API))
    without = left(here.keeper, plan="gold")

    assert (spent, without) == ([19, 4], 3)


def test_overrides_go_on_and_scale_like_rules(desk: Callable[..., Desk]) -> None:
    overrides = {"192.0.2.9": "20/min", "192.0.2.8": "unlimited"}
    here = desk({**API, "overrides": overrides})
    for _ in range(15):
        visit(here.keeper, "192.0.2.9")
    here.change(spelled({**API, "limit": "6/min", "overrides": overrides}))
    same = left(here.keeper, client="192.0.2.9")
    here.change(spelled({**API, "overrides": {**overrides, "192.0.2.9": "40/min"}}))

    assert (same, left(here.keeper, client="192.0.2.9")) == (4, 7)


def held(rule: dict[str, Any], places: int) -> str:
    return spelled({**rule, "concurrent": places})


PLACES: dict[str, Any] = {"name": "places", "key": "client.ip"}


def test_who_is_inside_stays_counted_when_there_are_fewer_places(
    desk: Callable[..., Desk],
) -> None:
    here = desk({**PLACES, "concurrent": 2})
    first, second = visit(here.keeper), visit(here.keeper)
    here.change(held(PLACES, 1))
    seen = [bool(visit(here.keeper))]
    here.keeper.leave(first)
    seen += [bool(visit(here.keeper))]
    here.keeper.leave(second)
    third = visit(here.keeper)
    seen += [bool(third), bool(visit(here.keeper))]
    here.keeper.leave(third)

    assert seen == [False, False, True, False]


def test_who_is_inside_stays_counted_when_there_are_more_places(
    desk: Callable[..., Desk],
) -> None:
    here = desk({**PLACES, "concurrent": 1})
    entries = [visit(here.keeper)]
    here.change(held(PLACES, 3))
    entries += [visit(here.keeper) for _ in range(3)]
    for entry in entries[:3]:
        here.keeper.leave(entry)

    assert [bool(entry) for entry in entries] == [True, True, True, False]
    assert places(here) == 3


def places(here: Desk) -> int:
    """How many get in at once; they leave again."""
    entries = [visit(here.keeper)]
    while entries[-1]:
        entries.append(visit(here.keeper))
    for entry in entries[:-1]:
        here.keeper.leave(entry)
    return len(entries) - 1


ENDS = {
    "as it was": spelled({**API, **PLACES, "concurrent": 2, "counts": {"status": [401]}}),
    "other limits": spelled(
        {**API, **PLACES, "concurrent": 5, "limit": "50/min", "counts": {"status": [401]}}
    ),
    "another rule": spelled(OTHER),
    "no rules": spelled(),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_request_that_began_under_the_old_rules_ends_well_under_the_new(
    desk: Callable[..., Desk], end: str
) -> None:
    rule = {**API, **PLACES, "concurrent": 2, "counts": {"status": [401]}}
    here = desk(rule)
    counted, uncounted = visit(here.keeper), visit(here.keeper)
    here.change(ENDS[end])
    here.keeper.leave(counted, 401)
    here.keeper.leave(uncounted, 200)

    assert {counted.version, uncounted.version} == {version(spelled(rule))}
    assert not counted.slots
    assert not uncounted.slots
    if end in ("as it was", "other limits"):
        # One of the two counts, under any limits; and both places are free.
        most = 5 if end == "as it was" else 50
        entry = visit(here.keeper)
        assert entry.decisions["places"].remaining == most * 4 // 5 - 1
        here.keeper.leave(entry, 200)
        assert places(here) == (2 if end == "as it was" else 5)


TEXTS = [limited("5/min"), limited("10/min"), spelled(API, OTHER), spelled(OTHER), spelled()]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("change"), st.sampled_from([*TEXTS, "{", spelled({"name": "x"})])),
        st.tuples(st.just("enter"), st.sampled_from(["/", "/other"])),
        st.tuples(st.just("leave"), st.integers(0, 5)),
    ),
    max_size=40,
)


@given(STEPS)
def test_every_entry_names_a_version_that_was_in_force_when_it_was_decided(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any]]
) -> None:
    here = Desk(tmp_path_factory.mktemp("rules"), TEXTS[0])
    now = version(TEXTS[0])
    inside: list[Any] = []
    for deed, said in steps:
        if deed == "change":
            here.change(said)
            now = version(said) if said in TEXTS else now
        elif deed == "enter":
            entry = here.keeper.enter(Request(path=said, client="192.0.2.1"))
            assert entry.version == now
            inside += [entry] if entry else []
        elif inside:
            here.keeper.leave(inside.pop(said % len(inside)))


@given(st.lists(st.integers(1, 50), min_size=1, max_size=8), st.integers(0, 30))
def test_reloading_never_lets_more_in_than_the_largest_limit(
    tmp_path_factory: pytest.TempPathFactory, limits: list[int], each: int
) -> None:
    here = Desk(tmp_path_factory.mktemp("rules"), limited(f"{limits[0]}/h"))
    let_in = 0
    for limit in limits:
        here.keeper.change(Rules.read(limited(f"{limit}/h"), "json"))
        let_in += sum(bool(visit(here.keeper)) for _ in range(each))

    # Each limit gives out a share of the one bucket, and the shares are at most all of it.
    assert let_in <= max(limits)
