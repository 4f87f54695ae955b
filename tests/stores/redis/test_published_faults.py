"""Faults of published Redis scripts that must not be found in ours."""

from __future__ import annotations

import pytest

from headgate import FixedWindow, Limiter, ManualClock, RedisStore, TokenBucket
from tests.servers.launch import Server

AMPLE = 10.0


@pytest.fixture
def store(valkey: Server) -> RedisStore:
    """A store with time enough for any machine."""
    return RedisStore(valkey.url, budget=AMPLE)


def test_r194_the_clocks_of_the_callers_do_not_matter(store: RedisStore) -> None:
    ledger = store.open((TokenBucket("3 per 1000day"),), "skewed", None, "raise")
    times = [0, 1 << 51, 5, 1 << 50]

    admitted = [ledger.take("k", 1, now, 0).allowed for now in times]

    assert admitted == [True, True, True, False]


def test_r195_a_debt_longer_than_any_fixed_expiry_is_not_forgiven(
    store: RedisStore, valkey: Server
) -> None:
    limiter = Limiter(
        TokenBucket("1/s burst 1"), store=store, name="debt", when_unavailable="raise"
    )

    limiter.debit("k", 100)
    (key,) = valkey.ask("KEYS", "*debt*")

    assert int(valkey.ask("PTTL", key)) >= 99_000


def test_r196_a_small_capacity_is_stored_and_limits(store: RedisStore, valkey: Server) -> None:
    # Twice the capacity by the rate, in whole seconds, is nothing here: then nothing would be kept.
    limiter = Limiter(TokenBucket("1000/s burst 1"), store=store, name="small", clock=ManualClock())

    admitted = [bool(limiter.take("k")) for _ in range(3)]
    (key,) = valkey.ask("KEYS", "*small*")

    assert (admitted, int(valkey.ask("PTTL", key)) > 0) == ([True, False, False], True)


def test_r196_a_refill_is_not_lumped_into_whole_seconds(store: RedisStore) -> None:
    clock = ManualClock()
    limiter = Limiter(TokenBucket("4/s burst 1"), store=store, name="smooth", clock=clock)
    admitted = []

    for _ in range(8):
        admitted.append(bool(limiter.take("k")))
        clock.advance(0.125)

    assert admitted == [True, False] * 4


def test_r148_a_new_key_is_full_and_expires_when_it_is_full_again(
    store: RedisStore, valkey: Server
) -> None:
    limiter = Limiter("10/s", store=store, name="full", when_unavailable="raise")

    decision = limiter.take("k", cost=10)
    (key,) = valkey.ask("KEYS", "*full*")

    assert decision.remaining == 0
    assert 0 < int(valkey.ask("PTTL", key)) <= 2_001


def test_r26_a_window_and_its_expiry_are_written_in_one_step(
    store: RedisStore, valkey: Server
) -> None:
    limiter = Limiter(FixedWindow("5/min"), store=store, name="window", when_unavailable="raise")

    for _ in range(7):
        limiter.take("k")
    (key,) = valkey.ask("KEYS", "*window*")

    assert int(valkey.ask("PTTL", key)) > 0
