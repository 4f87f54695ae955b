"""What a limit lets in at most, counted at the door and never by the limiter itself.

A history holds every entry at the moment it acts: a take at once, a booking when it is due; what
was cancelled is left out. Bounds are checked for every pair of entries, in exact fractions.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate import (
    GCRA,
    FixedWindow,
    LeakyBucket,
    Limit,
    Limiter,
    ManualClock,
    Rate,
    SlidingLog,
    SlidingWindow,
    TokenBucket,
    WarmUp,
)
from tests.algorithms.traces import (
    EVER,
    EVERY,
    KINDS,
    SECOND,
    Ask,
    Entry,
    Player,
    busiest,
    played,
    scenes,
    starts,
    traces,
    wait,
)

Scene = tuple[Limit, int, list[Ask]]

every = pytest.mark.parametrize("kind", EVERY)
# Each kind has its own examples, so that there are enough of them with fewer for each.
modest = settings(max_examples=max(2, settings().max_examples // 8))
# Verbs at the door: taken or refused, booked for later, thought better of.
ALL = "take take book book cancel"


def check_fixed_window(limit: Limit, history: list[Entry]) -> None:
    """Its count in each window of the clock, twice that in any span as long as one."""
    windows = Counter[int]()
    for entry in history:
        windows[entry.at // limit.rate.period] += entry.cost
    assert max(windows.values(), default=0) <= limit.limit
    assert busiest(history, limit.rate.period) <= 2 * limit.limit


def check_first_window(limit: Limit, history: list[Entry]) -> None:
    assert busiest(history, limit.rate.period) <= 2 * limit.limit


def check_sliding_log(limit: Limit, history: list[Entry]) -> None:
    """Its count in any half-open span as long as the window, exactly."""
    assert busiest(history, limit.rate.period) <= limit.limit


def check_sliding_window(limit: Limit, history: list[Entry]) -> None:
    """Its count in any closed span a part shorter than the window, twice that in the window."""
    part = limit.rate.period // limit.parts
    assert busiest(history, limit.rate.period - part + 1) <= limit.limit
    assert busiest(history, limit.rate.period) <= 2 * limit.limit


def check_sliding_window_whole(limit: Limit, history: list[Entry]) -> None:
    """Its count in any closed span as long as the window."""
    assert busiest(history, limit.rate.period + 1) <= limit.limit


def check_meter(limit: Limit, history: list[Entry], late: int = 0) -> None:
    """Its burst, and its rate for as long as it takes and as entries come late."""
    rate = Fraction(limit.rate.count, limit.rate.period)
    assert most_over(history, rate) <= limit.limit + rate * late


def check_interval(limit: Limit, history: list[Entry]) -> None:
    """Its burst, and its count for every period begun."""
    for first, entry in enumerate(history):
        spent = 0
        for later in history[first:]:
            spent += later.cost
            periods = -(-(later.at - entry.at) // limit.rate.period)
            assert spent <= limit.limit + limit.rate.count * periods


def check_borrowing(limit: Limit, history: list[Entry], late: int = 0) -> None:
    """A meter's, and the last request on top, however large: the next one pays for it."""
    rate = Fraction(limit.rate.count, limit.rate.period)
    for last, entry in enumerate(history):
        spent = 0
        for earlier in reversed(history[:last]):
            spent += earlier.cost
            assert spent <= limit.limit + rate * (entry.at - earlier.at + late)


def check_warm_up(limit: Limit, history: list[Entry], late: int = 0) -> None:
    """One, and its rate for as long as it takes, where every request is one unit."""
    rate = Fraction(limit.rate.count, limit.rate.period)
    assert most_over(history, rate) <= 1 + rate * late


def most_over(history: list[Entry], rate: Fraction) -> Fraction:
    """The most by which what entered in any closed span exceeds what `rate` brings in it."""
    worst = highest = Fraction(0)
    spent = 0
    for entry in history:
        # The best place for the span to begin is where least was spent above the rate.
        highest = max(highest, rate * entry.at - spent)
        spent += entry.cost
        worst = max(worst, spent - rate * entry.at + highest)
    return worst


