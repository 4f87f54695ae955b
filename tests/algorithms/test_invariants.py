"""What holds for every limit in every state that requests can bring about."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

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
from headgate.decision import Decision
from tests.algorithms.traces import (
    EVER,
    EVERY,
    KEY,
    KINDS,
    SECOND,
    Ask,
    Player,
    gaps,
    reset,
    starts,
    traces,
    wait,
)

VERBS = "take take take book cancel debit refund"
# These let a request of any size in as soon as nothing is owed, so `remaining` is no bound on it.
OPEN_HANDED = ("borrowing bucket", "warm-up")
METERED = [kind for kind in EVERY if kind not in OPEN_HANDED]


class State(NamedTuple):
    """A key after some story, which can be told again to have a second one in the same state."""

    limits: tuple[Limit, ...]
    start: int
    asks: list[Ask]

    def reach(self) -> Player:
        """A player whose key is in this state."""
        player = Player(self.limits, self.start)
        player.play(self.asks)
        return player


@st.composite
def states(draw: st.DrawFn, kind: str, verbs: str = VERBS) -> State:
    limit = draw(KINDS[kind])
    asks = draw(traces((limit,), verbs, most=12))
    return State((limit,), draw(starts), [*asks, Ask(draw(gaps(limit)), "take")])


@st.composite
def crowds(draw: st.DrawFn) -> State:
    """A key under two or three limits at once."""
    limits = tuple(draw(st.lists(st.one_of(*KINDS.values()), min_size=2, max_size=3)))
    asks = draw(traces(limits, most=12))
    return State(limits, draw(starts), [*asks, Ask(draw(gaps(*limits)), "take")])


def steps_back(*limits: Limit) -> st.SearchStrategy[int]:
    slowest = max(limit.rate.period for limit in limits)
    return st.one_of(
        st.integers(1, SECOND), st.just(SECOND + 1), st.integers(1, 3 * slowest + 3 * SECOND)
    )


def answers(player: Player) -> list[tuple[bool, int, int, str]]:
    """What the key answers now and in the future: two equal lists are one state."""
    most = max(limit.limit for limit in player.limits)
    slowest = max(limit.rate.period for limit in player.limits)
    moments = [slowest * eighth // 8 for eighth in (0, 1, 4, 7, 8, 12, 24)]
    costs = sorted({0, 1, (most + 1) // 2, most, most + 1})
    said = [player.peek(cost, moment) for moment in moments for cost in costs]
    return [(bool(one), one.remaining, wait_or_never(one), one.reason) for one in said]


def wait_or_never(decision: Decision) -> int:
    return -1 if decision.reason == "never" else wait(decision)


every = pytest.mark.parametrize("kind", EVERY)
# Each kind has its own examples, so that there are enough of them with fewer for each.
modest = settings(max_examples=max(2, settings().max_examples // 8))


@every
@modest
@given(data=st.data())
def test_a_retry_at_retry_after_succeeds_and_one_microsecond_earlier_fails(
    kind: str, data: st.DataObject
) -> None:
    player = data.draw(states(kind)).reach()
    cost = data.draw(st.integers(1, max(1, player.limits[0].limit)))
    decision = player.peek(cost)
    assume(not decision)

    later, earlier = (player.peek(cost, wait(decision) - less) for less in (0, 1))

    assert (bool(later), bool(earlier), wait(earlier)) == (True, False, 1)


@every
@modest
@given(data=st.data())
def test_a_refusal_changes_nothing(kind: str, data: st.DataObject) -> None:
    player = data.draw(states(kind)).reach()
    player.now += data.draw(gaps(*player.limits))
    cost = data.draw(st.integers(1, 2 * player.limits[0].limit + 2))
    before = player.cells()

    decision = player.limiter.take(KEY, cost)

    assume(not decision)
    assert player.cells() == before


@every
@modest
@given(data=st.data())
def test_a_booking_that_comes_too_late_changes_nothing(kind: str, data: st.DataObject) -> None:
    player = data.draw(states(kind)).reach()
    cost = data.draw(st.integers(1, player.limits[0].limit))
    needed = wait(player.peek(cost))
    assume(needed > 0)
    before = player.cells()

    player.book(Ask(0, "book", cost, needed - 1))

    assert player.cells() == before


@pytest.mark.parametrize("kind", [kind for kind in EVERY if kind != "warm-up"])
@modest
@given(data=st.data())
def test_asking_for_a_then_b_is_never_kinder_than_asking_for_both(
    kind: str, data: st.DataObject
) -> None:
    state = data.draw(states(kind))
    apart, together = state.reach(), state.reach()
    most = apart.limits[0].limit
    first, second = (data.draw(st.integers(1, (most + 1) // 2)) for _ in "ab")
    allowed = [apart.limiter.take(KEY, cost) for cost in (first, second)]

    decision = together.limiter.take(KEY, first + second)

    assert not all(allowed) or (decision and answers(together) == answers(apart))


@every
@modest
@given(data=st.data())
def test_a_peek_answers_as_a_take_does(kind: str, data: st.DataObject) -> None:
    player = data.draw(states(kind)).reach()
    player.now += data.draw(gaps(*player.limits))
    cost = data.draw(st.integers(1, player.limits[0].limit + 1))

    peeked = player.peek(cost)
    taken = player.limiter.take(KEY, cost)

    said = [(bool(one), one.reason, one.retry_after, one.rule) for one in (peeked, taken)]
    assert said[0] == said[1]


@every
@modest
@given(data=st.data())
def test_a_peek_and_a_take_of_nothing_spend_nothing(kind: str, data: st.DataObject) -> None:
    player = data.draw(states(kind)).reach()
    player.now += data.draw(gaps(*player.limits))
    cost = data.draw(st.integers(0, player.limits[0].limit + 1))
    before = player.cells()

    looked = player.peek(0)
    player.peek(cost)
    taken = player.limiter.take(KEY, 0)

    assert (player.cells(), taken) == (before, looked)


@pytest.mark.parametrize("kind", METERED)
@modest
@given(data=st.data())
def test_remaining_is_the_largest_cost_that_would_be_allowed(
    kind: str, data: st.DataObject
) -> None:
    player = data.draw(states(kind)).reach()
    player.now += data.draw(gaps(*player.limits))

    remaining = player.peek(0).remaining

    allowed = [bool(player.peek(remaining + more)) for more in (0, 1)]
    assert allowed == [True, False] or (remaining == 0 and not allowed[1])


@pytest.mark.parametrize("kind", OPEN_HANDED)
@modest
@given(data=st.data())
def test_who_owes_nothing_may_ask_for_any_size_and_who_owes_for_none(
    kind: str, data: st.DataObject
) -> None:
    player = data.draw(states(kind)).reach()
    player.now += data.draw(gaps(*player.limits))

    one = player.peek(1)
    thousand = player.peek(1000)

    assert (bool(one), one.retry_after) == (bool(thousand), thousand.retry_after)


@every
@modest
@given(data=st.data())
def test_a_debit_given_back_at_once_leaves_no_trace(kind: str, data: st.DataObject) -> None:
    state = data.draw(states(kind))
    touched, untouched = state.reach(), state.reach()
    # A log holds a debt of one window at most; what is beyond that cap is not owed.
    windows = 1 if kind == "sliding log" else 3
    cost = data.draw(st.integers(1, windows * state.limits[0].limit))

    touched.slip(Ask(0, "slip", cost))

    assert answers(touched) == answers(untouched)


@pytest.mark.parametrize("kind", [kind for kind in EVERY if kind != "warm-up"])
@modest
@given(data=st.data())
def test_a_take_given_back_at_once_leaves_no_trace(kind: str, data: st.DataObject) -> None:
    # Not so a warm-up: what a permit cost depends on a store that taking it has emptied.
    state = data.draw(states(kind))
    touched, untouched = state.reach(), state.reach()
    cost = data.draw(st.integers(1, state.limits[0].limit))
    touched.now = untouched.now = touched.now + wait(touched.peek(cost))

    touched.play([Ask(0, "take", cost), Ask(0, "refund", cost)])

    assert answers(touched) == answers(untouched)


@pytest.mark.parametrize("kind", [kind for kind in EVERY if kind != "warm-up"])
@modest
@given(data=st.data())
def test_a_booking_cancelled_at_once_leaves_no_trace(kind: str, data: st.DataObject) -> None:
    state = data.draw(states(kind))
    touched, untouched = state.reach(), state.reach()

    book_and_cancel(touched, data.draw(st.integers(1, state.limits[0].limit)))

    assert answers(touched) == answers(untouched)


@pytest.mark.parametrize("kind", [kind for kind in EVERY if kind != "warm-up"])
@modest
@given(data=st.data())
def test_a_cancelled_booking_is_never_repaid_with_more_than_there_was(
    kind: str, data: st.DataObject
) -> None:
    state = data.draw(states(kind))
    touched, untouched = state.reach(), state.reach()

    book_and_cancel(touched, data.draw(st.integers(1, state.limits[0].limit)))

    pairs = zip(answers(touched), answers(untouched), strict=True)
    assert all(after[:2] <= before[:2] for after, before in pairs)


@pytest.mark.parametrize("kind", [kind for kind in EVERY if kind != "warm-up"])
@modest
@given(data=st.data())
def test_once_its_moment_has_come_a_cancelled_booking_has_left_no_trace(
    kind: str, data: st.DataObject
) -> None:
    state = data.draw(states(kind))
    touched, untouched = state.reach(), state.reach()

    due = book_and_cancel(touched, data.draw(st.integers(1, state.limits[0].limit)))

    touched.now = untouched.now = due
    assert answers(touched) == answers(untouched)


def book_and_cancel(player: Player, cost: int) -> int:
    """Book, cancel at once, and say for when it was booked."""
    reservation = player.book(Ask(0, "book", cost, EVER))
    reservation.cancel()
    return player.now + wait(reservation.decision)


@every
@modest
@given(data=st.data())
def test_after_reset_after_a_key_is_as_new(kind: str, data: st.DataObject) -> None:
    limit = data.draw(KINDS[kind])
    if isinstance(limit, TokenBucket):
        # A key that starts with less than a full bucket never gets back to that.
        limit = TokenBucket(limit.rate, refill=limit.refill, borrow=bool(limit.borrow))
    used = Player((limit,), data.draw(starts))
    used.play(data.draw(traces((limit,), VERBS, most=12)))

    used.now += reset(used.peek(0))

    assert answers(used) == answers(Player((limit,), used.now))


@every
@modest
@given(data=st.data())
def test_a_clock_that_goes_back_does_not_grant(kind: str, data: st.DataObject) -> None:
    player = data.draw(states(kind)).reach()
    cost = data.draw(st.integers(1, player.limits[0].limit))
    before = player.peek(cost)

    player.now -= data.draw(steps_back(*player.limits))

    after = player.peek(cost)
    assert (bool(after), after.remaining) <= (bool(before), before.remaining)


@every
@modest
@given(data=st.data())
def test_a_clock_that_goes_back_does_not_freeze_a_key(kind: str, data: st.DataObject) -> None:
    player = data.draw(states(kind)).reach()
    (limit,) = player.limits
    player.debit(Ask(0, "debit"))
    before = wait(player.peek(1))

    player.now -= data.draw(steps_back(limit))

    assert wait(player.peek(1)) <= before + SECOND + allowance(limit)


def allowance(limit: Limit) -> int:
    """What counts by the clock's own windows may have to sit through one of them again."""
    if isinstance(limit, SlidingWindow):
        return limit.rate.period + limit.rate.period // limit.parts
    if isinstance(limit, FixedWindow) or getattr(limit, "refill", "") == "interval":
        return limit.rate.period
    return 0


