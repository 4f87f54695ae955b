"""The laws that keep the twins equal: integers below 2^53, nothing lost, expiry is no meaning.

A Lua number holds integers up to 2^53 exactly, and compiled arithmetic wraps at 2^63 without a
word. So the steps are run on integers that look at every sum, product and quotient on the way,
for limits at the very edge of what their constructors accept.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from headgate import (
    GCRA,
    FixedWindow,
    LeakyBucket,
    LimitError,
    SlidingLog,
    SlidingWindow,
    TokenBucket,
    WarmUp,
)
from headgate.stores.flat.table import Table
from tests.conformance.bare import BEGIN, SECOND, YEAR, Act, Bare, acts
from tests.conformance.engines import FOREVER, interpreted
from tests.conformance.limits import LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable

    from headgate import Limit

KEY = "key"
EVERY = [limit for limits in LIMITS.values() for limit in limits]
RATES = [
    "1/s",
    "3/s",
    "999983/s",
    "1000003/day",
    "1000000/day",
    "1/day",
    "1 per 3650day",
    "999999937 per 1000003us",
    "1000000000000/s",
]


class Watched(int):
    """An integer that stays below 2^53, and divides only what is not negative."""

    def __add__(self, other: int) -> Watched:
        return watch(int(self) + int(other))

    def __sub__(self, other: int) -> Watched:
        return watch(int(self) - int(other))

    def __rsub__(self, other: int) -> Watched:
        return watch(int(other) - int(self))

    def __mul__(self, other: int) -> Watched:
        return watch(int(self) * int(other))

    def __neg__(self) -> Watched:
        return watch(-int(self))

    def __floordiv__(self, other: int) -> Watched:
        return watch(divided(self, other)[0])

    def __rfloordiv__(self, other: int) -> Watched:
        return watch(divided(other, self)[0])

    def __mod__(self, other: int) -> Watched:
        return watch(divided(self, other)[1])

    def __rmod__(self, other: int) -> Watched:
        return watch(divided(other, self)[1])

    __radd__ = __add__
    __rmul__ = __mul__


def watch(number: int) -> Watched:
    assert -(1 << 53) < number < 1 << 53, f"{number:,} is beyond 2^53"
    return Watched(number)


def divided(dividend: int, divisor: int) -> tuple[int, int]:
    assert dividend >= 0, f"{int(dividend)} // {int(divisor)}: a negative dividend"
    assert divisor > 0, f"{int(dividend)} // {int(divisor)}: no positive divisor"
    return divmod(int(dividend), int(divisor))


@pytest.mark.parametrize(
    "step",
    [
        lambda number: number * 4,
        lambda number: 4 * number,
        lambda number: number + (1 << 52),
        lambda number: -number - (1 << 52),
        lambda number: -number // 2,
        lambda number: -1 % number,
        lambda number: number // -1,
        lambda number: 1 // (number - number),
    ],
)
def test_a_number_that_breaks_the_law_is_noticed(step: Callable[[int], int]) -> None:
    with pytest.raises(AssertionError):
        step(Watched(1 << 52))


@pytest.mark.parametrize("limit", EVERY, ids=repr)
def test_no_step_leaves_exact_arithmetic(limit: Limit, scale: int) -> None:
    trial(limit, 150 * scale)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(
    "make",
    [
        TokenBucket,
        GCRA,
        LeakyBucket,
        lambda rate, burst: TokenBucket(rate, burst, borrow=True),
        lambda rate, burst: TokenBucket(rate, burst, refill="interval"),
    ],
    ids=["TokenBucket", "GCRA", "LeakyBucket", "borrow", "interval"],
)
def test_the_largest_burst_a_limit_accepts_is_exact(
    make: Callable[..., Limit], rate: str, scale: int
) -> None:
    largest = edge(lambda burst: make(rate, burst=burst), 1 << 50)

    for burst in {1, largest // 2 + 1, largest} if largest else ():
        trial(make(rate, burst=burst), 60 * scale)


@pytest.mark.parametrize(
    "make",
    [
        lambda count: FixedWindow(f"{count}/s"),
        lambda count: FixedWindow(f"{count}/day", anchor="first"),
        lambda count: FixedWindow(f"{count} per 3650day"),
        lambda count: SlidingWindow(f"{count}/s"),
        lambda count: SlidingWindow(f"{count} per 1000003us", parts=1),
        lambda count: SlidingWindow(f"{count}/day", parts=24, oldest="whole"),
        lambda count: WarmUp(f"{count}/s", period=1.0),
        lambda count: WarmUp(f"{count} per 1000003us", period=0.001),
    ],
)
def test_the_largest_count_a_limit_accepts_is_exact(
    make: Callable[[int], Limit], scale: int
) -> None:
    largest = edge(make, 1 << 50)

    trial(make(largest), 300 * scale)


def trial(limit: Limit, length: int) -> None:
    """Play a random trace on watched numbers."""
    bare = Bare(limit, interpreted(type(limit).__module__.rpartition(".")[2]), number=Watched)
    trace = acts(limit, random.Random(length))
    act = next(trace)
    for _ in range(length):
        try:
            told = bare.perform(act)
        except AssertionError as broken:
            cells = bare.read()
            raise AssertionError(f"{limit!r}, {act!r} on {cells}: {broken}") from broken
        act = trace.send(told)
    # As much as fits, again and again, as far ahead as anyone may wait.
    for _ in range(50):
        bare.perform(Act("take", BEGIN, max(1, limit.most), limit.horizon))


def edge(make: Callable[[int], Limit], high: int) -> int:
    """The largest number that `make` accepts, or 0."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        try:
            make(middle)
        except LimitError:
            high = middle - 1
        else:
            low = middle
    return low


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: GCRA("999983/s", burst=1_125_899_907),
            'GCRA("999983/s"): a burst of 1,125,899,907 at 999,983 per 1,000,000 microseconds does '
            "not fit into exact arithmetic; choose a smaller burst or a rounder rate",
        ),
        (
            lambda: LeakyBucket("1/day", burst=13_032),
            'LeakyBucket("1/day"): a burst of 13,032 at 1 per 86,400,000,000 microseconds does not '
            "fit into exact arithmetic; choose a smaller burst or a rounder rate",
        ),
        (
            lambda: SlidingWindow("999999999989 per 1000003us", parts=1),
            'SlidingWindow("999999999989 per 1000003us"): 999999999989 units times 1000003 '
            "microseconds do not fit into exact arithmetic; choose more parts or a rounder rate",
        ),
        (
            lambda: SlidingWindow("10/s", parts=3),
            'SlidingWindow("10/s", parts=3): 1000000 microseconds do not divide into 3 parts; '
            "choose a number of parts that does",
        ),
        (
            lambda: SlidingLog("1000001/day"),
            'SlidingLog("1000001/day"): a log of 1,000,001 moments a key is too long (at most '
            "1,000,000); use SlidingWindow",
        ),
        (
            lambda: WarmUp("1000003/day", period=86_400.0),
            'WarmUp("1000003/day"): choose a rounder rate or a shorter period',
        ),
    ],
)
def test_what_would_break_the_law_is_refused_when_it_is_made(
    make: Callable[[], Limit], message: str
) -> None:
    with pytest.raises(LimitError) as refusal:
        make()

    assert str(refusal.value) == message


