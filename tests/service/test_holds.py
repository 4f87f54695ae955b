"""Holds: never more places than there are, whoever dies, whichever worker is asked."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headgate import Decision, ManualClock, StoreUnavailable
from headgate.rules import Entry, Rule, Rules
from headgate.service.places.joint import END, WIDTH, Joint
from headgate.service.places.near import Near
from headgate.service.teller import Unknown
from tests.service.counters import Counter, Town, remove, shared
from tests.stores.crew import Crew

DESK = Rule("desk", key="user", concurrent=2)


def near(*rules: Rule, **more: Any) -> Counter:
    """A counter whose store is in memory."""
    return Counter([*rules], "memory://", ManualClock(1000.0), **more)


def test_places_are_held_and_given_back(town: Town) -> None:
    async def scene(town: Town) -> None:
        async with town.open(DESK) as at:
            one = await at.ask("hold", "desk", "a", 10.0)
            assert one.decision == Decision(True, 2, 1, 0.0, 10.0, "desk")
            two = await at.ask("hold", "desk", "a", 10.0)
            full = await at.ask("hold", "desk", "a", 10.0)
            assert full.decision == Decision(False, 2, 0, 1.0, rule="desk")
            assert (full.id, full.ttl, bool(full)) == ("", 0.0, False)
            assert await at.ask("hold", "desk", "b")
            assert await at.ask("inside", "desk", "a") == 2
            assert await at.ask("release", one.id) is True
            assert await at.ask("release", one.id) is False
            assert await at.ask("inside", "desk", "a") == 1
            assert await at.ask("hold", "desk", "a")
            assert await at.ask("release", two.id) is True

    town.play(scene)


def test_who_says_nothing_gives_back_when_the_time_is_over(town: Town) -> None:
    async def scene(town: Town) -> None:
        async with town.open(DESK) as at:
            one = await at.ask("hold", "desk", "a", 10.0)
            two = await at.ask("hold", "desk", "a", 10.0)
            town.clock.advance(9.0)
            assert await at.ask("renew", two.id) is True
            assert not await at.ask("hold", "desk", "a")
            town.clock.advance(1.0)
            assert await at.ask("inside", "desk", "a") == 1
            assert await at.ask("renew", one.id) is False
            assert await at.ask("hold", "desk", "a", 20.0)
            town.clock.advance(8.0)
            assert await at.ask("renew", two.id, 600.0) is True
            town.clock.advance(599.0)
            assert await at.ask("release", two.id) is True
            assert await at.ask("inside", "desk", "a") == 0

    town.play(scene)


def test_a_place_belongs_to_its_id_and_to_no_worker(fleet: Town) -> None:
    async def scene(town: Town) -> None:
        async with town.open(DESK) as two:
            async with town.open(DESK) as one:
                first = await one.ask("hold", "desk", "a", 60.0)
                second = await one.ask("hold", "desk", "a", 60.0)
                assert not await two.ask("hold", "desk", "a")
            assert not await two.ask("hold", "desk", "a")
            assert await two.ask("renew", first.id) is True
            assert await two.ask("release", second.id) is True
            assert await two.ask("hold", "desk", "a")
            assert two.teller.holds.rule(first.id) == "desk"

    fleet.play(scene)


def test_workers_that_are_killed_take_no_place_along_and_leave_none_over(
    fleet: Town, clerks: Crew
) -> None:
    rules = [{"name": "desk", "key": "user", "concurrent": 25}]
    gone = clerks.hire()
    clerks.hands.append(gone)
    try:
        clerks.ask("open", url=fleet.url, rules=rules)
        had = clerks.ask("hold", key="a", times=20)
    finally:
        clerks.hands.remove(gone)
        clerks.dismiss(gone)
    assert sum(map(len, had)) == 25
    assert clerks.ask("inside", key="a") == [25, 25]
    assert clerks.ask("hold", key="a", times=3) == [[], []]
    ids = [one for each in had for one in each]
    assert sum(clerks.ask("release", ids=ids)) == 25
    assert clerks.ask("inside", key="a") == [0, 0]


def test_plans_and_overrides_have_places_of_their_own() -> None:
    rule_ = Rule("desk", key="user", concurrent=1, overrides={"vip": "unlimited", "b": 3})
    at = near(rule_, plans={"gold": {"desk": 2}, "root": "unlimited"})

    def had(key: str, plan: str = "") -> int:
        return sum(bool(at.teller.hold("desk", key, 10.0, plan)) for _ in range(5))

    assert (had("a"), had("a", "gold"), had("a", "root"), had("a", "gold")) == (1, 2, 5, 0)
    assert (had("vip"), had("b"), had("b", "gold")) == (5, 3, 0)
    assert at.teller.inside("desk", "a", "gold") == 2


def test_who_is_not_counted_keeps_what_it_has() -> None:
    at = near(Rule("desk", key="user", concurrent=1, mode="shadow"))
    first: Any = at.teller.hold("desk", "a")
    second: Any = at.teller.hold("desk", "a")
    assert second.decision == Decision(True, 1, 0, rule="desk")
    assert (at.teller.renew(second.id), at.teller.release(second.id)) == (True, True)
    assert at.teller.inside("desk", "a") == 1
    assert at.teller.release(first.id)
    tally = at.keeper.tallies()["desk"]
    assert (tally.passed, tally.refused, tally.shadowed) == (2, 0, 1)


def test_listeners_hear_of_it_as_of_requests() -> None:
    heard: list[Entry] = []
    at = near(DESK, Rule("all", concurrent=1))
    at.keeper.listen(heard.append)
    for name, key in (("desk", "a"), ("desk", "a"), ("desk", "a"), ("desk", ""), ("all", ""),
                      ("all", "x")):  # fmt: skip
        at.teller.hold(name, key)
    kinds = [one.refusal.kind if one.refusal else "" for one in heard]
    assert kinds == ["", "", "limit", "key", "", "capacity"]


def test_new_rules_keep_who_is_inside() -> None:
    at = near(DESK)
    hold: Any = at.teller.hold("desk", "a")
    at.keeper.change(Rules([Rule("desk", key="user", concurrent=1)]))
    assert not at.teller.hold("desk", "a")
    assert at.teller.release(hold.id)
    assert at.teller.hold("desk", "a")


def test_a_rule_without_places_is_said_to_have_none() -> None:
    teller = near(Rule("api", key="user", limit="1/s")).teller
    with pytest.raises(Unknown) as problem:
        teller.hold("api", "a")
    said = 'the rule "api" has no places; give it some, such as concurrent: 10'
    assert str(problem.value) == said


@pytest.mark.parametrize("ttl", [0.0, -1.0, 0.05, 3601.0, float("nan"), "1", True])
def test_a_time_that_is_none_is_refused(ttl: Any) -> None:
    teller = near(DESK).teller
    with pytest.raises((ValueError, TypeError), match=r"hold: ttl is (from 0.1 to 3600|a number)"):
        teller.hold("desk", "a", ttl)


def test_where_the_store_is_gone_the_rule_says_what_then() -> None:
    async def scene() -> None:
        for mode, answers in (("allow", "yes yes yes"), ("deny", "no no no"),
                              ("local", "yes yes no")):  # fmt: skip
            desk = Rule("desk", key="user", concurrent=2, when_unavailable=mode)
            async with Counter([desk], "redis://127.0.0.1:1", ManualClock(1000.0)) as at:
                holds = [await at.ask("hold", "desk", "a") for _ in range(3)]
                assert " ".join("yes" if one else "no" for one in holds) == answers
                assert all(one.decision.degraded for one in holds)
                if mode == "deny":
                    assert holds[0].decision.reason == "unavailable"
                else:
                    assert await at.ask("renew", holds[0].id) is True
                    assert await at.ask("release", holds[0].id) is True

    asyncio.run(scene())


def test_where_nobody_knows_whether_a_place_is_held_that_is_said(valkey: Any) -> None:
    async def scene() -> None:
        async with Counter([DESK], valkey.url, ManualClock(1000.0)) as at:
            hold = await at.ask("hold", "desk", "a")
            valkey.pause()
            with pytest.raises(StoreUnavailable):
                await at.ask("renew", hold.id)
            valkey.resume()

    asyncio.run(scene())


def test_in_memory_there_are_only_so_many() -> None:
    places = Near(lambda: 0, most=3)
    assert [places.enter("t", key, "n", 1, 9) for key in "abc"] == [1, 1, 1]
    with pytest.raises(StoreUnavailable, match="3 places are held already"):
        places.enter("t", "d", "n", 1, 9)
    assert places.leave("t", "a", "n")
    assert places.enter("t", "d", "n", 1, 9) == 1


def test_renewing_for_ever_takes_no_more_memory() -> None:
    clock = ManualClock()
    places = Near(clock.now)
    places.enter("t", "a", "n", 1, 1_000_000)
    for _ in range(1000):
        clock.advance(0.001)
        assert places.renew("t", "a", "n", 1_000_000)
    assert len(places._ends) <= 66
    clock.advance(1.0)
    assert places.inside("t", "a") == 0
    assert not places._rooms
    assert not places._ends


@pytest.fixture
def store() -> Iterator[str]:
    """The name of a store in shared memory."""
    url = shared()
    yield url.partition("://")[2]
    remove(url)


def used(places: Joint) -> int:
    """How many rows are not as if never used."""
    return sum(places._cells[row + END] != 0 for row in range(0, places._last, WIDTH))


def test_in_shared_memory_there_are_only_so_many(store: str) -> None:
    places = Joint(store, ManualClock(1.0), capacity=2)
    had: list[int] = []

    def crowd() -> None:
        had.extend(places.enter("t", "k", str(number), 100, 9) for number in range(100))

    with pytest.raises(StoreUnavailable, match="2 places are held already"):
        crowd()
    assert 2 <= len(had) <= 6


class Cells:
    """Cells whose writer is killed after so many writes."""

    def __init__(self, cells: Any, left: int) -> None:
        self.cells = cells
        self.left = left

    def __getitem__(self, place: int) -> int:
        return int(self.cells[place])

    def __setitem__(self, place: int, value: int) -> None:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.cells[place] = value


@pytest.mark.parametrize("verb", ["enter", "renew", "leave"])
def test_who_is_killed_in_the_middle_has_done_it_or_has_not(store: str, verb: str) -> None:
    clock = ManualClock(1.0)
    said = {"enter": ("new", 3, 900), "renew": ("one", 900), "leave": ("one",)}[verb]
    for writes in range(8):
        places, other = Joint(store, clock), Joint(store, clock)
        assert places.enter("t", "k", "over", 3, 1) == 1
        assert places.enter("t", "k", "one", 3, 500) == 2
        clock.advance(0.0001)
        places._cells = Cells(places._cells, writes)
        with suppress(KeyboardInterrupt):
            getattr(places, verb)("t", "k", *said)
        count = other.inside("t", "k")
        assert count in ({"enter": (1, 2), "renew": (1,), "leave": (0, 1)}[verb])
        had = sum(other.enter("t", "k", f"{number}", 3, 900) > 0 for number in range(5))
        assert had == 3 - count
        clock.advance(1.0)


def test_rows_of_the_dead_are_used_again(store: str) -> None:
    clock = ManualClock(1.0)
    places = Joint(store, clock, capacity=50)
    for number in range(2000):
        key = f"k{number % 25}"
        assert places.enter("t", key, str(number), 2, 1_000_000) > 0
        clock.advance(0.5)
    clock.advance(10.0)
    for number in range(25):
        assert places.inside("t", f"k{number}") == 0
    assert used(places) <= 25


def test_what_was_written_by_one_process_is_read_by_the_next(store: str) -> None:
    clock = ManualClock(1.0)
    first = Joint(store, clock)
    assert first.enter("t", "a", "one", 1, 60_000_000) == 1
    first.close()
    del first
    second = Joint(store, clock)
    assert second.enter("t", "a", "two", 1, 60_000_000) == 0
    assert second.renew("t", "a", "one", 60_000_000)
    assert second.leave("t", "a", "one")
    assert second.enter("t", "a", "two", 1, 60_000_000) == 1


class Village(RuleBasedStateMachine):
    """Two workers, three keys, a clock; a plain list of who holds what until when is the truth."""

    LIMIT = 3

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock(1.0)
        self.workers = self.open()
        self.truth: dict[tuple[str, str], int] = {}
        self.known: list[tuple[str, str]] = []

    def open(self) -> list[Any]:
        """The workers."""
        return [Near(self.clock.now)]

    def inside(self, key: str) -> int:
        """How many hold a place."""
        now = self.clock.now()
        return sum(end > now for (one, _), end in self.truth.items() if one == key)

    @rule(worker=st.integers(0, 9), key=st.sampled_from("abc"), ttl=st.integers(1, 50))
    def enter(self, worker: int, key: str, ttl: int) -> None:
        name = uuid.uuid4().hex
        places = self.workers[worker % len(self.workers)]
        before = self.inside(key)
        found = places.enter("t", key, name, self.LIMIT, ttl)
        assert found == (before + 1 if before < self.LIMIT else 0)
        if found:
            self.truth[key, name] = self.clock.now() + ttl
            self.known.append((key, name))

    @precondition(lambda self: self.known)
    @rule(worker=st.integers(0, 9), data=st.data(), ttl=st.integers(1, 50))
    def renew(self, worker: int, data: st.DataObject, ttl: int) -> None:
        key, name = data.draw(st.sampled_from(self.known))
        held = self.truth[key, name] > self.clock.now()
        places = self.workers[worker % len(self.workers)]
        assert places.renew("t", key, name, ttl) is held
        if held:
            self.truth[key, name] = self.clock.now() + ttl

    @precondition(lambda self: self.known)
    @rule(worker=st.integers(0, 9), data=st.data())
    def leave(self, worker: int, data: st.DataObject) -> None:
        key, name = data.draw(st.sampled_from(self.known))
        held = self.truth[key, name] > self.clock.now()
        places = self.workers[worker % len(self.workers)]
        assert places.leave("t", key, name) is held
        self.truth[key, name] = 0

    @rule(span=st.integers(1, 30))
    def pass_time(self, span: int) -> None:
        self.clock.advance(span / 1e6)

    @invariant()
    def never_more_than_there_are(self) -> None:
        for places in self.workers:
            for key in "abc":
                count = places.inside("t", key)
                assert count == self.inside(key)
                assert count <= self.LIMIT


class Hamlet(Village):
    """The same with workers that share a file, which has hardly room for them."""

    def open(self) -> list[Any]:
        self.url = shared()
        name = self.url.partition("://")[2]
        return [Joint(name, self.clock, capacity=9) for _ in range(2)]

    def teardown(self) -> None:
        remove(self.url)


TestVillage = Village.TestCase
TestHamlet = Hamlet.TestCase
TestHamlet.settings = settings(max_examples=25)
