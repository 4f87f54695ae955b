"""SharedStore: what it is called, what it opens, and what it agrees on with others of its name."""

from __future__ import annotations

import pickle
import time
from pathlib import Path
from typing import Any

import pytest

import headgate
from headgate import FixedWindow, SlidingLog, TokenBucket
from headgate.algorithms.limit import KEEP, RESET, SCALE, Limit
from headgate.stores.memory import MemoryStore
from headgate.stores.shared.store import SharedStore

NOW = 1_800_000_000_000_000
BUCKET = (TokenBucket("10/h"),)
OTHER = (FixedWindow("10/h"),)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Where a test's files are."""
    return str(tmp_path)


@pytest.mark.parametrize("capacity", [0, -1, (1 << 30) + 1, 10**30])
def test_a_capacity_out_of_bounds_is_named(folder: str, capacity: int) -> None:
    with pytest.raises(ValueError) as caught:
        SharedStore("api", capacity, folder)

    assert str(caught.value) == (
        f"SharedStore: capacity is from 1 to 1,073,741,824 keys, not {capacity}"
    )


@pytest.mark.parametrize("capacity", [1.5, True, "100", None])
def test_a_capacity_that_is_no_whole_number_is_named(folder: str, capacity: Any) -> None:
    with pytest.raises(TypeError) as caught:
        SharedStore("api", capacity, folder)

    assert str(caught.value) == f"SharedStore: capacity is a whole number of keys, not {capacity!r}"


@pytest.mark.parametrize("name", [None, 5, b"api"])
def test_a_name_that_is_no_str_is_named(folder: str, name: Any) -> None:
    with pytest.raises(TypeError) as caught:
        SharedStore(name, 100, folder)

    assert str(caught.value) == f"SharedStore: name is a str, not {name!r}"


def test_a_store_must_have_a_name(folder: str) -> None:
    with pytest.raises(ValueError) as caught:
        SharedStore("", 100, folder)

    assert str(caught.value) == (
        "SharedStore: name is not empty; it is what processes find each other by"
    )


def test_a_store_prints_as_you_would_type_it(folder: str) -> None:
    assert repr(SharedStore("api", 5, folder)) == (
        f"SharedStore('api', capacity=5, folder={folder!r})"
    )


def test_stores_of_one_name_are_one(folder: str) -> None:
    here = SharedStore("api", 100, folder).open(BUCKET, "logins")
    there = SharedStore("api", 100, folder).open(BUCKET, "logins")
    here.take("a", 4, NOW, 0)

    assert there.take("a", 1, NOW, 0).remaining == 5
    assert (here is there, len(here), len(there)) == (False, 1, 1)


def test_stores_of_two_names_share_nothing(folder: str) -> None:
    here = SharedStore("api", 100, folder).open(BUCKET, "logins")
    there = SharedStore("web", 100, folder).open(BUCKET, "logins")
    here.take("a", 4, NOW, 0)

    assert there.peek("a", 0, NOW).remaining == 10


def test_limiters_of_two_names_share_nothing(folder: str) -> None:
    store = SharedStore("api", 100, folder)
    store.open(BUCKET, "logins").take("a", 4, NOW, 0)

    assert store.open(BUCKET, "exports").peek("a", 0, NOW).remaining == 10


def test_a_name_opened_twice_is_one_ledger(folder: str) -> None:
    store = SharedStore("api", 100, folder)

    assert store.open(BUCKET, "logins") is store.open((TokenBucket("10/h"),), "logins")


def test_limiters_without_a_name_are_named_by_their_limits(folder: str) -> None:
    store = SharedStore("api", 100, folder)
    store.open(BUCKET, "").take("a", 4, NOW, 0)

    assert store.open(BUCKET, "") is store.open(BUCKET, "")
    assert SharedStore("api", 100, folder).open(BUCKET, "").peek("a", 0, NOW).remaining == 6
    assert store.open(OTHER, "").peek("a", 0, NOW).remaining == 10


def test_a_name_with_other_limits_is_refused_as_in_memory(folder: str) -> None:
    messages = []
    for store in (SharedStore("api", 100, folder), MemoryStore(100)):
        store.open(BUCKET, "logins")
        with pytest.raises(ValueError) as caught:
            store.open(OTHER, "logins")
        messages.append(str(caught.value))

    assert messages[0] == messages[1]


