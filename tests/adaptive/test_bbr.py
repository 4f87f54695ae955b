"""BBR: the formula, number by number, and when it is enforced."""

from __future__ import annotations

import pytest

from headgate import BBR, Bulkhead, ManualClock
from headgate.adaptive.bbr import Throughput
from headgate.adaptive.gauge import SUCCESS

SECOND = 1_000_000


class Machine:
    """How busy it is said to be."""

    def __init__(self, busy: float = 0.0) -> None:
        self.busy = busy

    def __call__(self) -> float:
        return self.busy


def fed(machine: Machine, rate: int, took: int, seconds: int = 5, **settings: float) -> Throughput:
    # So many calls a second, evenly, each of which took so many microseconds.
    gauge = BBR(machine, probe_every=1000, **settings).open()  # type: ignore[arg-type]
    gauge.baseline.settle(SECOND, took)
    for number in range(rate * seconds):
        gauge.ended(SECOND + number * SECOND // rate, took, 1, SUCCESS)
    return gauge


@pytest.mark.parametrize(
    ("rate", "took", "places"),
    [
        # The best second times the least latency, and a tenth of room, which is four at least.
        (100, 100_000, 14),
        (1_000, 100_000, 110),
        (1_000, 10_000, 14),
        (100, 250_000, 29),
        # 2.4 and 2.5 are rounded to 2 and 3.
        (24, 100_000, 6),
        (25, 100_000, 7),
    ],
)
def test_as_many_as_the_best_second_needs_while_busy(rate: int, took: int, places: int) -> None:
    gauge = fed(Machine(0.9), rate, took)

    assert gauge.limit(6 * SECOND, 5) == places


@pytest.mark.parametrize(("busy", "enforced"), [(0.0, False), (0.79, False), (0.8, True)])
def test_calm_the_number_is_not_enforced(busy: float, enforced: bool) -> None:
    gauge = fed(Machine(busy), 100, 100_000, ceiling=500)

    assert gauge.limit(6 * SECOND, 5) == (14 if enforced else 500)


def test_after_a_refusal_it_stays_busy_for_a_second_from_the_latest_one() -> None:
    # The cool-down does not begin at the first refusal of an episode: it begins at the last.
    machine = Machine(0.9)
    gauge = fed(machine, 100, 100_000, ceiling=500)
    for moment in range(6_000_000, 8_000_001, 100_000):
        gauge.refused(moment)
    machine.busy = 0.0

    assert [gauge.limit(moment, 5) for moment in (8_500_000, 8_999_999, 9_000_000)] == [14, 14, 500]


def test_either_sign_is_enough() -> None:
    # Busy without a refusal, and calm with a recent one: both enforce it.
    calm = fed(Machine(0.0), 100, 100_000)
    calm.refused(6 * SECOND)

    assert (fed(Machine(0.9), 100, 100_000).limit(6 * SECOND, 5), calm.limit(6 * SECOND, 5)) == (
        14,
        14,
    )


def test_calls_that_take_twice_as_long_as_they_should_are_a_sign_too() -> None:
    # The machine is said to be calm, because that is seen late; ten calls are enough.
    gauge = fed(Machine(0.0), 100, 100_000, ceiling=500)
    before = gauge.limit(6 * SECOND, 5)
    for number in range(10):
        gauge.ended(6 * SECOND + number, 300_000, 30, SUCCESS)

    assert (before, gauge.limit(6 * SECOND + 10, 30)) == (500, 14)


def test_what_was_best_long_ago_is_forgotten() -> None:
    # A hundred a second in the first seconds, eighty now that neighbours compete.
    gauge = fed(Machine(0.9), 100, 100_000)
    for number in range(80 * 6):
        gauge.ended(6 * SECOND + number * SECOND // 80, 100_000, 1, SUCCESS)

    assert gauge.limit(12 * SECOND, 5) == 12


def test_a_burst_after_silence_is_no_throughput() -> None:
    # Ten calls in a tenth of a second are ten a second, not a hundred.
    gauge = BBR(Machine(0.9), probe_every=1000).open()
    gauge.baseline.settle(SECOND, 500_000)
    for number in range(50):
        gauge.ended(SECOND * (1 + number // 10) + number % 10 * 10_000, 500_000, 1, SUCCESS)

    assert gauge.limit(6_500_000, 5) == 9


def test_before_anything_was_served_everybody_may_come_in() -> None:
    assert BBR(Machine(1.0), ceiling=70).open().limit(SECOND, 0) == 70


def test_one_is_never_refused_for_being_there() -> None:
    clock = ManualClock(1.0)
    bulkhead = Bulkhead(BBR(Machine(1.0), floor=1), clock=clock)
    answers = []
    for _ in range(1_000):
        slot = bulkhead.take()
        answers.append(bool(slot))
        clock.advance(0.01)
        slot.success()

    assert all(answers)


def test_the_number_is_worked_out_once_a_bucket() -> None:
    gauge = fed(Machine(0.9), 100, 100_000)
    first = gauge.limit(6 * SECOND, 5)
    for _ in range(1_000):
        gauge.ended(6 * SECOND, 100_000, 1, SUCCESS)

    assert (first, gauge.limit(6_099_999, 5), gauge.limit(7_200_000, 5) > 50) == (14, 14, True)


def test_a_window_shorter_than_a_second_is_as_much_of_one() -> None:
    # Of five buckets of 0.1 s four are over: 40 calls in 0.4 s, which is 100 a second.
    gauge = fed(Machine(0.9), 100, 100_000, window=0.5, buckets=5)

    assert gauge.limit(6 * SECOND, 5) == 14


def test_one_bucket_is_none_that_is_over() -> None:
    with pytest.raises(ValueError, match="BBR: buckets is 2 or more, not 1"):
        BBR(buckets=1)


def test_nobody_asks_for_a_signal_before_there_is_a_number() -> None:
    def broken() -> float:
        raise AssertionError("asked")

    assert Bulkhead(BBR(broken)).rooms[""].limit == 1000


class Moody:
    """A limit of one's own, which raises when it is told to."""

    broken = False

    def open(self) -> Moody:
        return self

    def limit(self, now: int, inside: int) -> int:
        if self.broken:
            raise ZeroDivisionError
        return 3

    def ended(self, now: int, took: int, inside: int, outcome: int) -> None:
        """Learn nothing."""


def test_a_limit_that_fails_loses_no_place() -> None:
    limit = Moody()
    bulkhead = Bulkhead(limit)
    slot = bulkhead.take()
    limit.broken = True

    with pytest.raises(ZeroDivisionError):
        slot.success()

    assert bulkhead.inside() == 0
