"""A window counts every outcome of the last seconds, or calls, and nothing older."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.window import FAILURE, REJECTED, SUCCESS, TIMEOUT, Totals, Window

SECOND = 1_000_000

ACTS = st.lists(
    st.tuples(
        st.sampled_from([SUCCESS, FAILURE, TIMEOUT, REJECTED]),
        st.integers(0, 4 * SECOND),
        st.integers(0, SECOND),
        st.booleans(),
    ),
    max_size=60,
)


@given(acts=ACTS, buckets=st.sampled_from([1, 2, 5, 10]))
def test_totals_are_those_of_the_buckets_that_are_not_over(
    acts: list[tuple[int, int, int, bool]], buckets: int
) -> None:
    window = Window(10 * SECOND, buckets)
    width = 10 * SECOND // buckets
    now, seen = 0, []
    for outcome, gap, took, slow in acts:
        now += gap
        window.add(outcome, now, took, int(slow))
        seen.append((now // width, outcome, slow))
        live = [one for one in seen if one[0] > now // width - buckets]
        expected = Totals(
            *(sum(one[1] == kind for one in live) for kind in range(4)),
            sum(one[2] for one in live),
        )
        assert window.totals(now) == expected


def test_each_outcome_is_counted_by_itself_and_the_total_is_their_sum() -> None:
    window = Window(10 * SECOND, 10)
    for outcome in (SUCCESS, SUCCESS, FAILURE, TIMEOUT, REJECTED):
        window.add(outcome, 0, 0, 0)

    totals = window.totals(0)

    assert totals == Totals(success=2, failure=1, timeout=1, rejected=1, slow=0)
    assert (totals.calls, totals.total) == (4, 5)


@given(acts=ACTS, buckets=st.sampled_from([1, 2, 5, 10]), calls=st.integers(1, 5))
def test_calls_that_came_to_the_same_are_counted_at_once(
    acts: list[tuple[int, int, int, bool]], buckets: int, calls: int
) -> None:
    together, apart = Window(10 * SECOND, buckets), Window(10 * SECOND, buckets)
    now = 0
    for outcome, gap, _, _ in acts:
        now += gap
        together.gain(outcome, now, calls)
        for _ in range(calls):
            apart.add(outcome, now, 0, 0)

        assert together.totals(now) == apart.totals(now)


def test_what_is_over_leaves_bucket_by_bucket() -> None:
    window = Window(10 * SECOND, 10)
    for second in range(10):
        window.add(FAILURE, second * SECOND, 0, 0)

    counts = [window.totals(moment * SECOND).failure for moment in (9, 10, 11, 18, 19, 40)]

    assert counts == [10, 9, 8, 1, 0, 0]


def test_a_clock_that_goes_back_counts_in_the_latest_bucket() -> None:
    window = Window(10 * SECOND, 10)
    window.add(SUCCESS, 25 * SECOND, 0, 0)

    window.add(SUCCESS, 3 * SECOND, 0, 0)

    assert window.totals(25 * SECOND).success == 2


def test_told_the_number_of_calls_it_is_a_window_of_the_last_ones() -> None:
    window = Window(4, 4)
    for call, outcome in enumerate([FAILURE, FAILURE, SUCCESS, SUCCESS, SUCCESS], start=1):
        window.add(outcome, call, 0, 0)

    assert window.totals(5) == Totals(success=3, failure=1, timeout=0, rejected=0, slow=0)


def test_the_peak_and_the_best_are_those_of_whole_buckets() -> None:
    window = Window(10 * SECOND, 10)
    for second, calls, took in [(0, 3, 900), (1, 7, 400), (2, 9, 100)]:
        for _ in range(calls):
            window.add(SUCCESS, second * SECOND, took, 0)

    during = (window.peak(1), window.best())
    window.turn(3 * SECOND)

    assert (during, (window.peak(1), window.best())) == ((7, 400), (9, 100))


def test_the_mean_is_that_of_calls_that_succeeded() -> None:
    window = Window(10 * SECOND, 10)
    for outcome, took in [(SUCCESS, 100), (SUCCESS, 300), (TIMEOUT, 9_000)]:
        window.add(outcome, 0, took, 0)

    assert window.mean() == 200


@pytest.mark.parametrize(
    ("span", "buckets", "message"),
    [
        (10, 0, "a window of 10 has from 1 to 10 buckets, not 0"),
        (10, 11, "a window of 10 has from 1 to 10 buckets, not 11"),
        (10, 3, "a window of 10 does not divide into 3 buckets"),
    ],
)
def test_a_window_that_cannot_be_is_refused(span: int, buckets: int, message: str) -> None:
    with pytest.raises(ValueError, match="^" + message + "$"):
        Window(span, buckets)
