"""Limits are values: equal when they mean the same, printed as typed, frozen, and strict."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import (
    GCRA,
    FixedWindow,
    LeakyBucket,
    Limit,
    Limiter,
    LimitError,
    ManualClock,
    Rate,
    SlidingLog,
    SlidingWindow,
    TokenBucket,
    WarmUp,
)
from tests.algorithms.traces import plain_rates, rates

NAMES = {
    kind.__name__: kind
    for kind in (
        FixedWindow,
        GCRA,
        LeakyBucket,
        SlidingLog,
        SlidingWindow,
        TokenBucket,
        WarmUp,
    )
}
names = st.text(max_size=12)
penalties = st.integers(0, 1)
sizes = st.one_of(st.none(), st.integers(1, 100))
ONE_OF_EACH = [
    TokenBucket("5/s", burst=7, initial=3, penalty=2, name="bucket"),
    TokenBucket("5/s", borrow=True),
    GCRA("100KB/s", burst=7),
    LeakyBucket("7/min", name='say "leak"'),
    FixedWindow("5/min", anchor="first"),
    FixedWindow("5 per 30day", calendar="month", zone="Europe/Berlin"),
    SlidingWindow("5/min", parts=6, oldest="whole"),
    SlidingLog("5/min", penalty=1),
    WarmUp("5/s", period=2.5),
]

options: dict[type[Limit], st.SearchStrategy[dict[str, Any]]] = {
    TokenBucket: st.fixed_dictionaries(
        {},
        optional={
            "burst": st.integers(5, 100),
            "initial": st.integers(0, 1),
            "refill": st.sampled_from(("greedy", "interval")),
            "borrow": st.booleans(),
            "penalty": penalties,
            "name": names,
        },
    ),
    GCRA: st.fixed_dictionaries({}, optional={"burst": sizes, "penalty": penalties, "name": names}),
    LeakyBucket: st.fixed_dictionaries(
        {}, optional={"burst": sizes, "penalty": penalties, "name": names}
    ),
    FixedWindow: st.fixed_dictionaries(
        {},
        optional={
            "anchor": st.sampled_from(("clock", "first")),
            "penalty": penalties,
            "name": names,
        },
    ),
    SlidingWindow: st.fixed_dictionaries(
        {},
        optional={
            "parts": st.just(1),
            "oldest": st.sampled_from(("weighted", "whole")),
            "penalty": penalties,
            "name": names,
        },
    ),
    SlidingLog: st.fixed_dictionaries({}, optional={"penalty": penalties, "name": names}),
    WarmUp: st.fixed_dictionaries(
        {}, optional={"period": st.floats(0.001, 100.0), "penalty": penalties, "name": names}
    ),
}
every = pytest.mark.parametrize("kind", options, ids=lambda kind: kind.__name__)


def made(data: st.DataObject, kind: type[Limit]) -> Limit:
    """A limit of a kind with whatever options."""
    bursts = kind in (TokenBucket, GCRA, LeakyBucket)
    chosen = data.draw(options[kind])
    if kind is SlidingWindow:
        chosen.setdefault("parts", 1)
    return kind(data.draw(rates() if bursts else plain_rates()), **chosen)


@every
@given(data=st.data())
def test_a_limit_prints_as_it_would_be_typed(kind: type[Limit], data: st.DataObject) -> None:
    limit = made(data, kind)

    assert eval(repr(limit), dict(NAMES)) == limit


@every
@given(data=st.data())
def test_what_is_typed_again_prints_the_same(kind: type[Limit], data: st.DataObject) -> None:
    limit = made(data, kind)

    assert repr(eval(repr(limit), dict(NAMES))) == repr(limit)


@every
@given(data=st.data())
def test_equal_limits_hash_alike(kind: type[Limit], data: st.DataObject) -> None:
    limit = made(data, kind)

    assert len({limit, eval(repr(limit), dict(NAMES))}) == 1


# two spellings of one limit
SAME = [
    (TokenBucket("60/min"), TokenBucket("60 per 60s")),
    (TokenBucket("5/s"), TokenBucket("5/s", burst=5, initial=5, refill="greedy", borrow=False)),
    (TokenBucket(Rate("5/s")), TokenBucket("5/s")),
    (TokenBucket("10/s burst 50"), TokenBucket("10/s", burst=50)),
    (GCRA("10/s burst 50"), GCRA("10/s", burst=50)),
    (LeakyBucket("100B/s"), LeakyBucket("100/s")),
    (FixedWindow("5/min", anchor="clock"), FixedWindow("5/min")),
    (SlidingWindow("5/min", parts=10), SlidingWindow("5/min")),
    (WarmUp("5/s", period=10), WarmUp("5/s")),
]


@pytest.mark.parametrize(("one", "other"), SAME, ids=str)
def test_limits_that_mean_the_same_are_equal(one: Limit, other: Limit) -> None:
    assert (one, hash(one)) == (other, hash(other))


def test_limits_that_differ_in_kind_or_number_are_not_equal() -> None:
    different = [
        TokenBucket("5/s"),
        GCRA("5/s"),
        LeakyBucket("5/s"),
        FixedWindow("5/s"),
        SlidingWindow("5/s"),
        SlidingWindow("5/s", parts=5),
        SlidingLog("5/s"),
        WarmUp("5/s"),
        TokenBucket("6/s"),
        TokenBucket("5/min"),
        TokenBucket("5/s", burst=6),
        TokenBucket("5/s", name="other"),
    ]

    assert len(set(different)) == len(different)


def test_a_limit_is_not_equal_to_its_spelling() -> None:
    assert TokenBucket("5/s") != 'TokenBucket("5/s")'


@pytest.mark.parametrize("limit", ONE_OF_EACH, ids=repr)
@pytest.mark.parametrize("attribute", ["rate", "name", "limit", "penalty", "new"])
def test_a_limit_cannot_be_changed(limit: Limit, attribute: str) -> None:
    with pytest.raises(AttributeError):
        setattr(limit, attribute, 1)


@pytest.mark.parametrize("limit", ONE_OF_EACH, ids=repr)
def test_nothing_can_be_taken_from_a_limit(limit: Limit) -> None:
    made_for_this = copy.copy(limit)

    with pytest.raises(AttributeError):
        del made_for_this.rate


@pytest.mark.parametrize("limit", ONE_OF_EACH, ids=repr)
def test_a_copy_is_equal(limit: Limit) -> None:
    assert copy.copy(limit) == copy.deepcopy(limit) == limit


@pytest.mark.parametrize("limit", ONE_OF_EACH, ids=repr)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_limit_survives_a_pickle(limit: Limit, protocol: int) -> None:
    assert pickle.loads(pickle.dumps(limit, protocol)) == limit


@pytest.mark.parametrize("limit", ONE_OF_EACH, ids=repr)
def test_a_limit_that_came_out_of_a_pickle_limits(limit: Limit, clock: ManualClock) -> None:
    fresh, pickled = (
        Limiter(limit, clock=clock),
        Limiter(pickle.loads(pickle.dumps(limit)), clock=clock),
    )

    assert [fresh.take() for _ in range(9)] == [pickled.take() for _ in range(9)]


# what is typed, and the whole of what is answered
MISTAKES = [
    (
        'TokenBucket("5/s", burst=-1)',
        "TokenBucket: burst is from 0 to 1,125,899,906,842,624, not -1",
    ),
    ('TokenBucket("5/s", initial=6)', "TokenBucket: initial is from 0 to 5, not 6"),
    ('TokenBucket("5/s", initial=-1)', "TokenBucket: initial is from 0 to 5, not -1"),
    (
        'TokenBucket("5/s", refill="lazy")',
        'TokenBucket: refill is "greedy" or "interval", not \'lazy\'',
    ),
    ('TokenBucket("5/s", penalty=6)', "TokenBucket: penalty is from 0 to 5, not 6"),
    (
        'TokenBucket("unlimited")',
        'unlimited is no limit to count; leave it out, or use Limiter("unlimited")',
    ),
    (
        'TokenBucket("5/sex")',
        'rate "5/sex": unknown unit "sex" at column 3; try s, min, h or day',
    ),
    (
        'TokenBucket("1000003 per 36524day", burst=1125899906)',
        'TokenBucket("1000003 per 36524day"): a burst of 1125899906 does not fit into exact '
        "arithmetic; choose a smaller burst or a rounder rate",
    ),
    ('GCRA("5/s", burst=-1)', "GCRA: burst is from 0 to 1,125,899,906,842,624, not -1"),
    (
        'GCRA("1 per 36525day", burst=1000000)',
        'GCRA("1 per 36525day"): a burst of 1,000,000 at 1 per 3,155,760,000,000,000 microseconds '
        "does not fit into exact arithmetic; choose a smaller burst or a rounder rate",
    ),
    ('LeakyBucket("5/s", penalty=6)', "LeakyBucket: penalty is from 0 to 5, not 6"),
    (
        'FixedWindow("5/s burst 9")',
        'FixedWindow("5/s burst 9"): a FixedWindow has no burst; write "5/s", or use TokenBucket',
    ),
    (
        'FixedWindow("5/s", anchor="last")',
        'FixedWindow: anchor is "clock" or "first", not \'last\'',
    ),
    (
        'FixedWindow("5/day", calendar="year")',
        'FixedWindow: calendar is "" or "day" or "week" or "month", not \'year\'',
    ),
    (
        'FixedWindow("5/day", calendar="month")',
        'FixedWindow("5/day", calendar="month"): the rate is per month then; write "5 per 30day"',
    ),
    (
        'FixedWindow("5/h", calendar="day")',
        'FixedWindow("5/h", calendar="day"): the rate is per day then; write "5/day"',
    ),
    (
        'FixedWindow("5/day", calendar="day", anchor="first")',
        'FixedWindow: a calendar has its own anchor; leave out anchor="first"',
    ),
    (
        'FixedWindow("5/day", calendar="day", zone="Mars/Base")',
        'FixedWindow: zone \'Mars/Base\' is not known; try "UTC" or a name like "Europe/Berlin"',
    ),
    (
        'FixedWindow("5/day", calendar="day", zone="../passwd")',
        'FixedWindow: zone \'../passwd\' is not known; try "UTC" or a name like "Europe/Berlin"',
    ),
    (
        'SlidingWindow("5/s", parts=7)',
        'SlidingWindow("5/s", parts=7): 1000000 microseconds do not divide into 7 parts; choose '
        "a number of parts that does",
    ),
    ('SlidingWindow("5/s", parts=0)', "SlidingWindow: parts is from 1 to 10,000, not 0"),
    (
        'SlidingWindow("5/s", oldest="half")',
        'SlidingWindow: oldest is "weighted" or "whole", not \'half\'',
    ),
    (
        'SlidingLog("1000001/day")',
        'SlidingLog("1000001/day"): a log of 1,000,001 moments a key is too long '
        "(at most 1,000,000); use SlidingWindow",
    ),
    (
        'WarmUp("5/s", period=-1)',
        "WarmUp: period is from 0.001 to 86400 seconds, not -1",
    ),
    (
        'WarmUp("5/s burst 9")',
        'WarmUp("5/s burst 9"): a WarmUp has no burst; write "5/s", or use TokenBucket',
    ),
]


@pytest.mark.parametrize(("typed", "answered"), MISTAKES, ids=[typed for typed, _ in MISTAKES])
def test_a_mistake_is_explained(typed: str, answered: str) -> None:
    with pytest.raises(ValueError) as mistake:
        eval(typed, dict(NAMES))

    assert str(mistake.value) == answered


@pytest.mark.parametrize("kind", [TokenBucket, GCRA, LeakyBucket])
@pytest.mark.parametrize("burst", [True, 1.5, 2.0, "9", float("nan")])
def test_a_burst_is_a_whole_number(kind: type[Limit], burst: Any) -> None:
    with pytest.raises(TypeError) as mistake:
        kind("5/s", burst=burst)

    assert str(mistake.value) == f"{kind.__name__}: burst is a whole number, not {burst!r}"


# Not refused, these would be misunderstood: each error begins with the kind and the word.
ODD = [
    (TokenBucket, "borrow", "no"),
    (TokenBucket, "name", 5),
    (TokenBucket, "penalty", True),
    (SlidingWindow, "parts", 2.0),
    (SlidingWindow, "parts", True),
    (FixedWindow, "zone", None),
    (FixedWindow, "zone", "Mars/Base"),
    (WarmUp, "period", "3"),
    (WarmUp, "period", True),
    (WarmUp, "period", None),
    (WarmUp, "period", 1e-7),
    (WarmUp, "period", float("nan")),
]


@pytest.mark.parametrize(("kind", "word", "value"), ODD, ids=str)
def test_an_odd_value_is_refused_by_name(kind: type[Limit], word: str, value: Any) -> None:
    with pytest.raises((TypeError, LimitError), match=f"^{kind.__name__}: .*{word}"):
        kind("5/s", **{word: value})


@pytest.mark.parametrize("kind", [FixedWindow, SlidingWindow, SlidingLog, WarmUp])
def test_a_window_has_no_burst(kind: type[Limit]) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'burst'"):
        kind("5/s", burst=9)


@every
def test_a_limit_of_nothing_refuses_everything(kind: type[Limit], clock: ManualClock) -> None:
    decision = Limiter(kind("0/s"), clock=clock).take()

    assert (decision.allowed, decision.reason, decision.remaining) == (False, "never", 0)


@pytest.mark.parametrize(
    "limit",
    [
        'TokenBucket("1/s", refill="interval")',
        'TokenBucket("1 per 10000day", refill="interval")',
        'TokenBucket("1/us")',
        'TokenBucket("1 per 10000day")',
        'GCRA("1 per 10000day")',
        'LeakyBucket("1 per 10000day")',
        'FixedWindow("1 per 36525day")',
        'SlidingWindow("1 per 36525day")',
        'SlidingLog("1 per 36525day")',
        'WarmUp("1/day", period=86400)',
        'WarmUp("1/s", period=0.001)',
    ],
)
def test_a_limit_at_the_end_of_the_range_lets_one_in_and_not_two(
    limit: str, clock: ManualClock
) -> None:
    limiter = Limiter(eval(limit, dict(NAMES)), clock=clock)

    assert [limiter.take().allowed for _ in range(2)] == [True, False]


def test_a_limit_is_not_made_without_an_algorithm() -> None:
    with pytest.raises(TypeError):
        Limit()