# An aligned window begins where the clock says, so a clock that was set may bring it sooner.
UNALIGNED = [kind for kind in EVERY if kind != "fixed window" and "sliding window" not in kind]


@pytest.mark.parametrize("kind", UNALIGNED)
@modest
@given(data=st.data())
def test_a_story_in_which_the_clock_goes_back_never_admits_more(
    kind: str, data: st.DataObject
) -> None:
    limit = data.draw(KINDS[kind])
    start = data.draw(starts.filter(lambda moment: moment > 10 * limit.rate.period))
    asks = data.draw(traces((limit,), "take", most=30, dearest=1))
    place = data.draw(st.integers(0, len(asks)))
    back = data.draw(steps_back(limit))
    steady, broken = (
        Player((limit,), start).play([*asks[:place], Ask(gap, "take"), *asks[place:]])
        for gap in (0, -back)
    )

    assert len(broken) <= len(steady)


@given(data=st.data())
def test_refused_by_one_limit_none_is_charged(data: st.DataObject) -> None:
    player = data.draw(crowds()).reach()
    player.now += data.draw(gaps(*player.limits))
    cost = data.draw(st.integers(1, max(limit.limit for limit in player.limits)))
    before = player.cells()

    decision = player.limiter.take(KEY, cost)

    assume(not decision)
    assert player.cells() == before


