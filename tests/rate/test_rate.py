"""A rate is spelled in one way, printed as it would be typed, and wrong spellings are explained."""

import copy
import pickle
from dataclasses import FrozenInstanceError
from math import gcd, inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.decision import Decision
from headgate.errors import (
    CannotFit,
    HeadgateError,
    LimitError,
    LimitExceeded,
    MissingExtra,
    RateError,
    StoreUnavailable,
)
from headgate.rate import CENTURY, DAY, MOST, SIZES, UNITS, Rate

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

# spelling, count, period, burst, as printed
GOOD = [
    ("100/min", 100, MINUTE, 100, "100/min"),
    ("10/s burst 50", 10, SECOND, 50, "10/s burst 50"),
    ("10/s burst 10", 10, SECOND, 10, "10/s"),
    ("100/s burst 1", 100, SECOND, 1, "100/s burst 1"),
    ("5 per 90s", 5, 90 * SECOND, 5, "5 per 90s"),
    ("5/90s", 5, 90 * SECOND, 5, "5 per 90s"),
    ("5 per s", 5, SECOND, 5, "5/s"),
    ("5 per minute", 5, MINUTE, 5, "5/min"),
    ("5/60s", 5, MINUTE, 5, "5/min"),
    ("5/120s", 5, 2 * MINUTE, 5, "5 per 2min"),
    ("5/7days", 5, 7 * DAY, 5, "5/week"),
    ("1000000/day", 1_000_000, DAY, 1_000_000, "1000000/day"),
    ("1_000_000/day", 1_000_000, DAY, 1_000_000, "1000000/day"),
    ("3/500ms", 3, 500_000, 3, "3 per 500ms"),
    ("10/250us", 10, 250, 10, "10 per 250us"),
    ("1/us", 1, 1, 1, "1/us"),
    ("100 per 1.5h", 100, 90 * MINUTE, 100, "100 per 90min"),
    ("100/0.0000010s", 100, 1, 100, "100/us"),
    ("1/36525day", 1, CENTURY, 1, "1 per 36525day"),
    ("1125899906842624/s", MOST, SECOND, MOST, "1125899906842624/s"),
    ("007/s", 7, SECOND, 7, "7/s"),
    ("2.0/s", 2, SECOND, 2, "2/s"),
    ("0/s", 0, SECOND, 0, "0/s"),
    ("0/s burst 0", 0, SECOND, 0, "0/s"),
    ("  10 / s\tburst\n50 ", 10, SECOND, 50, "10/s burst 50"),
    ("5per90s", 5, 90 * SECOND, 5, "5 per 90s"),
    ("10/2 hours", 10, 2 * HOUR, 10, "10 per 2h"),
    ("100B/s", 100, SECOND, 100, "100B/s"),
    ("100KB/s", 100_000, SECOND, 100_000, "100KB/s"),
    ("100 KB / s", 100_000, SECOND, 100_000, "100KB/s"),
    ("5MiB/s", 5 * 1024**2, SECOND, 5 * 1024**2, "5MiB/s"),
    ("1.5MB/s", 1_500_000, SECOND, 1_500_000, "1500KB/s"),
    ("1GiB per 2h", 1024**3, 2 * HOUR, 1024**3, "1GiB per 2h"),
    ("100KB/s burst 1MB", 100_000, SECOND, 1_000_000, "100KB/s burst 1MB"),
    ("100KB/s burst 500000", 100_000, SECOND, 500_000, "100KB/s burst 500KB"),
    ("100/s burst 1MB", 100, SECOND, 1_000_000, "100B/s burst 1MB"),
    ("0KB/s", 0, SECOND, 0, "0B/s"),
    ("unlimited", MOST, 1, MOST, "unlimited"),
]


@pytest.mark.parametrize(("spelling", "count", "period", "burst", "printed"), GOOD)
def test_a_spelling_means_its_numbers(
    spelling: str, count: int, period: int, burst: int, printed: str
) -> None:
    rate = Rate(spelling)
    assert (rate.count, rate.period, rate.burst, str(rate)) == (count, period, burst, printed)


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_is_read_alone_and_counted(unit: str) -> None:
    assert 3 * Rate(f"1/{unit}").period == Rate(f"1 per 3 {unit}").period == 3 * UNITS[unit]