@pytest.mark.parametrize("kind", [TokenBucket, GCRA, LeakyBucket])
def test_three_a_second_for_a_year_are_three_a_second(kind: Callable[..., Limit]) -> None:
    # Gaps too short to fill the bucket: what is there is the burst, plus 3/s, less what was taken.
    table = Table((kind("3/s", burst=1000),), 4)
    chance = random.Random(3)
    now, taken = 0, 0
    while now < YEAR:
        available = 1000 + 3 * now // SECOND - taken
        assert table.take(KEY, available, now, 0), (now, taken)
        assert not table.take(KEY, 1, now, 0), (now, taken)
        taken += available
        now += chance.randrange(300 * SECOND, 333 * SECOND)

    assert taken > 3 * 365 * 86_400


@pytest.mark.parametrize("kind", [TokenBucket, GCRA, LeakyBucket])
@pytest.mark.parametrize(("rate", "count", "period"), [("3/s", 3, SECOND), ("7 per 13us", 7, 13)])
def test_waits_booked_a_year_ahead_add_up_exactly(
    kind: Callable[..., Limit], rate: str, count: int, period: int
) -> None:
    # The n-th unit after the burst is due after n periods divided by the count, rounded up once.
    size = YEAR * count // period // 30_000
    table = Table((kind(rate, burst=size),), 4)
    chance = random.Random(7)
    booked, wait = 0, 0
    while wait < YEAR:
        cost = chance.randint(size // 2, size)
        booked += cost
        wait = max(0, -(-(booked - size) * period // count))
        decision = table.take(KEY, cost, 0, 2 * YEAR)
        assert (decision.allowed, round(decision.retry_after * 1e6)) == (True, wait), booked


@pytest.mark.parametrize("limit", [one for one in EVERY if not one.lasting], ids=repr)
def test_silence_until_reset_makes_a_key_as_new(limit: Limit, scale: int) -> None:
    functions = interpreted(type(limit).__module__.rpartition(".")[2])
    chance = random.Random(5)
    for seed in range(8 * scale):
        used = Bare(limit, functions)
        now = BEGIN
        for act in forward(limit, random.Random(seed), BEGIN, chance.randint(1, 30)):
            used.perform(act)
            now = act.now
        used.perform(Act("peek", now, 0, 0))
        now += int(used.look(now, 0, FOREVER)[2]) + chance.choice([0, 0, 1, SECOND])
        fresh = Bare(limit, functions)
        for act in forward(limit, random.Random(-1 - seed), now, 30):
            assert used.perform(act) == fresh.perform(act), (seed, act)


@pytest.mark.parametrize("limit", EVERY, ids=repr)
def test_a_row_lasts_for_as_long_as_it_matters(limit: Limit, scale: int) -> None:
    chance = random.Random(6)
    for seed in range(8 * scale):
        table = Table((limit,), 4)
        now, decision = BEGIN, None
        for act in forward(limit, random.Random(seed), BEGIN, chance.randint(1, 30)):
            decision = play(table, act)
            now = act.now
        reset = round(decision.reset_after * 1e6)
        table.peek(KEY, 0, now + max(0, reset - 1))

        assert len(table) == 1 or reset == 0, (seed, reset)


def forward(limit: Limit, chance: random.Random, now: int, length: int) -> list[Act]:
    """Acts of a clock that never goes back."""
    trace = acts(limit, chance)
    found = []
    last = BEGIN
    for number in range(length):
        act = next(trace) if number == 0 else trace.send((False, 0, 0, 0))
        gap, last = max(0, act.now - last), act.now
        now += min(gap, 3 * limit.rate.period)
        due = act.extra if act.do != "charge" or act.cost >= 0 else now
        found.append(Act("take" if act.do == "forget" else act.do, now, act.cost, due))
    return found


def play(table: Table, act: Act) -> Any:
    if act.do == "take":
        return table.take(KEY, act.cost, act.now, act.extra)
    if act.do == "peek":
        return table.peek(KEY, act.cost, act.now)
    return table.charge(KEY, act.cost, act.now, act.extra)
