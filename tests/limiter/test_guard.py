"""guard puts a limiter before a function and leaves the function what it was."""

from __future__ import annotations

import asyncio
import functools
import inspect
from dataclasses import dataclass
from typing import Any

import pytest

from headgate import AsyncLimiter, CannotFit, Limiter, LimitExceeded, ManualClock


@dataclass
class User:
    """Somebody with an id."""

    id: int
    tags: dict[str, str]


@pytest.fixture
def limiter(clock: ManualClock) -> Limiter:
    return Limiter("1/s", clock=clock)


def test_a_guarded_function_does_its_work(limiter: Limiter) -> None:
    @limiter.guard()
    def add(a: int, b: int = 2) -> int:
        return a + b

    assert add(1) == 3


def test_a_call_that_does_not_fit_is_refused_at_once(limiter: Limiter, clock: ManualClock) -> None:
    @limiter.guard()
    def work() -> None:
        pass

    work()

    with pytest.raises(LimitExceeded) as caught:
        work()

    assert str(caught.value) == "over the limit 1/s; try again in 1.000 s"
    assert clock.now() == 0


def test_a_refused_call_does_not_reach_the_function(limiter: Limiter) -> None:
    calls: list[int] = []
    guarded = limiter.guard()(calls.append)
    guarded(1)
    with pytest.raises(LimitExceeded):
        guarded(2)

    assert calls == [1]


def test_with_a_timeout_a_call_waits(limiter: Limiter, clock: ManualClock) -> None:
    @limiter.guard(timeout=1.0)
    def work() -> int:
        return clock.now()

    assert [work(), work(), work()] == [0, 1_000_000, 2_000_000]


def test_a_call_costs_what_the_guard_says(clock: ManualClock) -> None:
    limiter = Limiter("10/s", clock=clock)
    limiter.guard("k", cost=4)(len)("abc")

    assert limiter.peek("k").remaining == 6


def test_a_cost_that_can_never_fit_is_said_at_the_call(limiter: Limiter) -> None:
    with pytest.raises(CannotFit):
        limiter.guard(cost=2, timeout=10)(len)("abc")


def plain(user_id: int, text: str = "hello", *more: str, user: User | None = None) -> str:
    """Say it."""
    return f"{user_id} {text} {more} {user}"


@pytest.mark.parametrize(
    ("template", "args", "kwargs", "key"),
    [
        ("user:{user_id}", (42,), {}, "user:42"),
        ("user:{user_id}", (), {"user_id": 42}, "user:42"),
        ("{user_id}/{text}", (42,), {}, "42/hello"),
        ("{user_id}/{text}", (42, "bye"), {}, "42/bye"),
        ("{user_id}/{text}", (42,), {"text": "bye"}, "42/bye"),
        ("{more[0]}", (1, "a", "b"), {}, "b"),
        ("{user.id}", (1,), {"user": User(7, {})}, "7"),
        ("{user.tags[plan]}", (1,), {"user": User(7, {"plan": "vip"})}, "vip"),
        ("{user_id:04}{text!r}", (42,), {}, "0042'hello'"),
        ("{{user_id}}", (42,), {}, "{user_id}"),
        ("everybody", (42,), {}, "everybody"),
        ("", (42,), {}, ""),
    ],
)
def test_a_template_spells_the_key_from_the_arguments(
    limiter: Limiter, template: str, args: Any, kwargs: Any, key: str
) -> None:
    seen: list[str] = []
    limiter.listen(lambda key, decision: seen.append(key))
    args = args if "more" not in template else (1, "x", "b")

    limiter.guard(template)(plain)(*args, **kwargs)

    assert seen == [key]


def test_a_function_of_the_arguments_spells_the_key(limiter: Limiter) -> None:
    seen: list[str] = []
    limiter.listen(lambda key, decision: seen.append(key))

    limiter.guard(lambda user_id, *rest, **named: f"<{user_id}>")(plain)(42, "x")

    assert seen == ["<42>"]


def test_keys_of_different_arguments_do_not_know_each_other(limiter: Limiter) -> None:
    guarded = limiter.guard("{user_id}")(plain)
    guarded(1)
    guarded(2)

    with pytest.raises(LimitExceeded):
        guarded(1)


def test_an_unknown_name_is_an_error_where_the_function_is_decorated(limiter: Limiter) -> None:
    with pytest.raises(ValueError) as caught:
        limiter.guard("user:{userid}")(plain)

    assert str(caught.value) == (
        "guard 'user:{userid}': plain has no argument 'userid'; it has user_id, text, more, user"
    )


