"""Whatever else of a rule changes, requests are decided, and what was counted stays counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from headgate import ManualClock, SharedStore, SystemClock
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.matching.request import Request
from headgate.rules.model.rules import Rules
from tests.rules.watch.scenes import API, Desk, left, limited, spelled, visit
from tests.servers.launch import Server

OTHER: dict[str, Any] = {"name": "other", "limit": "9/min"}


@pytest.fixture(params=["memory://", "shared://"])
def store(request: pytest.FixtureRequest) -> Iterator[str]:
    """A store of this process, then one of this machine."""
    name = f"watch-{uuid4().hex}"
    yield "memory://" if request.param == "memory://" else f"shared://{name}"
    if request.param == "shared://":
        SharedStore(name).remove()


def test_what_to_do_without_a_server_may_change_where_there_is_none(
    tmp_path: Path, store: str
) -> None:
    desk = Desk(tmp_path, spelled(API), store)
    for _ in range(3):
        visit(desk.keeper)
    desk.change(spelled({**API, "when_unavailable": "deny"}))

    assert left(desk.keeper) == 1


def test_it_may_change_together_with_the_limit(tmp_path: Path, store: str) -> None:
    desk = Desk(tmp_path, limited("10/min"), store)
    for _ in range(6):
        visit(desk.keeper)
    desk.change(spelled({**API, "limit": "20/min", "when_unavailable": "deny"}))

    assert left(desk.keeper) == 7


def test_a_rule_may_lose_its_key_together_with_its_limit(tmp_path: Path, store: str) -> None:
    desk = Desk(tmp_path, limited("10/min"), store)
    for _ in range(6):
        visit(desk.keeper)
    desk.change(spelled({"name": "api", "limit": "20/min"}))

    # All are counted together from now on, and nobody was before.
    assert [left(desk.keeper), left(desk.keeper, client="192.0.2.2")] == [19, 18]


def test_a_rule_may_come_back_with_another_limit(tmp_path: Path, store: str) -> None:
    desk = Desk(tmp_path, limited("10/min"), store)
    for _ in range(6):
        visit(desk.keeper)
    desk.change(spelled(OTHER))
    visit(desk.keeper)
    desk.change(limited("20/min"))

    # In memory it begins anew; on the machine it was never gone.
    assert left(desk.keeper) == (19 if store == "memory://" else 7)


def test_who_is_inside_stays_counted_when_the_queue_changes(tmp_path: Path) -> None:
    rule = {"name": "places", "concurrent": 1, "over": {"wait": {"timeout": 0.001, "queue": 3}}}
    desk = Desk(tmp_path, spelled(rule))
    inside = visit(desk.keeper)
    desk.change(spelled({**rule, "over": {"wait": {"timeout": 0.001, "queue": 4}}}))
    entry = visit(desk.keeper)
    for one in [inside, entry] if entry else [inside]:
        desk.keeper.leave(one)

    assert not entry


@pytest.mark.parametrize("there", [0, 1])
def test_the_store_may_change_between_a_server_and_this_process(valkey: Server, there: int) -> None:
    places = [{"store": f"{valkey.url}?budget=20"}, {"store": "memory://"}]
    rule = {**API, "counts": {"status": [401]}, "concurrent": 3}
    first, second = places[there], places[not there]
    keeper = AsyncGatekeeper(Rules.read(spelled(rule, **first), "json"))

    async def visits() -> list[int]:
        before = await keeper.enter(Request(client="192.0.2.1"))
        keeper.change(Rules.read(spelled(rule, **second), "json"))
        after = await keeper.enter(Request(client="192.0.2.1"))
        await keeper.leave(before, 200)
        await keeper.leave(after, 200)
        again = await keeper.enter(Request(client="192.0.2.1"))
        await keeper.leave(again, 401)
        keeper.change(Rules.read(spelled(rule, **first), "json"))
        last = await keeper.enter(Request(client="192.0.2.1"))
        await keeper.leave(last, 401)
        await keeper.close()
        return [one.decisions["api"].remaining for one in (before, after, again, last)]

    # Another store begins anew, each time it is another.
    assert asyncio.run(visits()) == [4, 4, 4, 4]


class Meanwhile(ManualClock):
    """A clock by which something else happens the first time that somebody waits."""

    def __init__(self) -> None:
        super().__init__()
        self.deed: Callable[[], object] = lambda: None

    def sleep(self, seconds: float) -> None:
        """Let time pass, and the other thing happen."""
        super().sleep(seconds)
        deed, self.deed = self.deed, lambda: None
        deed()


def test_a_breaker_that_opened_stays_open_for_who_waited_while_its_terms_changed(
    tmp_path: Path,
) -> None:
    rule = {**API, "limit": "1/s", "over": "wait 5s", "breaker": {"calls": 1, "pause": 60}}
    clock = Meanwhile()
    desk = Desk(tmp_path, spelled(rule), clock=clock)

    def change_and_fail() -> None:
        desk.change(spelled({**rule, "breaker": {"calls": 1, "pause": 50}}))
        desk.keeper.leave(visit(desk.keeper), 500)

    desk.keeper.leave(visit(desk.keeper), 200)
    clock.deed = change_and_fail
    waited = visit(desk.keeper)
    later = visit(desk.keeper)

    assert (bool(waited), bool(later)) == (False, False)


def test_on_a_server_what_did_not_change_goes_on_and_what_changed_begins_anew(
    server: Server, tmp_path: Path
) -> None:
    desk = Desk(tmp_path, spelled(API, OTHER), f"{server.url}?budget=20")
    before = [left(desk.keeper) for _ in range(3)]
    desk.change(spelled(API, {**OTHER, "limit": "8/min"}))
    same = left(desk.keeper), left(desk.keeper, "other")
    desk.change(limited("6/min"))

    assert (before, same, left(desk.keeper)) == ([4, 3, 2], (1, 6), 5)


def test_on_a_server_who_is_inside_stays_counted_when_places_change(
    server: Server, tmp_path: Path
) -> None:
    rule = {"name": f"places-{tmp_path.name}", "concurrent": 1}
    desk = Desk(tmp_path, spelled(rule), f"{server.url}?budget=20", SystemClock())
    first = visit(desk.keeper)
    desk.change(spelled({**rule, "concurrent": 2}))
    entries = [visit(desk.keeper), visit(desk.keeper)]
    desk.keeper.leave(first)
    desk.keeper.leave(entries[0])

    assert [bool(entry) for entry in [first, *entries]] == [True, True, False]
