"""The watch over a store: when it is left alone, when it is tried again, and what is said of it."""

from __future__ import annotations

import logging

import pytest

from headgate import StoreUnavailable
from headgate.stores.watch import BEAT, PAUSE, Watch

PROBLEM = StoreUnavailable("the server is on fire", "fire")
UNAVAILABLE = "redis://here is unavailable, deciding without it: the server is on fire"
AVAILABLE = "redis://here is available again"


@pytest.fixture
def watch() -> Watch:
    return Watch("redis://here")


@pytest.fixture
def failing(watch: Watch) -> Watch:
    """A watch whose store failed three times at 0."""
    for _ in range(3):
        watch.fail(0, PROBLEM)
    return watch


def test_a_store_is_asked_until_it_has_failed_three_times_in_a_row(watch: Watch) -> None:
    asked = []
    for now in range(5):
        asked.append(watch.open(now))
        watch.fail(now, PROBLEM)

    assert asked == [True, True, True, False, False]


def test_two_failures_and_a_success_are_no_outage(watch: Watch) -> None:
    for now in range(10):
        watch.fail(now, PROBLEM)
        watch.fail(now, PROBLEM)
        watch.succeed()

    assert (watch.failing, watch.failures, watch.outages) == (False, 20, 0)


def test_a_failing_store_is_tried_once_every_half_second(failing: Watch) -> None:
    tried = [now for now in range(0, 2_000_001, 1000) if failing.open(now)]

    assert tried == [500_000, 1_000_000, 1_500_000, 2_000_000]


def test_half_a_second_counts_from_the_failure_that_was_too_many(watch: Watch) -> None:
    for now in (7, 8, 9):
        watch.fail(now, PROBLEM)

    assert (watch.open(9 + PAUSE - 1), watch.open(9 + PAUSE)) == (False, True)


def test_only_the_first_to_come_tries_it(failing: Watch) -> None:
    tried = [failing.open(PAUSE) for _ in range(100)]

    assert tried == [True] + [False] * 99


def test_an_attempt_that_fails_is_the_only_one_for_another_half_second(failing: Watch) -> None:
    failing.open(PAUSE)
    failing.fail(PAUSE, PROBLEM)

    assert (failing.open(2 * PAUSE - 1), failing.open(2 * PAUSE)) == (False, True)


def test_an_attempt_that_succeeds_opens_it_for_everybody(failing: Watch) -> None:
    failing.open(PAUSE)
    failing.succeed()

    assert [failing.open(PAUSE) for _ in range(3)] == [True] * 3


def test_after_an_outage_it_takes_three_failures_again(failing: Watch) -> None:
    failing.open(PAUSE)
    failing.succeed()
    failing.fail(PAUSE, PROBLEM)
    failing.fail(PAUSE, PROBLEM)

    assert failing.open(PAUSE)


def test_a_clock_that_went_back_does_not_keep_a_store_from_being_tried(watch: Watch) -> None:
    for _ in range(3):
        watch.fail(3_600_000_000, PROBLEM)

    tried = [watch.open(0), watch.open(1), watch.open(PAUSE)]

    assert tried == [True, False, True]


def test_every_change_is_logged_once(watch: Watch, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "headgate"):
        for _ in range(2):
            for now in range(100):
                watch.fail(now, PROBLEM)
            for _ in range(100):
                watch.succeed()

    assert caplog.messages == [UNAVAILABLE, AVAILABLE] * 2
    assert {record.levelname for record in caplog.records} == {"WARNING"}


def test_failures_and_outages_are_counted(watch: Watch) -> None:
    for _ in range(2):
        for now in range(5):
            watch.fail(now, PROBLEM)
        watch.succeed()

    assert (watch.failures, watch.outages, watch.failing) == (10, 2, False)


def test_a_sign_of_life_is_given_every_five_seconds(watch: Watch) -> None:
    given = [now for now in range(0, 12_000_000, 1000) if watch.beating(now)]

    assert given == [0, 5_000_000, 10_000_000]


def test_a_sign_of_life_is_due_right_after_an_outage(watch: Watch) -> None:
    watch.beating(0)
    for _ in range(3):
        watch.fail(1, PROBLEM)
    watch.succeed()

    assert (watch.beating(2), watch.beating(3)) == (True, False)


def test_a_clock_that_went_back_does_not_silence_the_signs_of_life(watch: Watch) -> None:
    watch.beating(3_600_000_000)

    given = [now for now in range(0, BEAT + 1, 1000) if watch.beating(now)]

    assert given == [0, BEAT]


def test_an_instance_counts_itself_before_it_has_heard_of_others(watch: Watch) -> None:
    assert watch.instances == 1
