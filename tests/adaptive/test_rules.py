"""The rules: what a limit becomes after a round, and what a gauge makes of calls."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import AIMD, BBR, Bulkhead, Gradient, ManualClock, Vegas
from headgate.adaptive.gauge import DROPPED, IGNORE, SUCCESS, Gauge

MS = 1_000
RULES = [AIMD, Vegas, Gradient]


@pytest.mark.parametrize(
    ("rule", "limit", "took", "dropped", "after"),
    [
        # Calls take 100 ms when nobody waits; a tenth of them may wait, and four at least.
        (AIMD(), 100.0, 100, False, 105.0),
        (AIMD(), 100.0, 110, False, 105.0),
        (AIMD(), 100.0, 112, False, 90.0),
        (AIMD(), 20.0, 124, False, 21.0),
        (AIMD(), 20.0, 126, False, 17.460317),
        (AIMD(), 20.0, 100, True, 18.0),
        (AIMD(), 100.0, 1000, False, 70.0),
        (AIMD(tolerance=2.0, backoff=0.5), 20.0, 201, False, 10.0),
        # Of 20, none, 3.3 and 5.2 wait; of 100, none, 9 and 17.
        (Vegas(), 20.0, 100, False, 21.0),
        (Vegas(), 20.0, 120, False, 20.0),
        (Vegas(), 20.0, 135, False, 18.0),
        (Vegas(), 100.0, 100, False, 105.0),
        (Vegas(), 100.0, 110, False, 100.0),
        (Vegas(), 100.0, 120, False, 90.0),
        (Vegas(), 20.0, 100, True, 18.0),
        # A tenth of room, and four at least; in proportion where calls have become slower, but by
        # half at most.
        (Gradient(smooth=1.0), 100.0, 100, False, 110.0),
        (Gradient(smooth=1.0), 20.0, 100, False, 24.0),
        (Gradient(smooth=1.0), 20.0, 160, False, 16.5),
        (Gradient(smooth=1.0), 20.0, 1000, False, 14.0),
        (Gradient(smooth=0.5), 20.0, 160, False, 18.25),
        (Gradient(smooth=1.0), 20.0, 100, True, 10.0),
    ],
)
def test_the_limit_after_a_round(
    rule: Any, limit: float, took: int, dropped: bool, after: float
) -> None:
    assert rule.next(limit, 100.0 * MS, took * MS, dropped) == pytest.approx(after)


class Crowd:
    """As many calls as the gauge lets in, each of which takes so long, one after the other."""

    def __init__(self, gauge: Gauge) -> None:
        self.gauge = gauge
        self.now = 0

    def play(self, calls: int, took: Callable[[int], int], outcome: int = SUCCESS) -> int:
        for _ in range(calls):
            inside = self.gauge.limit(self.now, 0)
            self.now += max(1, took(inside) // inside)
            self.gauge.ended(self.now, took(inside), inside - 1, outcome)
        return int(self.gauge.places)


def measured(rule: Any, latency: int = 100 * MS) -> Crowd:
    # A gauge that knows what a call takes when nobody waits.
    crowd = Crowd(Gauge(rule))
    while crowd.gauge.baseline.probing:
        crowd.play(1, lambda _: latency)
    return crowd


@pytest.mark.parametrize("rule", RULES)
def test_a_limit_does_not_creep_up_while_latency_grows(rule: Any, scale: int) -> None:
    # Ten workers, so whoever lets in more makes all of them slower; from any beginning.
    for initial in (2, 10, 40, 200):
        crowd = Crowd(Gauge(rule(initial=initial)))
        crowd.play(20_000 if scale > 1 else 10_000, lambda inside: 100 * MS * max(10, inside) // 10)
        seen = [crowd.play(100, lambda inside: 100 * MS * max(10, inside) // 10) for _ in range(50)]

        assert 9 <= min(seen) <= max(seen) <= 16


@pytest.mark.parametrize("rule", RULES)
def test_a_limit_that_nobody_comes_close_to_is_not_raised(rule: Any) -> None:
    crowd = measured(rule(initial=50))
    for _ in range(1_000):
        crowd.now += 100 * MS
        crowd.gauge.ended(crowd.now, 100 * MS, 3, SUCCESS)

    assert int(crowd.gauge.places) == 50


@pytest.mark.parametrize("rule", RULES)
def test_calls_that_say_nothing_change_nothing(rule: Any) -> None:
    crowd = measured(rule(initial=50))

    assert crowd.play(1_000, lambda _: 10_000 * MS, IGNORE) == 50


@pytest.mark.parametrize("rule", RULES)
def test_calls_that_are_dropped_together_count_once(rule: Any) -> None:
    # Fifty that began together time out together: that is one piece of news.
    crowd = measured(rule(initial=50))
    crowd.now += 500 * MS
    for _ in range(50):
        crowd.gauge.ended(crowd.now, 400 * MS, 49, DROPPED)
        crowd.now += 1
    once = crowd.gauge.places

    assert once == rule(initial=50).next(50.0, 100.0 * MS, 400.0 * MS, True)


@pytest.mark.parametrize("rule", RULES)
def test_a_limit_whose_every_call_is_dropped_falls_to_its_floor_and_stays(rule: Any) -> None:
    crowd = measured(rule(initial=50, floor=3))

    assert crowd.play(2_000, lambda _: 100 * MS, DROPPED) == 3


@given(
    rule=st.sampled_from(RULES),
    floor=st.integers(1, 20),
    more=st.integers(0, 50),
    seed=st.integers(0, 1 << 30),
)
def test_whatever_happens_a_limit_stays_between_floor_and_ceiling(
    rule: Any, floor: int, more: int, seed: int
) -> None:
    chance = random.Random(seed)
    gauge = Gauge(rule(initial=floor, floor=floor, ceiling=floor + more))
    now = 0
    for _ in range(500):
        now += chance.choice([0, 1, 1_000, 1_000_000])
        outcome = chance.choice([SUCCESS, SUCCESS, SUCCESS, IGNORE, DROPPED])
        gauge.ended(now, chance.choice([0, 1, 50 * MS, 5_000 * MS]), chance.randrange(80), outcome)
        if chance.random() < 0.2:
            gauge.refused(now)

        assert floor <= gauge.limit(now, 0) <= floor + more


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AIMD(floor=0), "AIMD: floor is 1 or more, not 0"),
        (lambda: Vegas(floor=5, ceiling=4), "Vegas: ceiling is 5 or more, not 4"),
        (lambda: Gradient(initial=1), "Gradient: initial is 2 or more, not 1"),
        (lambda: AIMD(backoff=1.0), "AIMD: backoff is from 0.1 to 0.99, not 1.0"),
        (lambda: AIMD(tolerance="2"), "AIMD: tolerance is a number, not '2'"),
        (lambda: Vegas(low=0.3, high=0.2), "Vegas: high is from 0.3 to 1, not 0.2"),
        (lambda: Gradient(smooth=0), "Gradient: smooth is from 0.01 to 1, not 0"),
        (lambda: BBR(busy=80), "BBR: busy is from 0 to 1, not 80"),
        (lambda: BBR(window=0), "BBR: window is 0.01 or more seconds, not 0"),
        (lambda: BBR(signal=0.8), "BBR: signal is a function that answers a share, not 0.8"),
    ],
)
def test_settings_that_cannot_be_meant_say_what_would_be_right(
    make: Callable[[], Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        make()

    assert str(caught.value) == message


def test_every_key_has_a_limit_of_its_own() -> None:
    clock = ManualClock()
    bulkhead = Bulkhead(AIMD(initial=6, floor=1), clock=clock)
    for _ in range(300):
        for key in ("fast", "slow"):
            slot = bulkhead.take(key)
            if slot:
                clock.advance(0.1)
                slot.success() if key == "fast" else slot.dropped()

    assert (bulkhead.room("slow").limit, bulkhead.room("fast").limit >= 4) == (1, True)
