"""Limits of every kind, traces of requests in virtual time, and the history they leave behind.

A history is what an observer at the door would write down: who went in, when, and how large it
was. The limiter's own counters have no part in it. Time is an integer of microseconds.
"""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from headgate import (
    GCRA,
    FixedWindow,
    LeakyBucket,
    Limit,
    Limiter,
    MemoryStore,
    Rate,
    Reservation,
    SlidingLog,
    SlidingWindow,
    TokenBucket,
    WarmUp,
)
from headgate.decision import Decision

SECOND = 1_000_000
EVER = 1 << 52
KEY = "key"

# Round and odd, far below and far above the second in which a clock that steps back is doubted.
PERIODS = (7, 1_000, 99_991, 1_000_000, 7_000_003, 60_000_000, 3_600_000_000)
counts = st.one_of(st.integers(1, 4), st.integers(1, 30), st.just(100))
periods = st.sampled_from(PERIODS)


class Ask(NamedTuple):
    """One line of a trace: after `gap`, do `verb`."""

    gap: int
    verb: str
    cost: int = 1
    patience: int = 0


class Entry(NamedTuple):
    """Somebody went in with `cost` units, at `at`."""

    at: int
    cost: int


@st.composite
def rates(draw: st.DrawFn) -> Rate:
    count = draw(counts)
    return Rate.of(count, draw(periods), draw(st.one_of(st.just(count), st.integers(1, 40))))


@st.composite
def plain_rates(draw: st.DrawFn) -> Rate:
    return Rate.of(draw(counts), draw(periods))


@st.composite
def token_buckets(draw: st.DrawFn) -> Limit:
    rate = draw(rates())
    initial = draw(st.one_of(st.just(rate.burst), st.integers(0, rate.burst)))
    return TokenBucket(rate, initial=initial)


@st.composite
def interval_buckets(draw: st.DrawFn) -> Limit:
    return TokenBucket(draw(rates()), refill="interval")


@st.composite
def borrowing_buckets(draw: st.DrawFn) -> Limit:
    rate = draw(rates())
    return TokenBucket(rate, initial=draw(st.integers(0, rate.burst)), borrow=True)


@st.composite
def sliding_windows(draw: st.DrawFn, oldest: str = "weighted") -> Limit:
    parts = draw(st.sampled_from((1, 2, 3, 10, 60)))
    part = draw(st.sampled_from((1, 7, 1_000, 99_991, 1_000_000, 60_000_000)))
    return SlidingWindow(Rate.of(draw(counts), parts * part), parts=parts, oldest=oldest)


@st.composite
def warm_ups(draw: st.DrawFn) -> Limit:
    period = draw(st.sampled_from((0.001, 0.3, 3.0, 20.0)))
    return WarmUp(draw(plain_rates()), period=period)


KINDS: dict[str, st.SearchStrategy[Limit]] = {
    "token bucket": token_buckets(),
    "interval bucket": interval_buckets(),
    "borrowing bucket": borrowing_buckets(),
    "gcra": rates().map(GCRA),
    "leaky bucket": rates().map(LeakyBucket),
    "fixed window": plain_rates().map(FixedWindow),
    "first window": plain_rates().map(lambda rate: FixedWindow(rate, anchor="first")),
    "sliding window": sliding_windows(),
    "sliding window, whole": sliding_windows(oldest="whole"),
    "sliding log": plain_rates().map(SlidingLog),
    "warm-up": warm_ups(),
}
EVERY = sorted(KINDS)


@st.composite
def traces(
    draw: st.DrawFn,
    limits: tuple[Limit, ...],
    verbs: str = "take take book cancel",
    most: int = 40,
    dearest: int = 0,
) -> list[Ask]:
    """Requests that dwell where a limit is at its edge: at once, a unit later, a window later."""
    dearest = dearest or min(limit.limit for limit in limits)
    costs = st.one_of(st.just(1), st.just(dearest), st.integers(1, dearest))
    patience = st.integers(0, 4 * max(limit.rate.period for limit in limits))
    asks = st.builds(Ask, gaps(*limits), st.sampled_from(verbs.split()), costs, patience)
    return draw(st.lists(asks, max_size=most))