def test_another_process_may_have_other_limits_and_gets_rows_of_its_own(folder: str) -> None:
    old = SharedStore("api", 100, folder).open(BUCKET, "logins")
    old.take("a", 4, NOW, 0)
    new = SharedStore("api", 100, folder).open(OTHER, "logins")
    new.take("a", 1, NOW, 0)

    assert [ledger.peek("a", 0, NOW).remaining for ledger in (old, new)] == [6, 9]


def test_a_store_can_be_sent_to_another_process(folder: str) -> None:
    store = SharedStore("api", 100, folder)
    store.open(BUCKET, "logins").take("a", 4, NOW, 0)

    sent = pickle.loads(pickle.dumps(store))

    assert sent.open(BUCKET, "logins").peek("a", 0, NOW).remaining == 6


def test_stores_of_one_name_read_one_clock(folder: str) -> None:
    first, second = (SharedStore("api", 100, folder) for _ in range(2))
    before = first.clock().now()

    assert before <= second.clock().now()
    assert first.clock().offset == second.clock().offset
    # The time of day, give or take a minute.
    assert abs(before / 1e6 - time.time()) < 60


def test_a_removed_store_begins_anew_and_leaves_no_file(folder: str) -> None:
    store = SharedStore("api", 100, folder)
    store.open(BUCKET, "logins").take("a", 4, NOW, 0)

    store.remove()

    assert [path for path in Path(folder).rglob("*") if path.is_file()] == []
    assert store.open(BUCKET, "logins").peek("a", 0, NOW).remaining == 10


def test_a_removed_store_goes_on_for_those_who_have_it_open(folder: str) -> None:
    ledger = SharedStore("api", 100, folder).open(BUCKET, "logins")
    ledger.take("a", 4, NOW, 0)

    SharedStore("api", 100, folder).remove()

    assert ledger.take("a", 1, NOW, 0).remaining == 5


def test_who_opens_a_limiter_after_the_store_was_removed_meets_the_others(folder: str) -> None:
    first = SharedStore("api", 100, folder)
    SharedStore("api", 100, folder).remove()
    SharedStore("api", 100, folder).open(BUCKET, "logins").take("a", 4, NOW, 0)

    assert first.open(BUCKET, "logins").peek("a", 0, NOW).remaining == 6


@pytest.mark.parametrize(
    ("how", "left"), [(SCALE, [60, 100]), (KEEP, [6, 10]), (RESET, [100, 100])]
)
def test_a_change_of_limits_carries_state_over_as_in_memory(
    folder: str, how: int, left: list[int]
) -> None:
    ledgers: list[Any] = [
        SharedStore("api", 100, folder).open(BUCKET, "logins"),
        MemoryStore(100).open(BUCKET, ""),
    ]
    found = []
    for ledger in ledgers:
        ledger.take("a", 4, NOW, 0)
        ledger.take("b", 0, NOW, 0)
        ledger.charge("b", 1, NOW, NOW)
        ledger.charge("b", -1, NOW, NOW)
        ledger.change((TokenBucket("100/h"),), NOW, how)
        found.append([ledger.peek(key, 0, NOW).remaining for key in "ab"])

    assert found[0] == found[1]
    assert found[0] == left


def test_a_change_back_finds_what_was_spent_meanwhile(folder: str) -> None:
    ledger = SharedStore("api", 100, folder).open(BUCKET, "logins")
    ledger.change((TokenBucket("5/h"),), NOW, KEEP)
    ledger.take("a", 4, NOW, 0)

    ledger.change(BUCKET, NOW, KEEP)

    assert ledger.peek("a", 0, NOW).remaining == 1


def test_a_change_to_the_same_limits_changes_nothing(folder: str) -> None:
    ledger = SharedStore("api", 100, folder).open(BUCKET, "logins")
    ledger.take("a", 4, NOW, 0)

    ledger.change(BUCKET, NOW, SCALE)

    assert ledger.take("a", 1, NOW, 0).remaining == 5


