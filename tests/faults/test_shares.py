"""Shares: the part of a limit that each of several processes goes by when the store is gone."""

from __future__ import annotations

from fractions import Fraction

import pytest

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
    WarmUp,
)
from headgate.stores.share import share
from headgate.testing import admitted, greedy, play
from tests.conformance.limits import LIMITS

SHAPES: dict[str, list[Limit]] = LIMITS  # type: ignore[assignment]
EVERY = [limit for limits in SHAPES.values() for limit in limits]
BUCKETS = [limit for kind in ("token_bucket", "gcra", "leaky_bucket") for limit in SHAPES[kind]]
PARTS = (2, 3, 7, 50, 1000)
# Large enough for four, so that rounding is not what is seen.
ROUND = [
    TokenBucket("40/s"),
    TokenBucket("40/s", burst=8),
    TokenBucket("40/s", refill="interval"),
    TokenBucket("40/s", borrow=True),
    GCRA("40/s"),
    LeakyBucket("40/s"),
    FixedWindow("40/s"),
    SlidingWindow("40/s"),
    SlidingLog("40/s"),
    WarmUp("40/s", period=2.0),
]


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("limit", EVERY, ids=repr)
def test_shares_have_a_unit_each_and_are_no_more_than_the_limit_but_for_that(
    limit: Limit, parts: int
) -> None:
    part = share(limit, parts)

    assert part.limit >= 1
    assert parts * part.limit <= limit.limit + parts


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("limit", [one for one in BUCKETS if "interval" not in repr(one)], ids=repr)
def test_the_shares_of_a_bucket_have_exactly_its_rate(limit: Limit, parts: int) -> None:
    part = share(limit, parts)

    whole = Fraction(limit.rate.count, limit.rate.period)
    assert parts * Fraction(part.rate.count, part.rate.period) == whole


@pytest.mark.parametrize("parts", [37, 10_000, 10**9])
@pytest.mark.parametrize(
    "limit", [kind("20 per 1000day") for kind in (TokenBucket, GCRA, LeakyBucket)], ids=repr
)
def test_however_slow_a_limit_and_however_many_there_are_each_has_a_share(
    limit: Limit, parts: int
) -> None:
    limiter = Limiter(share(limit, parts), clock=ManualClock())

    assert [bool(limiter.take()) for _ in range(2)] == [True, False]


@pytest.mark.parametrize("limit", EVERY, ids=repr)
def test_a_share_is_of_the_same_kind_and_goes_by_the_same_name(limit: Limit) -> None:
    part = share(limit, 3)

    assert (type(part), part.name) == (type(limit), limit.name)


@pytest.mark.parametrize("limit", EVERY, ids=repr)
def test_who_is_alone_has_the_whole_limit(limit: Limit) -> None:
    assert share(limit, 1) is limit


@pytest.mark.parametrize("limit", [TokenBucket("0/s"), FixedWindow("0/min")], ids=repr)
def test_of_nothing_everybody_has_nothing(limit: Limit) -> None:
    assert not Limiter(share(limit, 4), clock=ManualClock()).take()


@pytest.mark.parametrize("limit", ROUND, ids=repr)
def test_four_shares_together_let_in_what_the_limit_does(limit: Limit) -> None:
    together = 4 * passed(share(limit, 4))

    alone = passed(limit)
    assert 0.9 * alone <= together <= alone + 4


def passed(limit: Limit) -> int:
    """What a limit lets in within 20 seconds, at the most."""
    return admitted(play(Limiter(limit, clock=ManualClock()), greedy(until=20.0)))
