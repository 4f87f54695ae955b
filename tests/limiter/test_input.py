"""Input that is wrong is named; input that is merely unusual works."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from math import inf, nan
from typing import Any

import pytest

from headgate import (
    AsyncLimiter,
    CannotFit,
    Decision,
    Limiter,
    LimitError,
    LimitExceeded,
    ManualClock,
    RateError,
)

Make = Callable[..., Any]

VERBS = ("take", "peek", "debit", "refund", "reserve", "acquire")

BAD_COSTS = [
    (-1, ValueError, "cost is 0 or more, not -1; use refund to give back"),
    (-(10**30), ValueError, f"cost is 0 or more, not {-(10**30)}; use refund to give back"),
    (nan, TypeError, "cost is a whole number, not nan"),
    (inf, TypeError, "cost is a whole number, not inf"),
    (0.5, TypeError, "cost is a whole number, not 0.5"),
    (1.0, TypeError, "cost is a whole number, not 1.0"),
    (True, TypeError, "cost is a whole number, not True"),
    (False, TypeError, "cost is a whole number, not False"),
    ("1", TypeError, "cost is a whole number, not '1'"),
    (None, TypeError, "cost is a whole number, not None"),
]


class Weight(IntEnum):
    """A whole number with a name."""

    HEAVY = 7


class Number:
    """A whole number of another library's making."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


class Name(str):
    """A str that does not hash or compare as one."""

    __slots__ = ()

    def __hash__(self) -> int:
        return 7

    def __eq__(self, other: object) -> bool:
        return False


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("cost", "kind", "message"), BAD_COSTS)
def test_a_wrong_cost_is_named(
    make: Make, verb: str, cost: object, kind: type[Exception], message: str
) -> None:
    limiter = make("10/s")

    with pytest.raises(kind) as caught:
        getattr(limiter, verb)("a", cost)

    assert (type(caught.value), str(caught.value)) == (kind, message)
    assert limiter.peek("a").remaining == 10


@pytest.mark.parametrize("verb", [*VERBS, "reset"])
@pytest.mark.parametrize("key", [5, None, b"a", ("a",)])
def test_a_key_that_is_no_str_is_named(make: Make, verb: str, key: object) -> None:
    with pytest.raises(TypeError) as caught:
        getattr(make("10/s"), verb)(key)

    assert str(caught.value) == f"a key is a str, not {key!r}"


def test_take_many_names_the_key_that_is_no_str(make: Make) -> None:
    with pytest.raises(TypeError) as caught:
        make("10/s").take_many(["a", 5])

    assert str(caught.value) == "a key is a str, not 5"


def test_wrong_input_is_named_where_nothing_is_limited(make: Make) -> None:
    with pytest.raises(ValueError) as caught:
        make("unlimited").take("a", -1)

    assert str(caught.value) == "cost is 0 or more, not -1; use refund to give back"


@pytest.mark.parametrize("cost", [11, 2**31, 2**53, 2**60, 2**63, 2**64, 10**30])
def test_a_cost_above_the_capacity_is_refused_for_ever_and_spends_nothing(
    make: Make, cost: int
) -> None:
    limiter = make("10/s")
    limiter.take("a", 4)

    assert limiter.take("a", cost) == Decision(False, 10, 6, inf, 0.4, "10/s")
    assert limiter.take("a", 6)


@pytest.mark.parametrize("verb", ["debit", "refund"])
def test_a_charge_beyond_exact_arithmetic_is_refused_with_its_size(make: Make, verb: str) -> None:
    limiter = make("10/s")

    with pytest.raises(LimitError) as caught:
        getattr(limiter, verb)("a", 10**30)

    assert str(caught.value) == (
        f'cost is at most 11,258,999,068 at once under Limiter(TokenBucket("10/s")), not {10**30:,}'
    )
    assert limiter.peek("a").remaining == 10


@pytest.mark.parametrize("cost", [Weight.HEAVY, Number(7)])
@pytest.mark.parametrize("verb", ["take", "debit", "reserve", "acquire"])
def test_whole_numbers_of_other_kinds_are_costs(make: Make, verb: str, cost: Any) -> None:
    limiter = make("10/s")

    getattr(limiter, verb)("a", cost)

    assert limiter.peek("a").remaining == 3


def test_a_reservation_of_another_kind_of_number_is_given_back_whole(make: Make) -> None:
    limiter = make("10/s")

    limiter.reserve("a", Number(7)).cancel()

    assert limiter.peek("a").remaining == 10


@pytest.mark.parametrize("verb", ["take", "debit", "reserve", "acquire"])
def test_a_key_of_a_class_of_its_own_is_the_str_it_spells(make: Make, verb: str) -> None:
    limiter = make("10/s")

    getattr(limiter, verb)(Name("a"), 3)

    assert [limiter.peek(key).remaining for key in ("a", Name("a"), "b")] == [7, 7, 10]


