"""Limits that a command brings along, answered as redis-cell and throttlecrab answer them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.service.resp.staging import RespServiceHost as Stage

CELL, CRAB = "CL.THROTTLE", "THROTTLE"


def play(stage: Stage, *rows: tuple[float, list[Any], list[int]]) -> None:
    """Have each row's words said so many seconds after the one before, and see what is answered."""
    with stage.talk() as talk:
        for after, words, answer in rows:
            stage.tick(after)
            assert talk.ask(*words) == answer, words


def test_the_example_of_redis_cell_is_answered_as_there(stage: Stage) -> None:
    assert stage.ask(CELL, "user123", 15, 30, 60) == [0, 16, 15, -1, 2]


def test_a_bucket_of_five_a_second(stage: Stage) -> None:
    # max_burst 4, one a second: five fit.
    five = [CELL, "k", 4, 1, 1]
    play(
        stage,
        (0.0, [*five, 6], [1, 5, 5, -1, 0]),
        (0.0, five, [0, 5, 4, -1, 1]),
        (0.0, [*five, 4], [0, 5, 0, -1, 5]),
        (0.0, five, [1, 5, 0, 1, 5]),
        (3.0, five, [0, 5, 2, -1, 3]),
        # What has a millisecond more than whole seconds is rounded up.
        (0.1, five, [0, 5, 1, -1, 4]),
        (0.9, five, [0, 5, 1, -1, 4]),
        (4.0, five, [0, 5, 4, -1, 1]),
        # Nothing asked, nothing spent.
        (0.0, [*five, 0], [0, 5, 4, -1, 1]),
        (0.0, [*five, 2], [0, 5, 2, -1, 3]),
        (0.0, [*five, 5], [1, 5, 2, 3, 3]),
    )


def test_seconds_are_rounded_up_where_there_is_a_millisecond(stage: Stage) -> None:
    word = [CELL, "k", 0, 1, 2]
    play(
        stage,
        (0.0, word, [0, 1, 0, -1, 2]),
        (0.9995, word, [1, 1, 0, 1, 1]),
        (0.0005, word, [1, 1, 0, 1, 1]),
        (0.999, word, [1, 1, 0, 1, 1]),
        (0.0005, word, [1, 1, 0, 0, 0]),
        (0.0005, word, [0, 1, 0, -1, 2]),
    )


def test_throttlecrab_counts_without_one_more_and_tells_the_reset_first(stage: Stage) -> None:
    word = [CRAB, "k", 2, 1, 10]
    play(
        stage,
        (0.0, word, [1, 2, 1, 10, 0]),
        (0.0, word, [1, 2, 0, 20, 0]),
        (4.0, word, [0, 2, 0, 16, 6]),
        (0.0, [*word, 0], [1, 2, 0, 16, 0]),
        (0.0, [*word, 3], [0, 2, 0, 16, 30]),
    )


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["k", 1, 0, 1], "ERR zero rates are not supported; count and period are 1 or more"),
        (["k", 1, 1, 0], "ERR zero rates are not supported; count and period are 1 or more"),
        (["k", "x", 1, 1], "ERR max_burst is a whole number from 0 to 1125899906842624"),
        (["k", "-1", 1, 1], "ERR max_burst is a whole number from 0 to 1125899906842624"),
        (["k", "01", 1, 1], "ERR max_burst is a whole number from 0 to 1125899906842624"),
        (["k", 1, "1.5", 1], "ERR count is a whole number from 0 to 1125899906842624"),
        (["k", 1, 1, 1, "-1"], "ERR quantity is a whole number from 0 to 1125899906842624"),
        (["k", 1, 1], "ERR wrong number of arguments for 'cl.throttle' command"),
        (["k", 1, 1, 1, 1, 1], "ERR wrong number of arguments for 'cl.throttle' command"),
    ],
)
def test_numbers_that_are_none_are_refused(stage: Stage, words: list[Any], problem: str) -> None:
    assert str(stage.ask(CELL, *words)) == problem