CHECKS = {
    "token bucket": check_meter,
    "interval bucket": check_interval,
    "borrowing bucket": check_borrowing,
    "gcra": check_meter,
    "leaky bucket": check_meter,
    "fixed window": check_fixed_window,
    "first window": check_first_window,
    "sliding window": check_sliding_window,
    "sliding window, whole": check_sliding_window_whole,
    "sliding log": check_sliding_log,
    "warm-up": check_warm_up,
}
# A booking acts in the first whole microsecond not before its moment, and what dripped in between
# is not lost: three a second wait 333334, 333333 and 333333. Between a late entry and a punctual
# one, a span is up to a microsecond short of what the rate brought. Takes are never late.
BOOKED = {
    **CHECKS,
    "token bucket": partial(check_meter, late=1),
    "borrowing bucket": partial(check_borrowing, late=1),
    "gcra": partial(check_meter, late=1),
    "leaky bucket": partial(check_meter, late=1),
    "warm-up": partial(check_warm_up, late=1),
}
# Under warm-up a large request may enter whenever a small one may, so its bound is one of counts.
DEAREST = {"warm-up": 1}


def kind_of(limit: Limit) -> str:
    """The name a limit's bound goes by."""
    if isinstance(limit, TokenBucket):
        return "borrowing bucket" if limit.borrow else BUCKETS[limit.refill]
    if isinstance(limit, FixedWindow):
        return "first window" if limit.anchor == "first" else "fixed window"
    if isinstance(limit, SlidingWindow):
        return WINDOWS[limit.oldest]
    return {GCRA: "gcra", LeakyBucket: "leaky bucket", SlidingLog: "sliding log"}.get(
        type(limit), "warm-up"
    )


BUCKETS = {"greedy": "token bucket", "interval": "interval bucket"}
WINDOWS = {"weighted": "sliding window", "whole": "sliding window, whole"}


@every
@modest
@given(data=st.data())
def test_takes_keep_the_bound(kind: str, data: st.DataObject) -> None:
    limit, start, asks = data.draw(scenes(kind, "take", dearest=DEAREST.get(kind, 0)))

    CHECKS[kind](limit, played(limit, start, asks))


@every
@modest
@given(data=st.data())
def test_bookings_keep_the_bound_at_the_moments_they_act(kind: str, data: st.DataObject) -> None:
    limit, start, asks = data.draw(scenes(kind, "take book", dearest=DEAREST.get(kind, 0)))

    BOOKED[kind](limit, played(limit, start, asks))


@every
@modest
@given(data=st.data())
def test_with_bookings_cancelled_the_others_keep_the_bound(kind: str, data: st.DataObject) -> None:
    limit, start, asks = data.draw(scenes(kind, ALL, dearest=DEAREST.get(kind, 0)))

    BOOKED[kind](limit, played(limit, start, asks))


@every
@modest
@given(data=st.data())
def test_debits_on_the_way_only_make_the_bound_tighter(kind: str, data: st.DataObject) -> None:
    verbs = "take take book debit"
    limit, start, asks = data.draw(scenes(kind, verbs, dearest=DEAREST.get(kind, 0)))

    BOOKED[kind](limit, played(limit, start, asks))


@every
@modest
@given(data=st.data())
def test_a_debit_by_mistake_given_back_at_once_loosens_nothing(
    kind: str, data: st.DataObject
) -> None:
    verbs = "take take book slip"
    limit, start, asks = data.draw(scenes(kind, verbs, dearest=DEAREST.get(kind, 0)))

    BOOKED[kind](limit, played(limit, start, asks))


@every
@modest
@given(data=st.data())
def test_a_client_that_obeys_retry_after_to_the_microsecond_keeps_the_bound(
    kind: str, data: st.DataObject
) -> None:
    limit = data.draw(KINDS[kind])
    costs = st.integers(1, DEAREST.get(kind, limit.limit))
    player = Player((limit,), data.draw(starts))
    for cost in data.draw(st.lists(costs, max_size=40)):
        player.now += wait(player.peek(cost))
        player.take(Ask(0, "take", cost))

    CHECKS[kind](limit, player.history)