@pytest.mark.parametrize("size", SIZES)
def test_every_size_prints_as_it_was_typed(size: str) -> None:
    assert str(Rate(f"7{size}/s burst 9{size}")) == f"7{size}/s burst 9{size}"


def bad_rates() -> list[tuple[str, str]]:
    table = (Path(__file__).parent / "bad_rates.txt").read_text("ascii").splitlines()
    rows = [line.split("|", 1) for line in table[1:] if line]
    return [(spelling.strip(), said.strip()) for spelling, said in rows]


@pytest.mark.parametrize(("spelling", "said"), bad_rates())
def test_a_misspelling_is_explained(spelling: str, said: str) -> None:
    with pytest.raises(RateError) as caught:
        Rate(spelling.encode("ascii").decode("unicode_escape"))
    assert str(caught.value) == f'rate "{spelling}": {said}'


def test_a_long_text_is_refused_unread_and_shown_in_part() -> None:
    with pytest.raises(RateError) as caught:
        Rate("1" * 101)
    assert str(caught.value) == (
        f'rate "{"1" * 40}...": 101 characters, too many at column 101; a rate has at most 100'
    )


def test_an_error_knows_the_text_the_place_and_the_way_out() -> None:
    with pytest.raises(RateError) as caught:
        Rate("20/sex")
    error = caught.value
    assert (error.text, error.place) == ("20/sex", 3)
    assert (error.problem, error.hint) == ('unknown unit "sex"', "try s, min, h or day")


@pytest.mark.parametrize("value", [10, 1.5, None, b"10/s", ["10/s"]])
def test_a_rate_is_spelled_in_a_str(value: object) -> None:
    with pytest.raises(TypeError) as caught:
        Rate(value)  # type: ignore[arg-type]
    assert str(caught.value) == f'a rate is a str such as "100/min", not {value!r}'