@given(data=st.data())
def test_of_several_limits_the_longest_wait_is_reported_with_the_limit_that_asks_for_it(
    data: st.DataObject,
) -> None:
    limits = named(data.draw(st.lists(st.sampled_from(SMALL), min_size=2, max_size=4)))
    asks = data.draw(traces(limits, "take", most=12))
    together = Player(limits, 0)
    together.play(asks)
    # Alone, each limit is told only what all of them let in.
    alone = [Player((limit,), 0) for limit in limits]
    for player in alone:
        for player.now, cost in together.history:
            player.debit(Ask(0, "debit", cost))
        player.now = together.now
    cost = data.draw(st.integers(1, min(limit.limit for limit in limits)))

    decision = together.peek(cost)

    waits = {
        str(limit): wait(player.peek(cost)) for limit, player in zip(limits, alone, strict=True)
    }
    assert wait(decision) == max(waits.values())
    assert decision.allowed or waits[decision.rule] == wait(decision)


SMALL = (
    "TokenBucket 5/s burst 3",
    "GCRA 10/min",
    "LeakyBucket 7/s",
    "FixedWindow 5/s",
    "SlidingLog 4/s",
    "SlidingWindow 6/s",
)


def named(spellings: list[str]) -> tuple[Limit, ...]:
    """Limits with a name each, so that the one that refuses can be told from the others."""
    kinds = {
        kind.__name__: kind
        for kind in (TokenBucket, GCRA, LeakyBucket, FixedWindow, SlidingLog, SlidingWindow)
    }
    split = [spelling.partition(" ") for spelling in spellings]
    return tuple(
        kinds[kind](rate, name=f"{number}") for number, (kind, _, rate) in enumerate(split)
    )


