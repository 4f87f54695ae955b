"""A line keeps its pace, its order and its size, whatever happens in whatever sequence."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headgate.measures import FOREVER
from headgate.pacers.queue import FULL, GRACE, LATE, LEFT, STANDING, WAITS, Queue, Waiter
from headgate.rate import Rate

LEVEL = 1_000
RATES = ["1/s", "3/s", "100/s", "2000/s", "30000/s", "7 per 11ms", "1000000/s", "7000000/s"]


class Arrival(NamedTuple):
    """After so many microseconds one comes; it may change its mind later."""

    after: int
    cost: int = 1
    priority: int = 0
    patience: int = FOREVER
    quits: int = FOREVER


class Change(NamedTuple):
    """After so many microseconds the pace is another one."""

    after: int
    rate: str


class Departure(NamedTuple):
    """When one left, and who stayed in line."""

    moment: int
    waiter: Waiter
    others: list[Waiter]


class Play:
    """Lets everybody do at its moment what it would do there, and takes notes."""

    def __init__(self, rate: str, size: int, slack: int = 0) -> None:
        self.queue = Queue(Rate(rate), size, slack, 0)
        self.size = size
        self.now = 0
        self.rung: list[Waiter] = []
        self.quits: dict[Waiter, int] = {}
        self.came: list[Waiter] = []
        self.left: list[Departure] = []
        self.answers: dict[Waiter, int] = {}
        self.paces = [(0, Rate(rate))]
        self.most = 0

    def run(self, events: Sequence[Arrival | Change], end: int = FOREVER) -> Play:
        for event in events:
            self.pass_until(self.now + event.after)
            if isinstance(event, Change):
                self.queue.change(Rate(event.rate), self.now)
                self.paces.append((self.now, Rate(event.rate)))
                self.queue.rouse()
            else:
                self.arrive(event)
            self.wake()
        self.pass_until(end)
        return self

    def arrive(self, event: Arrival) -> None:
        waiter = Waiter(event.cost, event.patience, event.priority * LEVEL)
        waiter.bell = lambda: self.rung.append(waiter)
        self.came.append(waiter)
        self.quits[waiter] = self.now + event.quits
        self.note(waiter, self.queue.join(waiter, self.now))

    def pass_until(self, end: int) -> None:
        while True:
            waiting = list(self.queue.all())
            moments = [min(one.until, self.quits[one]) for one in waiting]
            self.now = max(self.now, min([*moments, end]))
            if self.now == end:
                return
            for one in waiting:
                if one.state == STANDING and self.quits[one] <= self.now:
                    self.queue.quit(one)
                    self.queue.rouse()
                elif one.state == STANDING and one.until <= self.now:
                    self.note(one, self.queue.step(one, self.now))
            self.wake()

    def wake(self) -> None:
        while self.rung:
            one = self.rung.pop()
            if one.state == STANDING:
                self.note(one, self.queue.step(one, self.now))

    def note(self, waiter: Waiter, answer: int) -> None:
        self.answers[waiter] = answer
        if answer == LEFT:
            self.left.append(Departure(self.now, waiter, list(self.queue.all())))
        if answer in (LEFT, LATE):
            self.queue.rouse()
        self.most = max(self.most, self.queue.waiting)

    def units(self, start: int, end: int) -> Fraction:
        """How many units leave in a span, at the paces there were."""
        bounds = [*self.paces, (FOREVER, self.paces[-1][1])]
        return sum(
            (
                Fraction(max(0, min(end, later) - max(start, moment)) * rate.count, rate.period)
                for (moment, rate), (later, _) in pairwise(bounds)
            ),
            Fraction(0),
        )


arrivals = st.builds(
    Arrival,
    after=st.integers(0, 5_000) | st.just(0) | st.integers(0, 3_000_000),
    cost=st.integers(1, 5),
    priority=st.integers(-2, 3),
    patience=st.just(FOREVER) | st.integers(0, 10_000) | st.integers(0, 5_000_000),
    quits=st.just(FOREVER) | st.integers(1, 10_000) | st.integers(1, 5_000_000),
)
changes = st.builds(Change, after=st.integers(0, 500_000), rate=st.sampled_from(RATES))
traffic = st.lists(st.one_of(arrivals, arrivals, arrivals, changes), max_size=40)


@given(st.sampled_from(RATES), traffic, st.integers(0, 10) | st.just(FOREVER))
@example("30000/s", [Arrival(0) for _ in range(100)], FOREVER)
@example("1/s", [Arrival(0), Arrival(0), Change(500_000, "100/s")], FOREVER)
def test_between_two_departures_lies_what_the_first_costs(
    rate: str, events: list[Arrival | Change], size: int
) -> None:
    play = Play(rate, size).run(events)

    # A departure is at a whole microsecond, so what leaves in less than one may be missing; not for
    # each of them, but between any two.
    fastest = max(Fraction(rate.count, rate.period) for _, rate in play.paces)
    for index, (moment, _, _) in enumerate(play.left):
        owed = 0
        for (_, one, _), (later, _, _) in pairwise(play.left[index:]):
            owed += one.cost
            assert play.units(moment, later) + fastest > owed


@given(st.sampled_from(["1/s", "100/s", "2000/s", "1000000/s"]), traffic)
def test_where_a_gap_is_whole_microseconds_none_is_missing(
    rate: str, events: list[Arrival | Change]
) -> None:
    play = Play(rate, FOREVER).run([event for event in events if isinstance(event, Arrival)])
    gap = Rate(rate).period // Rate(rate).count

    assert [
        (first, second)
        for first, second in pairwise(play.left)
        if second.moment - first.moment < first.waiter.cost * gap
    ] == []


@given(st.sampled_from(RATES), traffic, st.integers(0, 10))
def test_the_first_of_those_in_line_leaves_and_the_line_keeps_its_size(
    rate: str, events: list[Arrival | Change], size: int
) -> None:
    play = Play(rate, size).run(events)

    assert play.most <= size
    for _, waiter, others in play.left:
        assert all((waiter.rank, waiter.ticket) < (one.rank, one.ticket) for one in others)


@given(st.sampled_from(RATES), traffic, st.integers(0, 10) | st.just(FOREVER), st.integers(0, 3))
def test_nobody_is_lost_and_nobody_leaves_late(
    rate: str, events: list[Arrival | Change], size: int, slack: int
) -> None:
    play = Play(rate, size, slack).run(events)

    quitters = [
        one
        for one, answer in play.answers.items()
        if answer == WAITS and play.quits[one] <= play.now
    ]
    ends = [answer for answer in play.answers.values() if answer in (LEFT, LATE, FULL)]
    assert len(ends) + len(quitters) == len(play.came)
    assert (play.queue.waiting, play.queue.units, play.queue.first()) == (0, 0, None)
    assert all(moment <= one.deadline for moment, one, _ in play.left)


@given(st.sampled_from(RATES), st.lists(arrivals, min_size=1, max_size=20))
def test_no_time_is_lost_while_somebody_waits(rate: str, events: list[Arrival | Change]) -> None:
    # Whoever waits leaves at the first microsecond that the one before has paid, or when it comes.
    play = Play(rate, FOREVER).run(events)
    gain, scale = Rate(rate).reduced

    due = Fraction(0)
    for moment, waiter, _ in play.left:
        assert moment == max(waiter.joined, -(-due.numerator // due.denominator))
        start = max(due, moment - Fraction(gain - 1, gain))
        due = start + Fraction(waiter.cost * scale, gain)


@given(
    st.sampled_from(RATES),
    st.lists(arrivals, max_size=15),
    arrivals,
    st.sampled_from([-1, 0, 1]),
)
@example("7000000/s", [Arrival(0), Arrival(0)], Arrival(1), 0)
@example("10/s", [Arrival(0), Arrival(0), Arrival(0, priority=-2)], Arrival(0), -1)
def test_one_is_refused_at_once_exactly_if_it_could_not_leave_in_time(
    rate: str, before: list[Arrival], last: Arrival, spare: int
) -> None:
    crowd = [one._replace(patience=FOREVER, quits=FOREVER) for one in before]
    last = last._replace(patience=FOREVER, quits=FOREVER)
    patient = Play(rate, FOREVER).run([*crowd, last])
    waited = next(moment - one.joined for moment, one, _ in patient.left if one is patient.came[-1])

    play = Play(rate, FOREVER)
    moment = sum(one.after for one in crowd)
    play.run([*crowd], moment)
    play.pass_until(moment + last.after)
    play.arrive(last._replace(patience=max(0, waited + spare)))

    assert (play.answers[play.came[-1]] == LATE) == (spare < 0 < waited)


TABLE = [
    # rate, when they come and what they cost, when they leave
    ("10/s", [(0, 1), (0, 1), (0, 1)], [0, 100_000, 200_000]),
    ("10/s", [(0, 3), (0, 1), (0, 1)], [0, 300_000, 400_000]),
    ("10/s", [(0, 1), (1_000_000, 1), (0, 1)], [0, 1_000_000, 1_100_000]),
    ("10/s", [(0, 1), (50_000, 1), (50_001, 1)], [0, 100_000, 200_000]),
    ("30000/s", [(0, 1)] * 7, [0, 34, 67, 100, 134, 167, 200]),
    ("3/s", [(0, 1)] * 4, [0, 333_334, 666_667, 1_000_000]),
    ("1000000/s", [(0, 1)] * 3, [0, 1, 2]),
    ("2000000/s", [(0, 1)] * 4, [0, 1, 1, 2]),
    ("100KB/s", [(0, 5_000), (0, 100), (0, 1)], [0, 50_000, 51_000]),
]


@pytest.mark.parametrize(("rate", "come", "leave"), TABLE)
def test_departures(rate: str, come: list[tuple[int, int]], leave: list[int]) -> None:
    play = Play(rate, FOREVER).run([Arrival(after, cost) for after, cost in come])

    assert [moment for moment, _, _ in play.left] == leave


@pytest.mark.parametrize(
    ("slack", "leave"),
    [
        (0, [0, 1_000_000, 1_100_000, 1_200_000, 1_300_000]),
        (1, [0, 1_000_000, 1_000_000, 1_100_000, 1_200_000]),
        (3, [0, 1_000_000, 1_000_000, 1_000_000, 1_000_000]),
    ],
)
def test_so_many_missed_gaps_are_made_up(slack: int, leave: list[int]) -> None:
    play = Play("10/s", FOREVER, slack)

    play.run([Arrival(0), Arrival(1_000_000), *[Arrival(0)] * 3])

    assert [moment for moment, _, _ in play.left] == leave


def test_before_the_first_has_come_nothing_was_missed() -> None:
    queue = Queue(Rate("10/s"), FOREVER, 5, 1_000_000)
    answers = [queue.join(Waiter(1, 0, 0), 1_000_000) for _ in range(2)]

    assert answers == [LEFT, LATE]


@pytest.mark.parametrize(
    ("rate", "after", "leave"),
    [
        # Half of the first unit is paid when the pace changes; the other half is paid anew.
        ("1/s", 500_000, [0, 505_000, 515_000]),
        ("1/s", 0, [0, 10_000, 20_000]),
        # Nobody owes anything any more.
        ("1000/s", 500_000, [0, 1_000, 2_000]),
    ],
)
def test_a_change_of_pace_is_felt_by_those_who_wait(
    rate: str, after: int, leave: list[int]
) -> None:
    play = Play(rate, FOREVER).run([*[Arrival(0)] * 3, Change(after, "100/s")])

    assert [moment for moment, _, _ in play.left] == leave


def test_a_slower_pace_tells_the_first_at_once_that_it_is_too_late() -> None:
    play = Play("10/s", FOREVER)

    play.run([Arrival(0), Arrival(0, patience=200_000), Change(50_000, "1/s")])

    # It would leave half a second after the change.
    assert (play.answers[play.came[1]], play.came[1].deadline) == (LATE, 200_000)
    assert play.came[1].until == 50_000 + 500_000 - 200_000


@pytest.mark.parametrize("back", [1, 500_000, 10_000_000])
def test_a_clock_that_is_set_back_neither_grants_nor_freezes(back: int) -> None:
    queue = Queue(Rate("1/s"), FOREVER, 0, 20_000_000)
    queue.join(Waiter(1, 0, 0), 20_000_000)
    waiter = Waiter(1, FOREVER, 0)

    answer = queue.join(waiter, 20_000_000 - back)

    assert (answer, waiter.until) == (WAITS, 21_000_000 - back)


def test_who_was_due_in_time_but_is_woken_late_still_leaves_unless_much_later() -> None:
    answers = []
    for late in (1, GRACE, GRACE + 1):
        queue = Queue(Rate("10/s"), FOREVER, 0, 0)
        queue.join(Waiter(1, 0, 0), 0)
        waiter = Waiter(1, 100_000, 0)
        queue.join(waiter, 0)
        answers.append(queue.step(waiter, 100_000 + late))

    assert answers == [LEFT, LEFT, LATE]


def test_those_who_have_gone_leave_no_traces() -> None:
    queue = Queue(Rate("1/h"), FOREVER, 0, 0)
    queue.join(Waiter(1, 0, 0), 0)
    kept = Waiter(1, FOREVER, 0)
    queue.join(kept, 0)
    for _ in range(10_000):
        waiter = Waiter(1, FOREVER, 0)
        queue.join(waiter, 0)
        queue.quit(waiter)

    assert sum(map(len, queue.lines)) < 100
    assert queue.first() is kept