def test_numbers_make_the_same_rate() -> None:
    made = [Rate.of(5, 90 * SECOND), Rate.of(10, SECOND, 50), Rate.of(0, SECOND)]
    assert made == [Rate("5 per 90s"), Rate("10/s burst 50"), Rate("0/s")]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (
            (-1, SECOND),
            'rate "-1 per 1000000us burst -1": expected a count but found "-1" at column 1; '
            "try 100/min or unlimited",
        ),
        (
            (1, 0),
            'rate "1 per 0us burst 1": period "0us" is out of range at column 7; '
            "a period is 1us to 36525day",
        ),
        (
            (1, SECOND, 0),
            'rate "1 per 1000000us burst 0": a burst of 0 lets nothing in at column 23; '
            "try 1 or more, or 0/s",
        ),
    ],
)
def test_impossible_numbers_are_refused_as_if_spelled(
    numbers: tuple[int, ...], message: str
) -> None:
    with pytest.raises(RateError) as caught:
        Rate.of(*numbers)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((1.5, SECOND, 2), "the count of a rate is an int, not 1.5"),
        ((1, 1e6), "the period_us of a rate is an int, not 1000000.0"),
        ((1, SECOND, True), "the burst of a rate is an int, not True"),
    ],
)
def test_numbers_are_whole(numbers: tuple[int, ...], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        Rate.of(*numbers)
    assert str(caught.value) == message


def test_rates_that_allow_the_same_are_equal() -> None:
    assert len({Rate("100KB/s"), Rate("100_000/s"), Rate("100KB per 1000ms")}) == 1


@pytest.mark.parametrize("other", ["2/s", "1/min", "1/s burst 2", "60/min", "unlimited"])
def test_rates_that_differ_are_unequal(other: str) -> None:
    assert Rate("1/s") != Rate(other)


def test_the_largest_rate_is_still_a_limit() -> None:
    assert Rate.of(MOST, 1) != Rate("unlimited")


@pytest.mark.parametrize("name", ["count", "period", "burst", "unlimited", "in_bytes", "other"])
def test_a_rate_cannot_be_changed(name: str) -> None:
    with pytest.raises((FrozenInstanceError, TypeError)):
        setattr(Rate("1/s"), name, 2)


def test_the_period_is_also_told_in_seconds() -> None:
    assert Rate("3/500ms").seconds == 0.5


@pytest.mark.parametrize(
    ("spelling", "reduced"),
    [("1000000/day", (1, 86_400)), ("3/s", (3, SECOND)), ("0/day", (0, 1)), ("10/2us", (5, 1))],
)
def test_a_rate_reduces_to_lowest_terms(spelling: str, reduced: tuple[int, int]) -> None:
    assert Rate(spelling).reduced == reduced


@st.composite
def rates(draw: st.DrawFn) -> Rate:
    count = draw(st.integers(0, MOST))
    period = draw(st.integers(1, CENTURY) | st.sampled_from(sorted(UNITS.values())))
    burst = draw(st.integers(1, MOST)) if count else 0
    size = draw(st.sampled_from(["", "B"]))
    return Rate(f"{count}{size} per {period}us burst {burst}{size}")


@given(rates())
def test_any_rate_prints_as_it_would_be_typed(rate: Rate) -> None:
    again = eval(repr(rate))
    assert (again, repr(again), again.in_bytes) == (rate, repr(rate), rate.in_bytes)


@given(rates())
def test_any_rate_survives_pickling_and_copying(rate: Rate) -> None:
    copies = {pickle.loads(pickle.dumps(rate)), copy.copy(rate), copy.deepcopy(rate)}
    assert copies == {rate}


@given(rates())
def test_reducing_keeps_the_rate(rate: Rate) -> None:
    gain, scale = rate.reduced
    assert gcd(gain, scale) == 1
    assert gain * rate.period == rate.count * scale


@given(st.text(max_size=120) | st.text("0159_., /burstpehmKMGiBunl", max_size=40))
def test_any_text_is_a_rate_or_a_rate_error(text: str) -> None:
    try:
        outcome: Rate | RateError = Rate(text)
    except RateError as error:
        outcome = error
    if isinstance(outcome, Rate):
        assert Rate(str(outcome)) == outcome
    else:
        assert (outcome.text, str(outcome).isprintable()) == (text, True)
        assert 0 <= outcome.place <= len(text)


LATER = Decision(False, limit=40, retry_after=0.35, rule="20/s burst 40")
NEVER = Decision(False, limit=40, retry_after=inf, rule="20/s burst 40")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (LimitExceeded(LATER, key="k"), "over the limit 20/s burst 40; try again in 0.350 s"),
        (
            LimitExceeded(Decision(False, limit=5, retry_after=61.000001)),
            "over the limit of 5; try again in 61.001 s",
        ),
        (LimitExceeded(NEVER), "over the limit 20/s burst 40; waiting will not help"),
        (CannotFit(NEVER), "can never fit the limit 20/s burst 40; ask for at most 40"),
        (
            CannotFit(Decision(False, limit=0, retry_after=inf, rule="0/s")),
            "can never fit the limit 0/s; it lets nothing in",
        ),
        (
            MissingExtra("redis"),
            'the extra "redis" is not installed; try pip install "headgate[redis]"',
        ),
        (RateError("1/x", 2, "no", "try s"), 'rate "1/x": no at column 3; try s'),
        (LimitError("too large"), "too large"),
        (StoreUnavailable("no answer"), "no answer"),
    ],
)
def test_an_error_says_the_same_after_pickling_and_copying(
    error: HeadgateError, message: str
) -> None:
    again = [pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)]
    assert {str(each) for each in [error, *again]} == {message}
    assert all(type(each) is type(error) and vars(each) == vars(error) for each in again)


def test_a_denial_carries_its_decision_and_hides_its_key() -> None:
    error = LimitExceeded(LATER, key="alice@example.org")
    assert (error.decision, error.retry_after, error.key) == (LATER, 0.35, "alice@example.org")
    assert "alice" not in f"{error} {error!r}"


@pytest.mark.parametrize(
    ("kind", "parent"),
    [
        (CannotFit, LimitExceeded),
        (RateError, ValueError),
        (LimitError, ValueError),
        (MissingExtra, ImportError),
    ],
)
def test_an_error_is_also_what_python_would_raise(
    kind: type[HeadgateError], parent: type[Exception]
) -> None:
    assert issubclass(kind, HeadgateError)
    assert issubclass(kind, parent)
