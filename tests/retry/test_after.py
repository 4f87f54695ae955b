"""RetryAfter waits as long as it is told to, and a little longer; else longer each time."""

from __future__ import annotations

import asyncio
import random
from email.message import Message
from types import SimpleNamespace
from typing import Any

import pytest

from headgate import (
    Breaker,
    BreakerOpen,
    BulkheadFull,
    Decision,
    Limiter,
    LimitExceeded,
    ManualClock,
    RetryAfter,
)

tenacity = pytest.importorskip("tenacity")

NOON = 1_800_000_000.0
NEVER = float("inf")


class Answer(Exception):
    """What a client raises: with headers, with a response that has some, or with neither."""

    def __init__(self, **parts: Any) -> None:
        super().__init__()
        vars(self).update(parts)


def response(**headers: str) -> Any:
    return SimpleNamespace(headers={word.replace("_", "-"): text for word, text in headers.items()})


def message(text: str) -> Message:
    """Headers as urllib has them."""
    headers = Message()
    headers["retry-after"] = text
    return headers


def state(outcome: object, attempt: int = 1) -> Any:
    """What tenacity passes to a wait."""
    failed = isinstance(outcome, BaseException)
    retrying = tenacity.Retrying()
    found = tenacity.RetryCallState(retrying, None, (), {})
    found.attempt_number = attempt
    found.outcome = tenacity.Future.construct(attempt, outcome, failed)
    return found


def waits(clock: ManualClock, **options: Any) -> RetryAfter:
    """A wait that adds nothing and, where nothing is said, takes an hour."""
    return RetryAfter(lambda _: 3600.0, jitter=0.0, clock=clock, **options)


@pytest.mark.parametrize(
    ("outcome", "seconds"),
    [
        (Answer(retry_after=2.5), 2.5),
        (Answer(retry_after=7), 7.0),
        (Answer(retry_after="7"), 7.0),
        (Answer(headers={"Retry-After": "7"}), 7.0),
        (Answer(headers={"retry-after": "7"}), 7.0),
        (Answer(headers=message("7")), 7.0),
        (Answer(response=response(Retry_After="7")), 7.0),
        (Answer(response=response(Retry_After=" 1.5 ")), 1.5),
        (Answer(response=response(Retry_After="Fri, 15 Jan 2027 08:00:30 GMT")), 30.0),
        (Answer(response=SimpleNamespace(retry_after=3)), 3.0),
        (Answer(retry_after=0.0, response=response(Retry_After="7")), 7.0),
        (response(Retry_After="7"), 7.0),
        (LimitExceeded(Decision(False, retry_after=1.25)), 1.25),
        (BreakerOpen("db", 4.0), 4.0),
        (Decision(False, retry_after=1.25), 1.25),
    ],
)
def test_who_is_told_when_to_come_back_waits_so_long(
    clock: ManualClock, outcome: object, seconds: float
) -> None:
    clock.set(NOON)

    assert waits(clock)(state(outcome)) == seconds


@pytest.mark.parametrize(
    "outcome",
    [
        ValueError("x"),
        BulkheadFull("db", 3),
        Answer(retry_after=None),
        Answer(retry_after=0),
        Answer(retry_after=-1),
        Answer(retry_after=float("nan")),
        Answer(retry_after=True),
        Answer(retry_after=print),
        Answer(response=None),
        Answer(headers=None),
        Answer(headers="Retry-After: 3"),
        Answer(headers={}),
        *(
            Answer(headers={"Retry-After": text})
            for text in [
                "", "soon", "-3", "nan", "inf", "1e3", "0x10", "3;4", "\u0663", "9" * 65,
                "Fri, 99 Jan 2027 08:00:30 GMT", "Fri, 15 Jan 0000 08:00:30 GMT",
                "Fri, 15 Jan 2027 07:59:59 GMT",
            ]
        ),
        None,
        "a result",
    ],
    ids=lambda outcome: repr(getattr(outcome, "__dict__", outcome)),
)  # fmt: skip
def test_where_nothing_or_nonsense_is_said_the_other_wait_decides(
    clock: ManualClock, outcome: object
) -> None:
    clock.set(NOON)

    assert waits(clock)(state(outcome)) == 3600.0