def gaps(*limits: Limit) -> st.SearchStrategy[int]:
    """Times to let pass: none, one at which something happens, or any."""
    slowest = max(limit.rate.period for limit in limits)
    return st.one_of(
        st.just(0),
        st.sampled_from(edges(limits)),
        st.integers(0, max(1, slowest // 4)),
        st.integers(0, 2 * slowest),
    )


def edges(limits: tuple[Limit, ...]) -> list[int]:
    """Gaps at which something happens: units drip, parts turn, windows end."""
    found = {0, 1}
    for limit in limits:
        period = limit.rate.period
        for length in (period, period // limit.rate.count, period // getattr(limit, "parts", 2)):
            found |= {max(0, length - 1), length, length + 1}
    return sorted(found)


@st.composite
def scenes(
    draw: st.DrawFn,
    kind: str,
    verbs: str = "take take book cancel",
    most: int = 40,
    dearest: int = 0,
) -> tuple[Limit, int, list[Ask]]:
    """A limit of a kind, the moment its story begins, and the story."""
    limit = draw(KINDS[kind])
    return limit, draw(starts), draw(traces((limit,), verbs, most, dearest))


starts = st.sampled_from((0, 1, 999_999, 86_399_999_999, 1_700_000_000_123_457))


class Hand:
    """A clock that stands where it is put, to the microsecond."""

    def __init__(self, moment: int) -> None:
        self.moment = moment

    def now(self) -> int:
        return self.moment

    def sleep(self, seconds: float) -> None:
        self.moment += round(seconds * SECOND)

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)


class Player:
    """Plays a trace against limits in virtual time and writes the history down."""

    def __init__(self, limits: tuple[Limit, ...], start: int) -> None:
        self.clock = Hand(start)
        self.limiter = Limiter(*limits, store=MemoryStore(capacity=8), clock=self.clock)
        self.table = self.limiter.table
        self.limits = limits
        self.history: list[Entry] = []
        self.booked: list[tuple[Entry, Reservation]] = []

    @property
    def now(self) -> int:
        return self.clock.moment

    @now.setter
    def now(self, moment: int) -> None:
        self.clock.moment = max(0, moment)

    def play(self, asks: list[Ask]) -> list[Entry]:
        """The entries in the order of their moments, those that were cancelled left out."""
        for ask in asks:
            self.now += ask.gap
            getattr(self, ask.verb)(ask)
        return sorted(self.history)

    def take(self, ask: Ask) -> Decision:
        """Enter now or not at all."""
        decision = self.limiter.take(KEY, ask.cost)
        if decision:
            self.history.append(Entry(self.now, ask.cost))
        return decision

    def book(self, ask: Ask) -> Reservation:
        """Enter as soon as possible within the patience there is."""
        reservation = self.limiter.reserve(KEY, ask.cost, timeout=ask.patience / SECOND)
        if reservation:
            entry = Entry(self.now + wait(reservation.decision), ask.cost)
            self.history.append(entry)
            self.booked.append((entry, reservation))
        return reservation

    def cancel(self, ask: Ask) -> None:
        """Give up one of the bookings whose moment has not passed."""
        self.booked = [one for one in self.booked if one[0].at >= self.now]
        if self.booked:
            entry, reservation = self.booked.pop(ask.patience % len(self.booked))
            reservation.cancel()
            self.history.remove(entry)

    def debit(self, ask: Ask) -> None:
        self.limiter.debit(KEY, ask.cost)

    def refund(self, ask: Ask) -> None:
        self.limiter.refund(KEY, ask.cost)

    def slip(self, ask: Ask) -> None:
        """Debit by mistake, and give it back at once."""
        self.debit(ask)
        self.refund(ask)

    def peek(self, cost: int, later: int = 0) -> Decision:
        """What a take of `cost` would be told, now or in a while, if nothing happened till then."""
        return self.table.peek(KEY, cost, self.now + later)

    def cells(self) -> list[int]:
        """All that is kept of the key."""
        return self.table.read(KEY)


def played(limits: tuple[Limit, ...] | Limit, start: int, asks: list[Ask]) -> list[Entry]:
    """The history of a trace under `limits`."""
    return Player(limits if isinstance(limits, tuple) else (limits,), start).play(asks)


def wait(decision: Decision) -> int:
    """`retry_after` in microseconds."""
    return round(decision.retry_after * SECOND)


def reset(decision: Decision) -> int:
    """`reset_after` in microseconds."""
    return round(decision.reset_after * SECOND)


def busiest(history: list[Entry], span: int) -> int:
    """The most units in any half-open span of that length."""
    return max(
        (sum(e.cost for e in history if first.at <= e.at < first.at + span) for first in history),
        default=0,
    )