def test_a_change_after_the_files_were_removed_makes_new_ones(folder: str) -> None:
    ledger = SharedStore("api", 100, folder).open(BUCKET, "logins")
    ledger.take("a", 4, NOW, 0)
    SharedStore("api", 100, folder).remove()

    ledger.change((TokenBucket("20/h"),), NOW, KEEP)

    assert ledger.peek("a", 0, NOW).remaining == 6


def test_limits_that_are_left_behind_are_swept_when_nobody_has_them_open(folder: str) -> None:
    store = SharedStore("api", 100, folder)
    ledger = store.open(BUCKET, "logins")
    store.open(BUCKET, "exports")
    ledger.change(OTHER, NOW, SCALE)
    before = len(list(Path(folder).rglob("logins.*.rows")))
    del store, ledger

    SharedStore("api", 100, folder).open(OTHER, "logins")

    assert (before, len(list(Path(folder).rglob("logins.*.rows")))) == (2, 1)
    assert len(list(Path(folder).rglob("exports.*.rows"))) == 1


def test_limits_that_are_left_behind_stay_while_somebody_has_them_open(folder: str) -> None:
    old = SharedStore("api", 100, folder).open(BUCKET, "logins")
    old.take("a", 4, NOW, 0)

    SharedStore("api", 100, folder).open(OTHER, "logins")

    assert SharedStore("api", 100, folder).open(BUCKET, "logins").read("a") == old.read("a") != []


def test_keys_up_to_the_capacity_are_never_given_up(folder: str) -> None:
    capacity = 100_000 if headgate.COMPILED else 5_000
    ledger = SharedStore("api", capacity, folder).open(BUCKET, "")
    keys = [f"user:{number}" for number in range(capacity)]
    ledger.take_many(keys, 1, NOW)

    assert {one.remaining for one in ledger.take_many(keys, 1, NOW)} == {8}
    assert len(ledger) == capacity
    assert ledger.tally() == {"anomalies": 0, "evicted": 0, "crowded": 0, "recovered": 0}


@pytest.mark.parametrize("cost", [1, 10], ids=["fresh", "exhausted"])
@pytest.mark.parametrize("capacity", [50, 5_000])
def test_a_flood_of_keys_does_not_free_a_key_in_debt(folder: str, cost: int, capacity: int) -> None:
    ledger = SharedStore("api", capacity, folder).open(BUCKET, "")
    ledger.take("banned", 10, NOW, 0)
    before = ledger.read("banned")
    for number in range(4 * capacity):
        ledger.take(f"fresh:{number}", cost, NOW, 0)

    assert (bool(ledger.take("banned", 1, NOW, 0)), ledger.read("banned")) == (False, before)
    assert ledger.tally()["evicted" if cost == 1 else "crowded"] > 0


def test_a_clock_that_goes_back_is_noticed_by_who_did_not_see_it_go_forward(folder: str) -> None:
    first, second = (SharedStore("api", 100, folder).open(BUCKET, "") for _ in range(2))
    first.take("a", 10, NOW, 0)

    refused = second.take("a", 1, NOW - 3_600_000_000, 0)

    assert (bool(refused), second.tally()["anomalies"]) == (False, 1)
    # The key is not shut out for the hour that the clock went back.
    assert second.take("a", 1, NOW - 3_600_000_000 + 360_000_000, 0)


@pytest.mark.parametrize(
    "limits",
    [
        BUCKET,
        (SlidingLog("5/s"),),
        (TokenBucket("10/s"), FixedWindow("10/day", calendar="day", zone="Europe/Berlin")),
    ],
    ids=["bucket", "log", "calendar"],
)
def test_every_verb_reaches_the_other_process(folder: str, limits: tuple[Limit, ...]) -> None:
    first, second = (SharedStore("api", 100, folder).open(limits, "") for _ in range(2))
    fresh = second.peek("a", 0, NOW)
    decision, memo = first.book("a", 2, NOW, 0)
    booked = second.peek("a", 0, NOW).remaining
    second.release("a", 2, NOW, NOW, memo)
    released = first.peek("a", 0, NOW)
    first.charge("a", 3, NOW, NOW)
    charged = second.peek("a", 0, NOW).remaining
    second.forget("a")

    assert (bool(decision), booked, charged) == (True, fresh.remaining - 2, fresh.remaining - 3)
    assert released == first.peek("a", 0, NOW) == fresh
