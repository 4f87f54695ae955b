"""The simulator: traffic in virtual time, a history to count in, and claims that fail loudly."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from headgate import Decision, FixedWindow, Limiter, ManualClock, SlidingLog, TokenBucket
from headgate.testing import (
    Entry,
    Request,
    admitted,
    assert_admits,
    assert_bounded,
    boundary,
    burst,
    greedy,
    most_in_any,
    on_off,
    play,
    poisson,
    steady,
    timeline,
)

if TYPE_CHECKING:
    from headgate.testing import Client

YES, NO = Decision(True), Decision(False)


@pytest.fixture
def limiter(clock: ManualClock) -> Limiter:
    return Limiter("10/s", clock=clock)


def test_steady_traffic_is_as_steady_as_it_says() -> None:
    assert [request.at for request in steady(every=0.25, until=1.0)] == [0.0, 0.25, 0.5, 0.75]


def test_steady_traffic_may_start_later_and_cost_more() -> None:
    assert list(steady(every=1.0, until=3.5, start=2.0, key="a", cost=7)) == [
        Request(2.0, "a", 7),
        Request(3.0, "a", 7),
    ]


def test_a_burst_is_one_moment() -> None:
    assert list(burst(2, at=1.5, key="a", cost=3)) == [Request(1.5, "a", 3), Request(1.5, "a", 3)]


def test_poisson_traffic_is_the_same_for_the_same_seed() -> None:
    assert list(poisson(100.0, 2.0, seed=1)) == list(poisson(100.0, 2.0, seed=1))
    assert list(poisson(100.0, 2.0, seed=1)) != list(poisson(100.0, 2.0, seed=2))


def test_poisson_traffic_comes_as_often_as_it_says() -> None:
    times = [request.at for request in poisson(100.0, 1_000.0, seed=3, start=500.0)]

    assert abs(len(times) - 50_000) < 1_000
    assert times == sorted(times)
    assert min(times) >= 500.0


def test_on_off_traffic_is_silent_in_between() -> None:
    times = [request.at for request in on_off(every=0.5, on=1.0, off=2.0, until=7.0)]

    assert times == [0.0, 0.5, 3.0, 3.5, 6.0, 6.5]


def test_the_boundary_attack_stands_on_both_sides_of_the_edge() -> None:
    times = [request.at for request in boundary(1, window=60.0, times=2)]

    assert times == [59.999999, 60.0, 179.999999, 180.0]


def test_a_fixed_window_lets_the_boundary_attack_through(clock: ManualClock) -> None:
    history = play(Limiter(FixedWindow("80/s"), clock=clock), boundary(60, window=1.0))

    assert most_in_any(history, span=1.0) == 120


def test_a_sliding_log_does_not(clock: ManualClock) -> None:
    history = play(Limiter(SlidingLog("80/s"), clock=clock), boundary(60, window=1.0))

    assert most_in_any(history, span=1.0) == 80


def test_a_greedy_client_gets_all_there_is(limiter: Limiter) -> None:
    history = play(limiter, greedy(until=10.0))

    assert admitted(history) == 10 + 99


def test_a_greedy_client_goes_home_when_it_can_never_get_in(limiter: Limiter) -> None:
    history = play(limiter, greedy(until=10.0, cost=11))

    assert [entry.decision.reason for entry in history] == ["never"]


def test_a_client_of_your_own_is_told_each_decision(limiter: Limiter) -> None:
    heard = []

    def client() -> Client:
        for number in range(12):
            heard.append((yield Request(0.0, "a")).allowed)
            assert len(heard) == number + 1

    play(limiter, client())

    assert heard == [True] * 10 + [False] * 2


def test_a_trace_may_be_plain_tuples(limiter: Limiter) -> None:
    history = play(limiter, [(0.0, "a", 9), (0.0, "a", 2), (0.0, "b", 2)])

    assert [bool(entry.decision) for entry in history] == [True, False, True]


def test_traces_run_side_by_side(limiter: Limiter) -> None:
    history = play(limiter, steady(1.0, until=3.0, key="a"), steady(0.5, until=1.5, key="b"))

    assert [(entry.at, entry.key) for entry in history] == [
        (0.0, "a"),
        (0.0, "b"),
        (0.5, "b"),
        (1.0, "a"),
        (1.0, "b"),
        (2.0, "a"),
    ]


def test_the_clock_stands_where_the_traffic_ended(limiter: Limiter, clock: ManualClock) -> None:
    play(limiter, [(7.25, "a", 1)])

    assert clock.now() == 7_250_000


def test_a_trace_that_goes_back_is_a_clock_that_does(limiter: Limiter) -> None:
    history = play(limiter, [(100.0, "a", 10), (50.0, "a", 1), (50.1, "a", 1)])

    assert [entry.at for entry in history] == [100.0, 50.0, 50.1]
    assert_admits(history, 11)


def test_play_wants_a_clock_it_can_move() -> None:
    with pytest.raises(TypeError) as refusal:
        play(Limiter("10/s"), burst(1))

    assert str(refusal.value) == "play: the limiter's clock is a ManualClock, not SystemClock()"


def test_what_went_in_is_counted_in_units_and_by_key() -> None:
    history = [Entry(0.0, "a", 3, YES), Entry(0.0, "b", 4, YES), Entry(0.0, "a", 5, NO)]

    assert (admitted(history), admitted(history, "a"), admitted(history, "c")) == (7, 3, 0)


def test_spans_are_half_open() -> None:
    history = [Entry(0.0, "", 1, YES), Entry(1.0, "", 1, YES), Entry(1.999999, "", 1, YES)]

    assert (most_in_any(history, span=1.0), most_in_any(history, span=1.000001)) == (2, 2)
    assert most_in_any(history[:2], span=1.0) == 1


def test_the_fullest_span_is_the_one_found_by_looking_at_all_of_them() -> None:
    chance = random.Random(4)
    for _ in range(200):
        times = [chance.randrange(50) for _ in range(chance.randrange(20))]
        history = [Entry(at / 1e6, "", chance.randint(1, 5), YES) for at in times]
        span = chance.randint(1, 60)
        most = max(
            (
                sum(e.cost for e in history if end - span < round(e.at * 1e6) <= end)
                for end in range(50)
            ),
            default=0,
        )
        assert most_in_any(history, span / 1e6) == most, (times, span)


def test_a_timeline_has_a_count_for_every_slot(limiter: Limiter) -> None:
    history = play(limiter, burst(20), steady(every=0.05, until=2.0, start=1.0))

    assert timeline(history, every=0.5, until=2.0) == [10, 0, 10, 9]
    assert timeline(history, every=0.5, until=1.2) == [10, 0, 10]


def test_a_claim_that_holds_is_silent(limiter: Limiter) -> None:
    history = play(limiter, greedy(until=5.0))

    assert_admits(history, 59)
    assert_bounded(history, most=20, span=1.0)


def test_a_claim_about_all_says_what_went_in(limiter: Limiter) -> None:
    with pytest.raises(AssertionError) as failure:
        assert_admits(play(limiter, burst(12)), 12)

    assert str(failure.value) == "10 units went in, not 12"


def test_a_claim_about_spans_says_where_it_breaks(clock: ManualClock) -> None:
    history = play(Limiter(FixedWindow("5/min"), clock=clock), boundary(5, window=60.0))

    with pytest.raises(AssertionError) as failure:
        assert_bounded(history, most=9, span=60.0)

    assert str(failure.value) == "10 units went in within 60 s, up to 60.000000 s; 9 may"


def test_the_bound_of_a_token_bucket_is_exact(clock: ManualClock) -> None:
    history = play(Limiter(TokenBucket("7/s", burst=3), clock=clock), greedy(until=20.0))

    assert_bounded(history, most=3 + 7 * 10, span=10.0)
    assert most_in_any(history, span=10.0) == 3 + 7 * 10 - 1


def test_a_lone_greedy_client_is_never_told_a_time_that_is_too_early(limiter: Limiter) -> None:
    history = play(limiter, greedy(until=20.0))
    refused = [entry.at for entry in history if not entry.decision]

    assert len(refused) == len(set(refused))
