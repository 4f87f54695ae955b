"""A refusal that the exact log would have let in is known to be wrong, for a sample of keys."""

from __future__ import annotations

import random
from typing import Any

import pytest

from headgate import GCRA, FixedWindow, Limiter, ManualClock, SlidingLog, SlidingWindow, TokenBucket
from headgate.rules.live.assay import KEYS, Assay
from headgate.testing import play
from headgate.testing.simulator import Entry
from tests.conftest import SCALE

SECOND = 1_000_000


def traffic(keys: int, seed: int, requests: int) -> list[tuple[float, str, int]]:
    """Bursts and quiet times of several keys, about what a limit of 10/s lets in and more."""
    chance = random.Random(seed)
    now, found = 0.0, []
    for _ in range(requests):
        now += chance.choice((0.0, 0.001, 0.02, 0.05)) / keys * 4
        found.append((round(now, 6), f"key{chance.randrange(keys)}", chance.choice((1, 1, 2))))
    return found


def weighed(limit: Any, history: list[Entry]) -> tuple[int, int]:
    """How many refusals an assay looks at, and how many were wrong."""
    assay = Assay((limit,))
    found = [
        assay.weigh(one.key, one.cost, round(one.at * SECOND), bool(one.decision))
        for one in history
    ]
    return sum(one > 0 for one in found), found.count(2)


def truth(count: int, span: int, history: list[Entry]) -> tuple[int, int]:
    """The same, counted from the history by a log."""
    refused = wrong = 0
    for number, one in enumerate(history):
        if one.decision:
            continue
        now = round(one.at * SECOND)
        inside = sum(
            other.cost
            for other in history[:number]
            if other.decision and other.key == one.key and round(other.at * SECOND) > now - span
        )
        refused += 1
        wrong += inside + one.cost <= count
    return refused, wrong


@pytest.mark.parametrize(
    ("limit", "some"),
    [
        pytest.param(FixedWindow("10/s"), False, id="fixed window"),
        pytest.param(SlidingWindow("10/s", parts=1), True, id="sliding window of one part"),
        pytest.param(SlidingWindow("10/s"), True, id="sliding window"),
        pytest.param(SlidingLog("10/s"), False, id="sliding log"),
    ],
)
def test_what_is_wrong_is_what_the_log_of_the_history_says(limit: Any, some: bool) -> None:
    history = play(Limiter(limit, clock=ManualClock()), traffic(5, 7, 600 * SCALE))

    found = weighed(limit, history)

    assert found == truth(10, SECOND, history)
    assert found[0] > 50
    assert (found[1] > 0) == some


@pytest.mark.parametrize("limit", [GCRA("10/s", burst=4), TokenBucket("10/s burst 4")])
def test_a_bucket_refuses_nobody_whom_the_exact_bucket_lets_in(limit: Any) -> None:
    history = play(Limiter(limit, clock=ManualClock()), traffic(5, 7, 600 * SCALE))

    looked, wrong = weighed(limit, history)

    assert (looked, wrong) == (sum(not one.decision for one in history), 0)


def test_a_bucket_that_loses_what_it_knows_is_found_out() -> None:
    assay = Assay((TokenBucket("10/s burst 2"),))

    found = [assay.weigh("a", 1, now, yes) for now, yes in ((0, True), (1, False), (2, True))]

    # One of two was there, and then none.
    assert [*found, assay.weigh("a", 1, 3, False)] == [0, 2, 0, 1]


def test_a_sample_of_many_keys_tells_the_share_of_all() -> None:
    limit = SlidingWindow("10/s", parts=1)
    history = play(Limiter(limit, clock=ManualClock()), traffic(200, 3, 12_000))
    refused, wrong = truth_of(10, history)

    shares = []
    for _ in range(8):
        looked, found = weighed(limit, history)
        assert 0 < looked < refused
        shares.append(found / looked)

    assert wrong > 0
    assert abs(sum(shares) / len(shares) - wrong / refused) < 0.1


def truth_of(count: int, history: list[Entry]) -> tuple[int, int]:
    parts: dict[str, list[Entry]] = {}
    for one in history:
        parts.setdefault(one.key, []).append(one)
    found = [truth(count, SECOND, each) for each in parts.values()]
    return sum(one[0] for one in found), sum(one[1] for one in found)


def test_so_many_keys_are_looked_at_and_no_more() -> None:
    assay = Assay((SlidingLog("5/s"),))

    for number in range(20 * KEYS):
        assay.weigh(f"key{number}", 1, number, True)

    assert 0 < assay.count <= KEYS


def test_what_was_before_a_change_of_limits_is_not_known() -> None:
    assay = Assay((SlidingLog("5/s"),), new=False)

    assert assay.weigh("a", 1, 0, False) == 0
    assert assay.weigh("a", 1, SECOND - 1, False) == 0
    assert assay.weigh("a", 1, SECOND, False) == 2


@pytest.mark.parametrize(
    "limit",
    [
        TokenBucket("10/s", refill="interval"),
        TokenBucket("10/s", initial=0),
        TokenBucket("10/s", borrow=True),
        SlidingLog("10/s", penalty=1),
        SlidingLog("0/s"),
    ],
)
def test_a_limit_that_has_no_exact_form_is_not_looked_at(limit: Any) -> None:
    assert not Assay((limit,)).awake