def test_where_all_allow_the_tightest_is_named(clock: ManualClock) -> None:
    wide, tight = TokenBucket("100/s", name="wide"), TokenBucket("3/min", name="tight")

    decision = Limiter(wide, tight, clock=clock).take()

    assert (decision.rule, decision.limit, decision.remaining) == ("tight", 3, 2)


def test_where_two_refuse_the_slower_is_named(clock: ManualClock) -> None:
    quick, slow = TokenBucket("2/s", name="quick"), TokenBucket("2/min", name="slow")
    limiter = Limiter(quick, slow, clock=clock)
    limiter.take(cost=2)

    decision = limiter.take()

    assert (decision.rule, decision.retry_after) == ("slow", 30.0)


def test_what_one_limit_can_never_hold_is_refused_for_good_and_spends_nothing(
    clock: ManualClock,
) -> None:
    wide, narrow = TokenBucket("100/s", name="wide"), SlidingLog("3/min", name="narrow")
    limiter = Limiter(wide, narrow, clock=clock)

    decision = limiter.take(cost=4)

    left = limiter.peek().remaining
    assert (decision.reason, decision.rule, left) == ("never", "narrow", 3)


@given(data=st.data())
def test_a_booking_under_several_limits_is_for_the_first_moment_all_allow(
    data: st.DataObject,
) -> None:
    state = data.draw(crowds())
    booked, waiting = state.reach(), state.reach()
    cost = data.draw(st.integers(1, min(limit.limit for limit in state.limits)))

    reservation = booked.book(Ask(0, "book", cost, EVER))

    assume(reservation)
    needed = wait(reservation.decision)
    assert waiting.peek(cost, needed)
    assert needed == 0 or not waiting.peek(cost, needed - 1)


