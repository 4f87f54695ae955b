"""Leases of several processes, in virtual time: never too much in all, nor in any span, nor too
little; and a refusal that is remembered is one that the store would give.

Each process is a store of its own on the same server, and all go by one clock.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from itertools import count
from math import floor
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate import (
    GCRA,
    FixedWindow,
    LeakyBucket,
    Limit,
    Limiter,
    ManualClock,
    SlidingLog,
    SlidingWindow,
    TokenBucket,
)
from headgate.stores.leases.store import LeasedStore
from headgate.stores.redis.store import RedisStore
from headgate.testing import Entry, History, admitted, most_in_any
from tests.servers.launch import Server

TTL = 1.0
AMPLE = 5.0
BEGIN = 1000.0
BUCKETS = [
    TokenBucket("20/s", burst=30),
    TokenBucket("40/s"),
    GCRA("20/s", burst=30),
    LeakyBucket("20/s", burst=30),
]
WINDOWS = [FixedWindow("40/s"), SlidingWindow("40/s"), SlidingLog("40/s")]
# A name of its own for every example: nothing has to be forgotten between them.
names = (f"fleet{number}" for number in count())


class Turn(NamedTuple):
    """After `wait` milliseconds, a process takes; or all give back what is over (cost 0)."""

    wait: int
    process: int
    cost: int


TURNS = st.lists(
    st.builds(
        Turn,
        st.sampled_from([0, 0, 0, 1, 7, 40, 250, 1100]),
        st.integers(0, 2),
        st.sampled_from([1, 1, 1, 1, 2, 5, 17, 0]),
    ),
    min_size=20,
    max_size=120,
)
# Real servers are slow beside the steps: ten examples in the short form.
EXAMPLES = settings(
    max_examples=max(10, settings.default.max_examples // 20 if settings.default else 10),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class Fleet:
    """So many processes that lease under one limit."""

    def __init__(self, server: Server, limit: Limit, processes: int) -> None:
        self.clock = ManualClock(BEGIN)
        self.stores = [LeasedStore(RedisStore(server.url, AMPLE), TTL) for _ in range(processes)]
        self.judge_store = RedisStore(server.url, AMPLE)
        said = {"clock": self.clock, "name": next(names), "when_unavailable": "raise"}
        self.limiters = [Limiter(limit, store=store, **said) for store in self.stores]  # type: ignore[arg-type]
        self.judge = Limiter(limit, store=self.judge_store, **said)  # type: ignore[arg-type]

    def take(self, process: int, cost: int = 1) -> Entry:
        decision = self.limiters[process].take("k", cost)
        return Entry(self.clock.now() / 1e6, "k", cost, decision)

    def sweep(self) -> None:
        for limiter in self.limiters:
            limiter.ledger.sweep(self.clock.now())  # type: ignore[union-attr]

    def play(self, turns: list[Turn]) -> History:
        history = []
        for turn in turns:
            self.clock.advance(turn.wait / 1000)
            if turn.cost:
                history.append(self.take(turn.process, turn.cost))
            else:
                self.sweep()
        return history

    def close(self) -> None:
        for store in self.stores:
            store.close()
        self.judge_store.close()


@pytest.mark.parametrize("limit", BUCKETS, ids=repr)
@EXAMPLES
@given(turns=TURNS)
def test_leased_buckets_let_in_no_more_than_the_bucket_has_held(
    limit: Limit, valkey_process: Server, turns: list[Turn]
) -> None:
    fleet = Fleet(valkey_process, limit, 3)

    history = fleet.play(turns)
    fleet.close()

    passed = fleet.clock.now() / 1e6 - BEGIN
    assert admitted(history) <= most(limit, passed)
    for span in (0.001, 0.1, 0.5, 1.0, 2.0, 5.0):
        assert most_in_any(history, span) <= most(limit, span + TTL)


@pytest.mark.parametrize("kind", [TokenBucket, GCRA, LeakyBucket])
@pytest.mark.parametrize("swept", [True, False])
def test_to_hoard_does_not_pay(swept: bool, kind: Callable[..., Limit], valkey: Server) -> None:
    # Two hold what they can and wait until the bucket is full again; then all take what they get.
    limit = kind("5/s", burst=60)
    fleet = Fleet(valkey, limit, 3)
    for _ in range(12):
        fleet.take(0)
        fleet.take(1)
    fleet.clock.advance(20.0)
    if swept:
        fleet.sweep()

    burst = [fleet.take(process) for process in [2] * 100 + [0, 1] * 100]
    fleet.close()

    assert admitted(burst) <= most(limit, TTL)


@pytest.mark.parametrize("limit", WINDOWS, ids=repr)
@EXAMPLES
@given(turns=TURNS)
def test_leased_windows_let_in_no_more_in_a_span_than_in_it_and_a_lifetime(
    limit: Limit, valkey_process: Server, turns: list[Turn]
) -> None:
    fleet = Fleet(valkey_process, limit, 3)

    history = fleet.play(turns)
    fleet.close()

    # A fixed window lets in its limit twice over, around an edge; a lifetime is one window more.
    assert most_in_any(history, 1.0) <= 3 * limit.limit
    passed = fleet.clock.now() / 1e6 - BEGIN
    assert admitted(history) <= limit.limit * (floor(passed) + 2)


@pytest.mark.parametrize("limit", BUCKETS, ids=repr)
@EXAMPLES
@given(turns=TURNS)
def test_when_all_have_given_back_the_server_has_what_was_spent(
    limit: Limit, valkey_process: Server, turns: list[Turn]
) -> None:
    # The clock stands, so nothing comes in: units are neither made nor lost on their way.
    fleet = Fleet(valkey_process, limit, 3)

    history = fleet.play([turn._replace(wait=0) for turn in turns])
    for store in fleet.stores:
        store.close()
    seen = fleet.judge.peek("k")
    fleet.close()

    assert seen.limit - seen.remaining == admitted(history)


@pytest.mark.parametrize("limit", BUCKETS + WINDOWS, ids=repr)
@EXAMPLES
@given(turns=TURNS)
def test_a_refusal_of_one_who_is_alone_is_one_that_the_store_would_give(
    limit: Limit, valkey_process: Server, turns: list[Turn]
) -> None:
    # Of an eighth of the limit, that is: less is left for a fair number to come together.
    fleet = Fleet(valkey_process, limit, 1)
    wrong = []
    for turn in turns:
        fair = max(turn.cost, limit.limit // 8)
        entries = fleet.play([turn._replace(process=0)])
        wrong += [one for one in entries if not one.decision and fleet.judge.peek("k", fair)]
    fleet.close()

    assert wrong == []


@pytest.mark.parametrize(
    "limit",
    [
        TokenBucket("100/s", burst=20),
        GCRA("100/s", burst=20),
        LeakyBucket("100/s", burst=20),
        FixedWindow("100/s"),
        SlidingWindow("100/s"),
        SlidingLog("100/s"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("processes", [1, 4])
def test_what_is_asked_for_steadily_is_used(
    limit: Limit, processes: int, valkey: Server, scale: int
) -> None:
    seconds = 6.0 * scale
    fleet = Fleet(valkey, limit, processes)
    history = [fleet.take(process) for process in offered(fleet, 120.0, seconds)]
    fleet.close()

    assert admitted(history) >= 0.98 * 100 * seconds


def offered(fleet: Fleet, rate: float, seconds: float) -> Iterator[int]:
    """Whose turn it is, when all together ask so often, evenly; twice a lifetime all is swept."""
    processes = len(fleet.limiters)
    waiting = [(BEGIN + number / rate, number) for number in range(processes)]
    swept = BEGIN
    while waiting[0][0] < BEGIN + seconds:
        at, process = waiting[0]
        fleet.clock.set(at)
        if at >= swept + TTL / 2:
            swept = at
            fleet.sweep()
        yield process
        heapq.heapreplace(waiting, (at + processes / rate, process))


def most(limit: Limit, seconds: float) -> int:
    """What a bucket can have let in within so many seconds."""
    return floor(limit.limit + limit.rate.count * seconds * 1e6 / limit.rate.period + 1e-6)
