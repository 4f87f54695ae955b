"""Bucket4j's buckets, as their users know them: bandwidths, refills, whole numbers (R76 to R81)."""

from __future__ import annotations

import pytest

from headgate import Limiter, ManualClock, TokenBucket

# seconds at which one token is asked for again and again, and how many are given
GREEDY = [(0.0, 5), (11.999999, 0), (12.0, 1), (23.999999, 0), (24.0, 1), (60.0, 3), (600.0, 5)]
INTERVAL = [(0.0, 5), (12.0, 0), (59.999999, 0), (60.0, 5), (61.0, 0), (119.999999, 0), (120.0, 5)]


@pytest.mark.parametrize(
    ("refill", "moments"),
    [
        pytest.param("greedy", GREEDY, id="R77 greedy: one every 12 seconds"),
        pytest.param("interval", INTERVAL, id="R77 interval: five at once, every minute"),
    ],
)
def test_five_a_minute_come_as_the_refill_says(
    refill: str, moments: list[tuple[float, int]], clock: ManualClock
) -> None:
    limiter = Limiter(TokenBucket("5/min", refill=refill), clock=clock)

    given = []
    for moment, _ in moments:
        clock.set(moment)
        given.append((moment, drained(limiter)))

    assert given == moments


def test_r76_a_simple_bandwidth_holds_what_it_refills(clock: ManualClock) -> None:
    assert drained(Limiter("10/s", clock=clock)) == 10


def test_r76_a_classic_bandwidth_holds_what_it_is_told(clock: ManualClock) -> None:
    limiter = Limiter(TokenBucket("10/s", burst=50), clock=clock)

    at_once = drained(limiter)
    clock.advance(1.0)

    assert (at_once, drained(limiter)) == (50, 10)


def test_r78_every_bandwidth_has_to_pass(clock: ManualClock) -> None:
    limiter = Limiter("1000/min", "50/s", clock=clock)

    given = []
    for _ in range(25):
        given.append(drained(limiter))
        clock.advance(1.0)

    # Fifty a second until the minute's thousand and what dripped in meanwhile are gone.
    assert given[:28] == [50] * 25


def test_r78_the_slow_bandwidth_takes_over_when_it_is_empty(clock: ManualClock) -> None:
    limiter = Limiter("100/min", "50/s", clock=clock)

    given = []
    for _ in range(5):
        given.append(drained(limiter))
        clock.advance(1.0)

    # 50 at once; then the minute holds 50 + 5/3 more; then five thirds a second, in whole tokens.
    assert given == [50, 50, 3, 2, 1]


def test_r79_a_probe_says_what_is_left_and_how_long_to_wait(clock: ManualClock) -> None:
    limiter = Limiter("5/min", clock=clock)

    probes = [limiter.take(cost=3), limiter.take(cost=3)]

    assert [(bool(one), one.remaining, one.retry_after) for one in probes] == [
        (True, 2, 0.0),
        (False, 2, 12.0),
    ]


@pytest.mark.parametrize(
    ("rate", "count", "period"),
    [
        ("3/s", 3, 1_000_000),
        ("7/min", 7, 60_000_000),
        ("999983 per 1000003us", 999_983, 1_000_003),
        ("13 per 17ms", 13, 17_000),
        ("1/week", 1, 7 * 86_400_000_000),
    ],
)
def test_r80_no_fraction_is_lost_however_often_one_looks_and_takes(
    rate: str, count: int, period: int, scale: int
) -> None:
    # Steps of an odd length over many periods: what was given is the exact floor at every one.
    clock = ManualClock()
    limiter = Limiter(TokenBucket(rate, burst=count + 1, initial=0), clock=clock)
    step = max(1, period * 3 // (7 * count) + 1)
    limiter.peek()
    limiter.take()

    given = 0
    for number in range(1, 500 * scale):
        clock.set(number * step / 1_000_000)
        given += drained(limiter)
        assert given == number * step * count // period


def test_r80_a_year_of_one_a_day_is_one_a_day(clock: ManualClock) -> None:
    limiter = Limiter("1/day", clock=clock)

    given = 0
    for hour in range(365 * 24):
        clock.set(hour * 3600.0)
        given += drained(limiter)

    assert given == 365


def drained(limiter: Limiter) -> int:
    """How many single tokens can be taken now."""
    given = 0
    while limiter.take():
        given += 1
    return given