def test_a_function_without_arguments_says_that_it_has_none(limiter: Limiter) -> None:
    def work() -> None:
        pass

    with pytest.raises(ValueError) as caught:
        limiter.guard("{user.id}")(work)

    assert str(caught.value) == (
        "guard '{user.id}': test_a_function_without_arguments_says_that_it_has_none.<locals>.work "
        "has no argument 'user'; it has none"
    )


def test_an_unknown_name_is_found_where_the_function_has_no_name_of_its_own(
    limiter: Limiter,
) -> None:
    with pytest.raises(ValueError, match=r"has no argument 'x'; it has text, more, user$"):
        limiter.guard("{x}")(functools.partial(plain, 1))


def test_arguments_the_function_would_refuse_are_refused_and_cost_nothing(
    limiter: Limiter,
) -> None:
    guarded: Any = limiter.guard("{user_id}")(plain)

    with pytest.raises(TypeError, match="missing a required argument: 'user_id'"):
        guarded()

    assert limiter.peek("").remaining == 1


def test_a_guarded_function_keeps_its_name_its_docstring_and_its_signature(
    limiter: Limiter,
) -> None:
    guarded = limiter.guard("{user_id}")(plain)

    assert (guarded.__name__, guarded.__doc__) == ("plain", "Say it.")
    assert inspect.signature(guarded) == inspect.signature(plain)
    assert not inspect.iscoroutinefunction(guarded)


@pytest.mark.parametrize("kind", [Limiter, AsyncLimiter])
def test_a_guarded_coroutine_function_is_still_one(kind: Any, clock: ManualClock) -> None:
    async def work(user_id: int) -> int:
        """Work."""
        return user_id

    guarded = kind("1/s", clock=clock).guard("{user_id}")(work)

    assert inspect.iscoroutinefunction(guarded)
    assert inspect.signature(guarded) == inspect.signature(work)
    assert (guarded.__name__, guarded.__doc__) == ("work", "Work.")


@pytest.mark.parametrize("kind", [Limiter, AsyncLimiter])
def test_a_guarded_coroutine_waits_for_its_turn(kind: Any, clock: ManualClock) -> None:
    @kind("1/s", clock=clock).guard("{name}", timeout=10)
    async def work(name: str) -> tuple[str, int]:
        return name, clock.now()

    async def main() -> list[tuple[str, int]]:
        return await asyncio.gather(*map(work, ["a", "b", "a", "b", "a"]))

    assert sorted(asyncio.run(main())) == [
        ("a", 0), ("a", 1_000_000), ("a", 2_000_000), ("b", 0), ("b", 1_000_000),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [Limiter, AsyncLimiter])
def test_a_guarded_coroutine_is_refused_when_awaited_not_when_called(
    kind: Any, clock: ManualClock
) -> None:
    @kind("1/s", clock=clock).guard()
    async def work() -> None:
        pass

    async def main() -> None:
        first, second = work(), work()
        await first
        await second

    with pytest.raises(LimitExceeded):
        asyncio.run(main())


def test_methods_are_guarded_for_each_object(clock: ManualClock) -> None:
    limiter = Limiter("1/s", clock=clock)

    class Account:
        def __init__(self, name: str) -> None:
            self.name = name

        @limiter.guard("{self.name}")
        def pay(self, amount: int) -> str:
            return f"{self.name} {amount}"

    ann, bob = Account("ann"), Account("bob")

    assert [ann.pay(1), bob.pay(2)] == ["ann 1", "bob 2"]
    with pytest.raises(LimitExceeded):
        ann.pay(3)


def test_what_the_body_raises_passes_and_the_call_stays_paid(limiter: Limiter) -> None:
    @limiter.guard("k")
    def fail() -> None:
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        fail()

    assert limiter.peek("k").remaining == 0


def test_what_the_body_of_a_coroutine_raises_passes(clock: ManualClock) -> None:
    @AsyncLimiter("1/s", clock=clock).guard("k")
    async def fail() -> None:
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        asyncio.run(fail())


def test_guards_of_several_limiters_stack(clock: ManualClock) -> None:
    slow, fast = Limiter("1/s", clock=clock), Limiter("2/s", clock=clock)

    @slow.guard("k")
    @fast.guard("{word}")
    def work(word: str) -> str:
        return word

    assert work("a") == "a"
    assert [slow.peek("k").remaining, fast.peek("a").remaining] == [0, 1]