@given(data=st.data())
def test_under_several_limits_every_one_keeps_its_bound(data: st.DataObject) -> None:
    limits = tuple(data.draw(st.lists(st.one_of(*KINDS.values()), min_size=2, max_size=4)))
    dearest = 1 if any(isinstance(limit, WarmUp) for limit in limits) else 0
    asks = data.draw(traces(limits, ALL, dearest=dearest))

    history = played(limits, data.draw(starts), asks)

    for limit in limits:
        BOOKED[kind_of(limit)](limit, history)


@given(data=st.data())
def test_a_bucket_that_starts_with_less_gives_only_that_at_first(data: st.DataObject) -> None:
    limit, start, asks = data.draw(scenes("token bucket", "take"))
    asks = [Ask(0, "take", limit.limit), *asks]

    history = [Entry(start, limit.limit - limit.initial), *played(limit, start, asks)]

    check_meter(limit, history)


@given(data=st.data())
def test_in_each_window_from_its_first_request_no_more_than_its_count_enters(
    data: st.DataObject,
) -> None:
    limit, start, asks = data.draw(scenes("first window", "take"))

    history = played(limit, start, asks)

    begin, used = -EVER, 0
    for entry in history:
        if entry.at >= begin + limit.rate.period:
            begin, used = entry.at, 0
        used += entry.cost
        assert used <= limit.limit


# limit, story, how many units are in the busiest moment or window of it
STORIES = [
    pytest.param(
        SlidingLog("2/s"),
        [Ask(0, "take", 2), Ask(1, "book", 1, 2 * SECOND), Ask(0, "cancel"), Ask(0, "take")],
        2,
        id="a booking cancelled does not bring back what it was to follow",
    ),
    pytest.param(
        SlidingLog("2/s"),
        [Ask(0, "take", 2), Ask(1, "slip"), Ask(0, "take")],
        2,
        id="a debit given back does not bring back what it was on top of",
    ),
    pytest.param(
        SlidingWindow("2/s"),
        [Ask(0, "take", 2), Ask(1, "book", 2, 2 * SECOND), Ask(0, "cancel"), Ask(0, "take")],
        2,
        id="nor does it in a sliding window",
    ),
    pytest.param(
        TokenBucket("100/min", burst=1, refill="interval"),
        [Ask(0, "take"), *(Ask(0, "book", 1, 60 * SECOND) for _ in range(5))],
        2,
        id="what is filled in at once still has to fit: one of a hundred does",
    ),
    pytest.param(
        TokenBucket("10/min", refill="interval"),
        [Ask(0, "take"), *(Ask(0, "book", 5, 60 * SECOND) for _ in range(5))],
        # Nine were left: five at once, ten a minute later, and the others wait longer than that.
        16,
        id="a minute's refill is not added to what was left of the last",
    ),
]


@pytest.mark.parametrize(("limit", "story", "most"), STORIES)
def test_nobody_gets_in_twice_by_changing_their_mind(
    limit: Limit, story: list[Ask], most: int
) -> None:
    history = played(limit, 0, story)

    assert busiest(history, limit.rate.period + 1) <= most


# rate, (moment, how often it is asked for one), and how many a span of one period saw
DOUBLED = [
    pytest.param("80/s", [(500_000, 60), (1_499_999, 60)], 120, id="R27 60 + 60 under 80"),
    pytest.param("20/s", [(999_999, 20), (1_000_000, 20)], 40, id="R27 20 a second"),
    pytest.param("5/min", [(59_999_999, 5), (60_000_000, 5)], 10, id="R27 5 a minute"),
]


@pytest.mark.parametrize(("rate", "knocks", "seen"), DOUBLED)
def test_a_fixed_window_can_be_made_to_double(
    rate: str, knocks: list[tuple[int, int]], seen: int
) -> None:
    limit = FixedWindow(rate)

    history = knocked(limit, knocks)

    assert busiest(history, limit.rate.period) == seen


@pytest.mark.parametrize(("rate", "knocks", "seen"), DOUBLED)
def test_a_sliding_log_cannot(rate: str, knocks: list[tuple[int, int]], seen: int) -> None:
    limit = SlidingLog(rate)

    history = knocked(limit, knocks)

    assert busiest(history, limit.rate.period) == min(seen, limit.limit)


