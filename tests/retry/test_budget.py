"""RetryBudget: whatever fails, retries stay a share of the calls."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import ManualClock, MissingExtra, RetryAfter, RetryBudget
from tests.crowd import hasty, together

tenacity = pytest.importorskip("tenacity")

WINDOW = 10.0


def test_a_tenth_of_the_calls_may_be_retried(clock: ManualClock) -> None:
    budget = RetryBudget(share=0.1, least=0, clock=clock)
    for _ in range(59):
        budget.count()

    assert [budget.take() for _ in range(7)] == [True] * 5 + [False] * 2
    assert repr(budget) == "<RetryBudget: 5 retries of 59 calls>"
    budget.count()
    assert [budget.take(), budget.take()] == [True, False]


def test_calls_may_be_counted_together(clock: ManualClock) -> None:
    budget = RetryBudget(share=0.1, least=0, clock=clock)

    budget.count(59)
    clock.advance(1)
    budget.count()

    assert [budget.take() for _ in range(7)] == [True] * 6 + [False]
    assert repr(budget) == "<RetryBudget: 6 retries of 60 calls>"


@pytest.mark.parametrize("calls", [0, -1])
def test_no_call_is_not_counted(calls: int, clock: ManualClock) -> None:
    budget = RetryBudget(clock=clock)

    with pytest.raises(ValueError, match=rf"^RetryBudget: calls .*{calls}"):
        budget.count(calls)

    assert not budget._counting
    assert repr(budget) == "<RetryBudget: 0 retries of 0 calls>"


def test_so_many_may_always_be_retried(clock: ManualClock) -> None:
    budget = RetryBudget(least=3, clock=clock)

    assert [budget.take() for _ in range(5)] == [True] * 3 + [False] * 2


def test_the_least_is_not_added_to_the_share(clock: ManualClock) -> None:
    budget = RetryBudget(share=0.1, least=3, clock=clock)
    for _ in range(50):
        budget.count()

    assert sum(budget.take() for _ in range(20)) == 5


def test_what_is_over_is_forgotten(clock: ManualClock) -> None:
    budget = RetryBudget(share=0.5, least=0, window=WINDOW, clock=clock)
    for _ in range(10):
        budget.count()
    clock.advance(WINDOW - 0.001)
    kept = [budget.take() for _ in range(6)]
    clock.advance(WINDOW)

    assert (kept, budget.take()) == ([True] * 5 + [False], False)


STEPS = st.lists(
    st.tuples(st.sampled_from(["call", "retry", "retry", "wait"]), st.integers(0, 12_000)),
    max_size=300,
)


@given(steps=STEPS, share=st.sampled_from([0.05, 0.1, 0.3, 1.0]), least=st.integers(0, 5))
def test_in_no_window_there_are_more_retries_than_the_share_or_the_least(
    steps: list[tuple[str, int]], share: float, least: int
) -> None:
    clock = ManualClock()
    budget = RetryBudget(share, least, window=WINDOW, clock=clock)
    calls: list[int] = []
    retries: list[int] = []
    for step, milliseconds in steps:
        if step == "wait":
            clock.advance(milliseconds / 1_000)
        elif step == "call":
            budget.count()
            calls.append(clock.now())
        elif budget.take():
            retries.append(clock.now())
            # The window turns by a tenth at a time: what is nine tenths old is in it for sure, and
            # what is older than all of it is not.
            recent = sum(1 for moment in retries if moment > clock.now() - 9_000_000)
            known = sum(1 for moment in calls if moment > clock.now() - 10_000_000)
            assert recent <= max(least, share * known)


@pytest.mark.parametrize("seed", range(5))
def test_a_retry_storm_amplifies_calls_by_a_tenth(
    clock: ManualClock, seed: int, scale: int
) -> None:
    # Everything fails for 20 seconds, in the soak for a minute. 20 calls a second, each tried up to
    # five times.
    seconds = 20 if scale == 1 else 60
    calls = 20 * seconds
    budget = RetryBudget(share=0.1, least=3, window=WINDOW, clock=clock)
    wait = RetryAfter(first=0.5)
    wait.luck = random.Random(seed)
    arrived = 0

    @tenacity.retry(
        before=budget,
        stop=budget | tenacity.stop_after_attempt(5),
        wait=wait,
        sleep=clock.asleep,
        reraise=True,
    )
    async def fetch() -> None:
        nonlocal arrived
        arrived += 1
        raise ConnectionError

    asyncio.run(storm(fetch, clock, calls, 0.05))

    windows = seconds / WINDOW + 1
    assert calls < arrived <= calls * 1.1 + 3 * windows


async def storm(fetch: Any, clock: ManualClock, calls: int, gap: float) -> None:
    """So many callers, one after another, all of whom are let down."""
    tasks = []
    for _ in range(calls):
        tasks.append(asyncio.create_task(fetch()))
        await clock.asleep(gap)
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(each) for each in found} == {ConnectionError}


def test_without_a_budget_the_same_storm_is_five_times_the_calls(clock: ManualClock) -> None:
    arrived = 0

    @tenacity.retry(stop=tenacity.stop_after_attempt(5), sleep=clock.asleep, reraise=True)
    async def fetch() -> None:
        nonlocal arrived
        arrived += 1
        raise ConnectionError

    asyncio.run(storm(fetch, clock, 100, 0.05))

    assert arrived == 500


def test_calls_that_go_well_earn_retries_for_those_that_do_not(clock: ManualClock) -> None:
    # One call in twenty fails once: a budget of a tenth is enough for all of them.
    budget = RetryBudget(share=0.1, least=1, clock=clock)
    tried: set[int] = set()

    @tenacity.retry(before=budget, stop=budget, reraise=True)
    def fetch(number: int) -> int:
        first = number not in tried
        tried.add(number)
        if first and number % 20 == 19:
            raise ConnectionError
        return number

    assert [fetch(number) for number in range(200)] == list(range(200))
    assert repr(budget) == "<RetryBudget: 10 retries of 200 calls>"


def test_without_before_only_calls_that_failed_are_known(clock: ManualClock) -> None:
    budget = RetryBudget(share=0.5, least=0, clock=clock)
    arrived = 0

    @tenacity.retry(stop=budget, reraise=True)
    def fetch() -> None:
        nonlocal arrived
        arrived += 1
        raise ConnectionError

    for _ in range(100):
        with pytest.raises(ConnectionError):
            fetch()

    assert arrived == 150


@pytest.mark.parametrize("side", ["left", "right"])
def test_where_another_stops_nothing_is_taken(clock: ManualClock, side: str) -> None:
    budget = RetryBudget(share=1.0, least=100, clock=clock)
    twice = tenacity.stop_after_attempt(2)
    stop = budget | twice if side == "left" else twice | budget

    @tenacity.retry(before=budget, stop=stop, reraise=True)
    def fetch() -> None:
        raise ConnectionError

    for _ in range(10):
        with pytest.raises(ConnectionError):
            fetch()

    assert repr(budget) == "<RetryBudget: 10 retries of 10 calls>"


def test_three_stops_may_be_joined(clock: ManualClock) -> None:
    budget = RetryBudget(least=100, clock=clock)
    stop = budget | tenacity.stop_after_delay(3600) | tenacity.stop_after_attempt(2)
    attempts = 0
    for attempt in tenacity.Retrying(before=budget, stop=stop, reraise=False):
        with attempt:
            attempts += 1
            if attempts < 2:
                raise ConnectionError

    assert attempts == 2


def test_threads_share_one_budget(clock: ManualClock, scale: int) -> None:
    budget = RetryBudget(share=0.1, least=0, clock=clock)
    taken: list[bool] = []

    def work(_: int) -> None:
        for _ in range(500 * scale):
            budget.count()
            taken.append(budget.take())

    with hasty():
        together(work, 4)

    assert sum(taken) == 200 * scale


def test_without_tenacity_joining_names_the_extra(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tenacity.stop", None)

    with pytest.raises(MissingExtra) as caught:
        RetryBudget(clock=clock) | (lambda state: True)

    assert caught.value.extra == "retry"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"share": 0}, "RetryBudget: share is a share above 0 and up to 1, not 0"),
        ({"share": 1.1}, "RetryBudget: share is a share above 0 and up to 1, not 1.1"),
        ({"least": -1}, "RetryBudget: least is 0 or more, not -1"),
        ({"least": 0.5}, "RetryBudget: least is a whole number, not 0.5"),
        ({"window": 0}, "RetryBudget: window is 0.001 or more seconds, not 0"),
    ],
)
def test_misuse_is_named(options: dict[str, Any], problem: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        RetryBudget(**options)

    assert str(caught.value) == problem


def test_a_forked_child_can_ask_though_a_lock_was_held(clock: ManualClock) -> None:
    budget = RetryBudget(clock=clock)
    with budget._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if budget.take() else 1)
        _, status = os.waitpid(child, 0)

    assert status == 0