@every
@modest
@given(data=st.data())
def test_a_booking_leaves_the_key_as_a_take_at_its_moment_would_to_the_microsecond(
    kind: str, data: st.DataObject
) -> None:
    # What drips in between a booking's moment and the whole microsecond it acts in is not lost.
    state = data.draw(states(kind))
    booked, waiting = state.reach(), state.reach()
    cost = data.draw(st.integers(1, state.limits[0].limit))

    needed = wait(booked.book(Ask(0, "book", cost, EVER)).decision)
    waiting.play([Ask(needed, "take", cost)])

    booked.now = waiting.now
    # A warm-up works out its prices in grains of up to a microsecond.
    rough = 3 if kind == "warm-up" else 1
    for later in (0, 1, state.limits[0].rate.period // 2, state.limits[0].rate.period):
        least, most = (waiting.peek(0, later + more) for more in (0, rough))
        assert least.remaining <= booked.peek(0, later).remaining <= most.remaining
        assert wait(least) >= wait(booked.peek(0, later)) >= wait(least) - rough


@every
@modest
@given(data=st.data())
def test_bookings_come_in_the_order_they_were_made(kind: str, data: st.DataObject) -> None:
    player = data.draw(states(kind)).reach()
    most = player.limits[0].limit
    costs = data.draw(st.lists(st.integers(1, most), min_size=2, max_size=8))

    waits = [player.book(Ask(0, "book", cost, EVER)).wait for cost in costs]

    assert waits == sorted(waits)


@given(data=st.data())
def test_a_booking_under_several_limits_cancelled_at_once_leaves_no_trace(
    data: st.DataObject,
) -> None:
    state = data.draw(crowds())
    assume(not any(isinstance(limit, WarmUp) for limit in state.limits))
    touched, untouched = state.reach(), state.reach()

    book_and_cancel(touched, data.draw(st.integers(1, min(one.limit for one in state.limits))))

    assert answers(touched) == answers(untouched)


# limits, units used, units booked and cancelled, and what then enters as if nothing had been booked
CANCELLED = [
    pytest.param([FixedWindow("10/s")], 8, 5, Ask(0, "take", 2), id="the rest of a fixed window"),
    pytest.param([SlidingWindow("10/s")], 8, 5, Ask(0, "take", 2), id="of a sliding window"),
    pytest.param([SlidingLog("10/s")], 8, 5, Ask(0, "take", 2), id="of a log"),
    pytest.param([TokenBucket("10/s")], 8, 5, Ask(0, "take", 2), id="of a bucket"),
    pytest.param(
        [TokenBucket("100/s"), TokenBucket("10/min")],
        10,
        5,
        Ask(6 * SECOND, "take", 1),
        id="a quick limit, which would have waited for a slow one",
    ),
]


@pytest.mark.parametrize(("limits", "used", "booked", "ask"), CANCELLED)
def test_who_cancels_at_once_leaves_the_place_open(
    limits: list[Limit], used: int, booked: int, ask: Ask
) -> None:
    player = Player(tuple(limits), 0)
    player.take(Ask(0, "take", used))

    book_and_cancel(player, booked)

    player.now += ask.gap
    assert player.take(ask)


def test_while_a_booking_is_pending_nothing_remains() -> None:
    player = Player((SlidingLog("2/s"),), 0)
    player.take(Ask(0, "take", 2))
    player.book(Ask(500_000, "book", 1, SECOND))

    refused = player.limiter.take(KEY)

    assert (refused.allowed, refused.remaining) == (False, 0)


# Offered evenly. Limits that count from a request on lose up to one gap between requests a window,
# so a limit of ten a second can be taken up to 92 per cent only, by whatever exact algorithm.
USED = [
    TokenBucket("100/s"),
    TokenBucket("100/s", burst=2),
    TokenBucket("100/s", refill="interval"),
    TokenBucket("100/s", borrow=True),
    GCRA("100/s"),
    LeakyBucket("100/s"),
    FixedWindow("100/s"),
    FixedWindow("100/s", anchor="first"),
    SlidingWindow("100/s"),
    SlidingWindow("100/s", parts=1),
    SlidingLog("100/s"),
]


@pytest.mark.parametrize("limit", USED, ids=repr)
def test_at_1_2_times_the_limit_98_per_cent_of_the_limit_are_admitted(
    limit: Limit, scale: int
) -> None:
    assert share_admitted(limit, 20 * scale) >= 0.98


@pytest.mark.parametrize("parts", [1, 4, 10, 100])
def test_a_sliding_window_leaves_at_most_a_unit_a_window_unused(parts: int) -> None:
    assert share_admitted(SlidingWindow("10/s", parts=parts), 100) >= 0.9


@pytest.mark.parametrize("parts", [1, 4, 10])
def test_counting_the_oldest_part_whole_costs_one_part_in_n_plus_one(parts: int) -> None:
    limit = SlidingWindow("100/s", parts=parts, oldest="whole")

    assert share_admitted(limit, 20) == pytest.approx(parts / (parts + 1), abs=0.02)


def test_a_warm_limiter_with_callers_that_wait_is_used_in_full() -> None:
    # Who does not wait for a limiter that stores nothing finds it free only now and then.
    player = Player((WarmUp("10/s", period=1),), 0)
    player.play([Ask(SECOND // 12, "book", 1, EVER) for _ in range(1200)])

    late = [entry for entry in player.history if entry.at >= 10 * SECOND]

    assert len(late) / ((late[-1].at - 10 * SECOND) / SECOND * 10) >= 0.98


def share_admitted(limit: Limit, periods: int) -> float:
    """The share of what the limit allows that goes in, once the first period is over."""
    offered = limit.rate.count * 12 // 10
    gap = limit.rate.period // offered
    player = Player((limit,), 0)
    history = player.play([Ask(gap, "take") for _ in range(offered * (periods + 1))])
    late = sum(entry.cost for entry in history if entry.at >= limit.rate.period)
    return late / (limit.rate.count * (player.now - limit.rate.period) / limit.rate.period)