def test_a_bucket_of_nothing_is_refused(stage: Stage) -> None:
    answer = stage.ask(CRAB, "k", 0, 1, 1)

    assert str(answer) == "ERR max_burst is 1 or more, or nothing would ever be let in"


def test_what_does_not_fit_into_exact_arithmetic_is_refused(stage: Stage) -> None:
    answer = str(stage.ask(CELL, "k", 1 << 49, 7, 1 << 20))

    assert answer.startswith("ERR GCRA(")
    assert "does not fit into exact arithmetic" in answer


def test_a_key_that_comes_with_other_numbers_takes_along_what_it_has_to_wait(stage: Stage) -> None:
    play(
        stage,
        # Four of five are gone: four seconds until all is as new.
        (0.0, [CELL, "k", 4, 1, 1, 4], [0, 5, 1, -1, 4]),
        # Of ten that come at two a second, that is eight.
        (0.0, [CELL, "k", 9, 2, 1, 1], [0, 10, 1, -1, 5]),
        (0.0, [CELL, "k", 9, 2, 1, 2], [1, 10, 1, 1, 5]),
        # And back: 4.5 seconds of five.
        (0.0, [CELL, "k", 4, 1, 1, 1], [1, 5, 0, 1, 5]),
        # Another key knows nothing of it.
        (0.0, [CELL, "other", 9, 2, 1, 1], [0, 10, 9, -1, 1]),
    )


def test_a_wait_longer_than_any_number_is_told_as_the_greatest(stage: Stage) -> None:
    answer = stage.ask(CRAB, "k", 5, 1, 1_000_000, 1 << 50)

    assert answer == [0, 5, 5, 0, (1 << 63) - 1]


def test_long_keys_are_told_apart(stage: Stage) -> None:
    one, other = "a" * 60_000, "a" * 59_999 + "b"
    play(
        stage,
        (0.0, [CELL, one, 4, 1, 1, 4], [0, 5, 1, -1, 4]),
        (0.0, [CELL, other, 4, 1, 1, 4], [0, 5, 1, -1, 4]),
        # It takes along what it has to wait, as short ones do.
        (0.0, [CELL, one, 9, 2, 1, 1], [0, 10, 1, -1, 5]),
    )


def test_two_kinds_of_throttle_share_nothing(stage: Stage) -> None:
    play(
        stage,
        (0.0, [CELL, "k", 4, 1, 1, 5], [0, 5, 0, -1, 5]),
        (0.0, [CRAB, "k", 5, 1, 1, 5], [1, 5, 0, 5, 0]),
    )


@given(
    st.integers(0, 20),
    st.integers(1, 20),
    st.integers(1, 20),
    st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 25)), min_size=1, max_size=20),
)
@settings(max_examples=30)
def test_it_is_the_bucket_that_redis_cell_says_it_is(
    shared: Stage, burst: int, count: int, period: int, asks: list[tuple[int, int]]
) -> None:
    """An oracle: one arrival time, in parts of a microsecond as small as need be."""
    key = f"{burst} {count} {period} {asks}"
    scale, step, room = count, period * 1_000_000, (burst + 1) * period * 1_000_000
    due = now = 0
    with shared.talk() as talk:
        for wait, cost in asks:
            shared.tick(wait / 1000)
            now += wait * 1000 * scale
            before = max(due, now)
            after = before + cost * step
            allowed = after - room <= now
            due = after if allowed and cost else due
            reset = up((after if allowed else before) - now, scale)
            retry = -1 if allowed or cost * step > room else up(after - room - now, scale)
            left = max(0, room - ((after if allowed else before) - now)) // step

            answer = talk.ask(CELL, key, burst, count, period, cost)

            assert answer == [int(not allowed), burst + 1, left, retry, reset]


def up(parts: int, scale: int) -> int:
    """Parts in whole seconds: first up to microseconds, then up if there is a millisecond more."""
    return (-(-parts // scale) // 1000 + 999) // 1000
