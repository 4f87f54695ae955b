"""What is answered when a call goes wrong, and what is never caught."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headgate import Breaker, BreakerOpen, Limiter, ManualClock, guard
from tests.guard.test_guard import played


def failing(colour: str, problem: BaseException) -> Any:
    """A function of that colour which raises."""

    def work(a: int, b: int = 2, *, c: int = 3) -> str:
        raise problem

    async def awork(a: int, b: int = 2, *, c: int = 3) -> str:
        raise problem

    return work if colour == "def" else awork


@pytest.fixture(params=["def", "async def"])
def colour(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("value", [None, 0, "", [], {"a": 1}, False])
def test_a_value_is_the_answer(colour: str, value: object) -> None:
    assert played(guard(fallback=value)(failing(colour, ValueError())), 1) is value


def test_a_function_is_given_the_same_arguments(colour: str) -> None:
    def cached(a: int, b: int = 20, *, c: int = 30) -> tuple[int, int, int]:
        return a, b, c

    guarded = guard(fallback=cached)(failing(colour, ValueError()))

    assert played(guarded, 1) == (1, 20, 30)
    assert played(guarded, 1, b=5, c=6) == (1, 5, 6)


def test_a_function_may_have_other_names_for_them(colour: str) -> None:
    def cached(first: int, second: int = 20, *, c: int = 30) -> tuple[int, int, int]:
        return first, second, c

    guarded = guard(fallback=cached)(failing(colour, ValueError()))

    assert played(guarded, a=1, b=5) == (1, 5, 30)


@pytest.mark.parametrize("where", ["last", "keyword"])
def test_a_function_with_a_parameter_for_the_problem_is_told_it(colour: str, where: str) -> None:
    problem = ValueError("what went wrong")

    def last(a: int, b: int = 2, problem: Exception | None = None, *, c: int = 3) -> object:
        return problem

    def keyword(*args: int, problem: Exception, **words: int) -> object:
        return problem

    guarded = guard(fallback=last if where == "last" else keyword)(failing(colour, problem))

    assert played(guarded, 1) is problem
    assert played(guarded, 1, 2, c=4) is problem


def test_a_parameter_of_the_function_itself_is_not_the_problem(colour: str) -> None:
    def ask(problem: str) -> str:
        raise ValueError

    async def aask(problem: str) -> str:
        raise ValueError

    guarded = guard(fallback=lambda problem: problem)(ask if colour == "def" else aask)

    assert played(guarded, "its own") == "its own"


def test_the_fallback_of_an_async_def_may_be_one_too() -> None:
    async def cached(a: int, b: int = 2, *, c: int = 3, problem: Exception) -> str:
        await asyncio.sleep(0)
        return f"{a} {problem}"

    guarded = guard(fallback=cached)(failing("async def", ValueError("x")))

    assert played(guarded, 1) == "1 x"


def test_what_the_fallback_raises_passes_with_the_problem_as_its_context(colour: str) -> None:
    problem = ValueError("first")

    def cached(*args: int, **words: int) -> None:
        raise KeyError("second")

    with pytest.raises(KeyError) as caught:
        played(guard(fallback=cached)(failing(colour, problem)), 1)

    assert caught.value.__context__ is problem


@pytest.mark.parametrize(
    ("kinds", "problem", "caught"),
    [
        (ValueError, ValueError(), True),
        (ValueError, UnicodeError(), True),
        (ValueError, KeyError(), False),
        ((KeyError, ValueError), KeyError(), True),
        ((), ValueError(), False),
        (Exception, TimeoutError(), True),
        (Exception, BreakerOpen(), True),
    ],
)
def test_only_exceptions_of_fallback_on_are_caught(
    colour: str, kinds: Any, problem: Exception, caught: bool
) -> None:
    guarded = guard(fallback="instead", fallback_on=kinds)(failing(colour, problem))

    if caught:
        assert played(guarded, 1) == "instead"
    else:
        with pytest.raises(type(problem)):
            played(guarded, 1)


@pytest.mark.parametrize("problem", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_no_exception_is_never_caught(colour: str, problem: type[BaseException]) -> None:
    with pytest.raises(problem):
        played(guard(fallback="instead")(failing(colour, problem())), 1)


def test_the_fallback_answers_while_the_breaker_counts(colour: str, clock: ManualClock) -> None:
    breaker = Breaker(calls=3, clock=clock)
    guarded = guard(breaker=breaker, fallback="instead")(failing(colour, ValueError()))

    assert [played(guarded, 1) for _ in range(5)] == ["instead"] * 5
    assert (breaker.state(), breaker.totals().failure, breaker.totals().rejected) == ("open", 3, 2)


def test_the_fallback_spends_nothing_itself(clock: ManualClock) -> None:
    limiter = Limiter("9/h", clock=clock)
    guarded = guard(limiter=limiter, fallback=lambda a, b=2, *, c=3: limiter.peek().remaining)(
        failing("def", ValueError())
    )

    assert [guarded(1), guarded(1)] == [8, 7]