def test_a_fleet_does_not_come_back_as_one_and_nobody_too_early() -> None:
    wait = RetryAfter(jitter=0.1)
    wait.luck = random.Random(7)
    found = [wait(state(Answer(retry_after=10.0))) for _ in range(1_000)]

    assert (min(found) >= 10.0, max(found) <= 11.0) == (True, True)
    assert max(found) - min(found) > 0.9
    assert len(set(found)) == 1_000


def test_where_nothing_is_said_the_wait_is_random_up_to_twice_as_long_each_time() -> None:
    wait = RetryAfter(first=0.1, longest=5.0)
    wait.luck = random.Random(7)
    problem = ValueError()
    longest = [
        max(wait(state(problem, attempt)) for _ in range(2_000))
        for attempt in (1, 2, 3, 4, 9, 5_000)
    ]
    shortest = min(wait(state(problem, 9)) for _ in range(2_000))

    assert [round(each, 1) for each in longest] == [0.1, 0.2, 0.4, 0.8, 5.0, 5.0]
    assert shortest < 0.05


@pytest.mark.parametrize("seconds", [60.1, 1e12, NEVER])
def test_who_is_told_to_wait_too_long_does_not_try_again(seconds: float) -> None:
    problem = LimitExceeded(Decision(False, retry_after=seconds))
    calls = 0

    @tenacity.retry(wait=RetryAfter(), stop=tenacity.stop_after_attempt(3), sleep=refused)
    def fetch() -> None:
        nonlocal calls
        calls += 1
        raise problem

    with pytest.raises(LimitExceeded) as caught:
        fetch()

    assert (caught.value, calls) == (problem, 1)


def test_a_result_that_says_never_ends_the_retries_as_tenacity_ends_them() -> None:
    @tenacity.retry(wait=RetryAfter(), retry=tenacity.retry_if_result(lambda result: not result))
    def take() -> Decision:
        return Decision(False, retry_after=NEVER)

    with pytest.raises(tenacity.RetryError):
        take()


def refused(seconds: float) -> None:
    raise AssertionError(f"slept for {seconds}")


@pytest.mark.parametrize("colour", ["def", "async def"])
def test_a_limiter_is_waited_for_by_what_it_says_itself(clock: ManualClock, colour: str) -> None:
    limiter = Limiter("1/s", clock=clock)
    guarded = limiter.guard()
    wait = RetryAfter(jitter=0.0)
    stop = tenacity.stop_after_attempt(3)

    @tenacity.retry(wait=wait, stop=stop, sleep=clock.sleep)
    @guarded
    def fetch() -> int:
        return clock.now()

    @tenacity.retry(wait=wait, stop=stop, sleep=clock.asleep)
    @guarded
    async def afetch() -> int:
        return clock.now()

    async def main() -> list[int]:
        return [await afetch() for _ in range(3)]

    found = [fetch() for _ in range(3)] if colour == "def" else asyncio.run(main())

    assert found == [0, 1_000_000, 2_000_000]


def test_a_breaker_that_is_held_open_is_not_waited_for(clock: ManualClock) -> None:
    breaker = Breaker(clock=clock)
    breaker.force("open")
    fetch = tenacity.retry(wait=RetryAfter(), sleep=refused)(breaker.guard()(lambda: 1))

    with pytest.raises(BreakerOpen):
        fetch()


def test_waits_add_up_on_either_side() -> None:
    after, fixed = RetryAfter(jitter=0.0), tenacity.wait_fixed(1)
    told = state(Answer(retry_after=2))

    assert [(after + fixed)(told), (fixed + after)(told)] == [3.0, 3.0]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"otherwise": 3}, "RetryAfter: otherwise is a wait of tenacity's, not 3"),
        ({"first": -1}, "RetryAfter: first is 0 or more seconds, not -1"),
        ({"first": 5, "longest": 4}, "RetryAfter: longest is 5 or more seconds, not 4"),
        ({"jitter": 1.5}, "RetryAfter: jitter is from 0 to 1, not 1.5"),
    ],
)
def test_misuse_is_named(options: dict[str, Any], problem: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        RetryAfter(**options)

    assert str(caught.value) == problem