@pytest.mark.parametrize(
    "key", ["", "\0", "a\r\nb", "{x}", "\ud800", "\u202e", "é", "e\u0301", "k" * 1_000_000]
)
def test_hostile_keys_are_keys_like_any_other(make: Make, key: str) -> None:
    limiter = make("1/s")

    assert [bool(limiter.take(key)), bool(limiter.take(key)), bool(limiter.take("other"))] == [
        True, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [Limiter, AsyncLimiter])
def test_a_limiter_without_limits_is_refused(kind: Make) -> None:
    with pytest.raises(TypeError) as caught:
        kind()

    assert str(caught.value) == ('Limiter needs at least one limit, for example Limiter("100/min")')


@pytest.mark.parametrize("limit", [5, None, 1.5, ("10/s",)])
def test_a_limit_of_another_kind_is_named(limit: object) -> None:
    with pytest.raises(TypeError) as caught:
        Limiter(limit)  # type: ignore[arg-type]

    assert str(caught.value) == (
        f'a limit is a rate such as "100/min" or a limit object, not {limit!r}'
    )


def test_a_misspelled_rate_is_explained() -> None:
    with pytest.raises(RateError) as caught:
        Limiter("20/sex")

    assert str(caught.value) == (
        'rate "20/sex": unknown unit "sex" at column 4; try s, min, h or day'
    )


def test_a_limiter_has_no_more_than_eight_limits() -> None:
    with pytest.raises(ValueError) as caught:
        Limiter(*["1/s"] * 9)

    assert str(caught.value) == "a limiter has from 1 to 8 limits, not 9"


def test_an_unknown_store_is_named_with_what_would_do() -> None:
    with pytest.raises(ValueError) as caught:
        Limiter("1/s", store="ftp://x")

    assert str(caught.value) == (
        "store 'ftp://x': unknown; try memory://, shared://name, redis://host, "
        "redis+cluster://host, redis+sentinel://host/name, headgate://host, or leased+ before one "
        "of these"
    )


@pytest.mark.parametrize("store", [5, None, object()])
def test_a_store_that_is_none_is_named(store: Any) -> None:
    with pytest.raises(TypeError) as caught:
        Limiter("1/s", store=store)

    assert str(caught.value) == f'a store is a URL such as "memory://" or a store, not {store!r}'


@pytest.mark.parametrize("verb", ["reserve", "acquire"])
@pytest.mark.parametrize("timeout", [-1, -0.001, -inf, nan])
def test_a_wrong_timeout_is_named(make: Make, verb: str, timeout: float) -> None:
    with pytest.raises(ValueError) as caught:
        getattr(make("1/s"), verb)("a", timeout=timeout)

    assert str(caught.value) == f"timeout is 0 or more seconds, not {timeout!r}"


@pytest.mark.parametrize("verb", ["reserve", "acquire"])
@pytest.mark.parametrize("timeout", ["1", None, [1]])
def test_a_timeout_that_is_no_number_is_named(make: Make, verb: str, timeout: Any) -> None:
    with pytest.raises(TypeError) as caught:
        getattr(make("1/s"), verb)("a", timeout=timeout)

    assert str(caught.value) == f"timeout is a number of seconds, not {timeout!r}"


@pytest.mark.parametrize("deadline", ["1", None, [1]])
def test_a_deadline_that_is_no_number_is_named(make: Make, deadline: Any) -> None:
    with pytest.raises(TypeError) as caught:
        make("1/s").acquire("a", deadline=deadline)

    assert str(caught.value) == f"deadline is a moment in seconds, not {deadline!r}"


def test_a_deadline_that_is_not_a_number_is_named(make: Make) -> None:
    with pytest.raises(ValueError) as caught:
        make("1/s").acquire("a", deadline=nan)

    assert str(caught.value) == "deadline is a moment in seconds, not nan"


@pytest.mark.parametrize("timeout", [10**9, 1e18, 1e300, 1e308, 10**400, inf])
def test_a_timeout_may_be_as_long_as_one_likes(make: Make, timeout: float) -> None:
    limiter = make("1/s")
    limiter.take("a")

    assert limiter.acquire("a", timeout=timeout).waited == 1.0


@pytest.mark.parametrize("deadline", [0.0, -1.0, -1e18, -1e300, -1e308, -inf])
def test_a_deadline_long_past_is_refused_even_where_there_is_room(
    make: Make, clock: ManualClock, deadline: float
) -> None:
    clock.set(5.0)
    limiter = make("1/s")

    with pytest.raises(LimitExceeded) as caught:
        limiter.acquire("a", deadline=deadline)

    assert caught.value.decision == Decision(False, 1, 1, 0.0, 0.0, "1/s")
    assert not isinstance(caught.value, CannotFit)


def test_a_way_to_carry_that_does_not_exist_is_named(make: Make) -> None:
    with pytest.raises(ValueError) as caught:
        make("1/s").change("2/s", carry="half")

    assert str(caught.value) == 'carry is "scale", "keep" or "reset", not \'half\''
