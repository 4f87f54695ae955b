"""What a limiter is: its names, its store, its clock, how it prints; it starts no thread."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from math import inf
from typing import Any

import pytest

from headgate import (
    AsyncLimiter,
    Decision,
    FixedWindow,
    Limiter,
    ManualClock,
    MemoryStore,
    Rate,
    SlidingWindow,
    SystemClock,
    TokenBucket,
)

Make = Callable[..., Any]


@pytest.mark.parametrize("limit", ["unlimited", Rate("unlimited")])
def test_unlimited_lets_everything_in(make: Make, limit: Any) -> None:
    limiter = make(limit)

    assert limiter.take("a", 10**30) == limiter.peek("a") == limiter.debit("a", 5) == Decision(True)
    assert limiter.acquire("a", 10**30).waited == limiter.reserve("a").wait == 0.0
    assert limiter.reset("a") is None


def test_unlimited_beside_a_limit_adds_nothing(make: Make) -> None:
    assert make("unlimited", "10/s").limits == (TokenBucket("10/s"),)


def test_a_spelling_a_rate_and_a_limit_are_the_same_limiter(make: Make) -> None:
    made = [make(limit).limits for limit in ("10/s", Rate("10/s"), TokenBucket("10/s"))]

    assert made == [(TokenBucket("10/s"),)] * 3


def test_limiters_of_one_name_in_one_store_share_their_keys(make: Make) -> None:
    store = MemoryStore()
    first, second = make("10/s", store=store, name="api"), make("10/s", store=store, name="api")
    first.take("a", 4)

    assert second.peek("a").remaining == 6


def test_both_colours_of_one_name_share_their_keys(clock: ManualClock) -> None:
    store = MemoryStore()
    plain = Limiter("10/s", store=store, name="api", clock=clock)
    patient = AsyncLimiter("10/s", store=store, name="api", clock=clock)
    plain.take("a", 4)

    assert asyncio.run(patient.peek("a")).remaining == 6


def test_limiters_without_a_name_share_nothing(make: Make) -> None:
    store = MemoryStore()
    first, second = make("10/s", store=store), make("10/s", store=store)
    first.take("a", 4)

    assert second.peek("a").remaining == 10


def test_limiters_of_other_names_share_nothing(make: Make) -> None:
    store = MemoryStore()
    first, second = make("10/s", store=store, name="a"), make("10/s", store=store, name="b")
    first.take("a", 4)

    assert second.peek("a").remaining == 10


def test_limiters_of_one_name_in_other_stores_share_nothing(make: Make) -> None:
    first, second = make("10/s", name="api"), make("10/s", name="api")
    first.take("a", 4)

    assert second.peek("a").remaining == 10


def test_one_name_with_other_limits_is_refused(make: Make) -> None:
    store = MemoryStore()
    make("10/s", store=store, name="api")

    with pytest.raises(ValueError) as caught:
        make("20/s", store=store, name="api")

    assert str(caught.value) == (
        "limiter 'api' is in this store already, with [TokenBucket(\"10/s\")]; give one of them "
        "another name, or use change() on it"
    )


@pytest.mark.parametrize(
    ("limits", "options", "said"),
    [
        (["10/s"], {}, 'Limiter(TokenBucket("10/s"))'),
        (["10/s"], {"name": "api"}, "Limiter(TokenBucket(\"10/s\"), name='api')"),
        (["unlimited"], {}, 'Limiter("unlimited")'),
        (
            [TokenBucket("20/s", burst=40), SlidingWindow("10000/day"), FixedWindow("5/min")],
            {},
            'Limiter(TokenBucket("20/s", burst=40), SlidingWindow("10000/day"), '
            'FixedWindow("5/min"))',
        ),
    ],
)
def test_a_limiter_prints_as_you_would_type_it(limits: Any, options: Any, said: str) -> None:
    assert [repr(Limiter(*limits, **options)), repr(AsyncLimiter(*limits, **options))] == [
        said,
        f"Async{said}",
    ]


def test_a_permit_and_a_reservation_print_how_long_they_waited(clock: ManualClock) -> None:
    limiter = Limiter("10/s", clock=clock)
    limiter.take("a", 10)
    permit = limiter.acquire("a")
    granted, refused = limiter.reserve("a", 2), limiter.reserve("a", 11)

    assert [repr(permit), repr(granted), repr(refused)] == [
        "Permit(waited=0.1)",
        "Reservation(wait=0.2)",
        "Reservation(wait=inf)",
    ]
    assert refused.wait == inf


def test_an_async_reservation_prints_as_what_it_is(clock: ManualClock) -> None:
    limiter = AsyncLimiter("10/s", clock=clock)

    assert repr(asyncio.run(limiter.reserve("a"))) == "AsyncReservation(wait=0.0)"


def test_time_is_the_systems_unless_told_otherwise() -> None:
    assert isinstance(Limiter("10/s").clock, SystemClock)


def test_a_limiter_counts_on_the_systems_clock() -> None:
    limiter = Limiter("1/h burst 3")

    assert [bool(limiter.take("a")) for _ in range(4)] == [True, True, True, False]
    assert 3590.0 < limiter.take("a").retry_after <= 3600.0


def test_a_deadline_is_a_moment_of_the_time_of_day() -> None:
    limiter = Limiter("1000/s")

    assert limiter.acquire("a", deadline=time.time() + 60).waited == 0.0


def test_no_thread_is_started_and_no_task_is_left(clock: ManualClock) -> None:
    before = {*threading.enumerate()}

    async def main() -> int:
        patient = AsyncLimiter("10/s", clock=clock)
        for _ in range(30):
            await patient.acquire("a")
        return len(asyncio.all_tasks())

    limiter = Limiter("10/s", clock=clock)
    for _ in range(30):
        limiter.acquire("a")

    assert asyncio.run(main()) == 1
    # Those of others may have ended meanwhile.
    assert {*threading.enumerate()} <= before


def test_the_interpreter_ends_at_once_with_waiters_pending() -> None:
    program = (
        "import asyncio, threading, headgate\n"
        "limiter = headgate.Limiter('1/day')\n"
        "for _ in range(100):\n"
        "    limiter.take('a')\n"
        "    threading.Thread(target=limiter.acquire, args=('a',), daemon=True).start()\n"
        "async def main():\n"
        "    patient = headgate.AsyncLimiter('1/day')\n"
        "    waits = [patient.acquire('a').__aenter__() for _ in range(100)]\n"
        "    tasks = [asyncio.ensure_future(wait) for wait in waits]\n"
        "    await asyncio.sleep(0)\n"
        "asyncio.run(main())\n"
    )

    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