def test_the_weighted_window_of_ten_parts_does_not_keep_a_tenth_more() -> None:
    # All of it at the very end of a part, then as much again when that part has nearly slid out.
    limit = SlidingWindow("100/s", parts=10)

    history = knocked(limit, [(99_999, 100), (1_099_998, 100)])

    # L(1 + 1/N) would be 110.
    assert busiest(history, SECOND) == 199


def test_counted_whole_the_same_knocking_gets_no_more_than_the_limit() -> None:
    limit = SlidingWindow("100/s", parts=10, oldest="whole")

    history = knocked(limit, [(99_999, 100), (1_099_998, 100)])

    assert busiest(history, SECOND + 1) == 100


def test_the_weighted_window_admits_little_more_than_the_limit_when_traffic_is_even() -> None:
    limit = SlidingWindow("100/s", parts=10)

    history = knocked(limit, [(moment, 1) for moment in range(0, 20 * SECOND, 3_000)])

    assert busiest(history, SECOND) <= 110


def knocked(limit: Limit, knocks: list[tuple[int, int]]) -> list[Entry]:
    """The history of asking for one unit so many times at each moment."""
    player = Player((limit,), 0)
    for player.now, times in knocks:
        for _ in range(times):
            player.take(Ask(0, "take"))
    return sorted(player.history)


@pytest.mark.parametrize("make", [TokenBucket, GCRA, LeakyBucket])
@pytest.mark.parametrize("rate", ["3/s", "7/min", "999983 per 1000003us", "1 per 3day"])
def test_a_meter_reaches_its_bound_and_no_further(make: type[Limit], rate: str) -> None:
    limit = make(rate)
    player = Player((limit,), 12_345)
    for _ in range(50):
        player.now += wait(player.peek(limit.limit))
        player.take(Ask(0, "take", limit.limit))

    over = most_over(player.history, Fraction(limit.rate.count, limit.rate.period))

    # Whole microseconds: each of the waits is rounded up, and the rest is not thrown away.
    assert limit.limit - Fraction(limit.rate.count, limit.rate.period) < over <= limit.limit


@pytest.mark.parametrize("make", [TokenBucket, GCRA, LeakyBucket])
def test_three_a_second_for_a_year_is_three_a_second(make: type[Limit], scale: int) -> None:
    # A third of a second is no whole number of microseconds; a remainder lost would show.
    player = Player((make("3/s"),), 0)
    player.take(Ask(0, "take", 3))
    day = 86_400 * SECOND

    admitted = 0
    for visit in range(365 * scale):
        for moment in range(3):
            player.now = visit * day + (moment + 1) * SECOND
            admitted += sum(bool(player.take(Ask(0, "take"))) for _ in range(4))

    assert admitted == 9 * 365 * scale


@pytest.mark.parametrize("burst", [1, 3])
@pytest.mark.parametrize("make", [TokenBucket, GCRA, LeakyBucket])
def test_a_queue_at_three_a_second_is_served_at_three_a_second(
    make: type[Limit], burst: int
) -> None:
    # Each waits a whole number of microseconds; were the rest lost, the queue would fall behind.
    player = Player((make("3/s", burst=burst),), 0)

    history = player.play([Ask(0, "book", 1, EVER) for _ in range(900 + burst)])

    assert history[-1].at == 300 * SECOND


@given(
    count=st.integers(1, 50),
    period=st.integers(1, 10_000_000),
    asks=st.lists(st.tuples(st.integers(0, 3_000_000), st.integers(1, 20)), max_size=40),
)
def test_a_borrowers_debt_is_paid_in_full(
    count: int, period: int, asks: list[tuple[int, int]]
) -> None:
    clock = ManualClock()
    rate = Rate.of(count, period, 20)
    limiter = Limiter(TokenBucket(rate, borrow=True), clock=clock)
    history = []
    for gap, cost in asks:
        clock.advance(gap / SECOND)
        limiter.acquire(cost=cost)
        history.append(Entry(clock.now(), cost))

    largest = max((entry.cost for entry in history), default=0)

    assert most_over(history, Fraction(count, period)) <= 20 + largest
