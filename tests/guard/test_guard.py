"""guard: one line, built once; what it refuses, what falls back, and what a breaker hears."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

import pytest

from headgate import (
    AsyncLimiter,
    Breaker,
    BreakerOpen,
    Bulkhead,
    BulkheadFull,
    Limiter,
    LimitExceeded,
    ManualClock,
    Pool,
    guard,
)
from headgate.adaptive.gauge import DROPPED, IGNORE, SUCCESS
from tests.servers.waiting import until


def fetch(user_id: int, text: str = "hello", *, loud: bool = False) -> str:
    """Fetch it."""
    return f"{user_id} {text} {loud}"


async def afetch(user_id: int, text: str = "hello", *, loud: bool = False) -> str:
    """Fetch it."""
    return fetch(user_id, text, loud=loud)


def everything(clock: ManualClock) -> dict[str, Any]:
    return {
        "limiter": Limiter("3/h", clock=clock),
        "bulkhead": Bulkhead(1, clock=clock),
        "breaker": Breaker(clock=clock),
        "key": "user:{user_id}",
        "patience": 1.0,
    }


@pytest.mark.parametrize("function", [fetch, afetch])
@pytest.mark.parametrize(
    "without", [(), ("breaker",), ("limiter", "bulkhead"), ("limiter", "bulkhead", "breaker")]
)
def test_a_guarded_function_stays_what_it_was(
    clock: ManualClock, function: Any, without: tuple[str, ...]
) -> None:
    given = {word: layer for word, layer in everything(clock).items() if word not in without}

    guarded = guard(**given, fallback="none")(function)

    assert (guarded.__name__, guarded.__doc__) == (function.__name__, "Fetch it.")
    assert inspect.signature(guarded) == inspect.signature(function)
    assert inspect.iscoroutinefunction(guarded) == inspect.iscoroutinefunction(function)
    assert played(guarded, 7, "bye", loud=True) == "7 bye True"


@pytest.mark.parametrize("function", [fetch, afetch])
def test_what_was_spent_stays_spent_from_call_to_call(clock: ManualClock, function: Any) -> None:
    # R199: a guard that built its limiter at each call would never refuse.
    guarded = guard(**everything(clock))(function)
    for _ in range(3):
        played(guarded, 1)

    with pytest.raises(LimitExceeded):
        played(guarded, 1)
    assert played(guarded, 2) == "2 hello False"


def test_nothing_is_built_at_a_call(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    guarded = guard(**everything(clock), fallback="none")(fetch)

    def built(*args: object, **kwargs: object) -> None:
        raise AssertionError("built at a call")

    for name in ("Limiter", "AsyncLimiter", "Bulkhead", "Breaker", "Pool"):
        monkeypatch.setattr(f"headgate.guards.guard.{name}", built)

    assert [guarded(1), guarded(1), guarded(1), guarded(1)] == ["1 hello False"] * 3 + ["none"]


def test_one_guard_may_be_around_many_functions_which_share_what_it_remembers(
    clock: ManualClock,
) -> None:
    shared = guard(limiter=Limiter("2/h", clock=clock))
    first, second = shared(fetch), shared(len)
    first(1)
    second("abc")

    for call in (lambda: first(1), lambda: second("abc")):
        with pytest.raises(LimitExceeded):
            call()


def test_guards_stack_and_give_each_layer_a_key_of_its_own(clock: ManualClock) -> None:
    limiter, breaker = Limiter("1/h", clock=clock), Breaker(clock=clock)

    @guard(breaker=breaker, key="host:{host}")
    @guard(limiter=limiter, key="user:{user}")
    def ask(user: str, host: str) -> str:
        return user

    assert [ask("ann", "a"), ask("bob", "a")] == ["ann", "bob"]
    with pytest.raises(LimitExceeded):
        ask("ann", "a")
    assert breaker.totals("host:a").success == 2
    assert breaker.totals("host:a").calls == 2


@pytest.mark.parametrize("word", ["key", "call", "args", "self", "function", "problem"])
def test_no_name_of_an_argument_is_in_the_way(clock: ManualClock, word: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def ask({word}): return {word}", namespace)
    given = everything(clock) | {"key": f"{{{word}}}", "fallback": "none"}

    assert guard(**given)(namespace["ask"])(**{word: 5}) == 5
    assert given["limiter"].peek("5").remaining == 2


@pytest.mark.parametrize("colour", ["def", "async def"])
def test_a_wait_is_patience_and_not_the_one_who_is_called_being_slow(
    clock: ManualClock, colour: str
) -> None:
    breaker = Breaker(slow_after=0.5, calls=100, clock=clock)
    took = 0.0

    def work() -> int:
        clock.advance(took)
        return clock.now()

    async def awork() -> int:
        return work()

    limiter = Limiter("1/s", clock=clock)
    around = guard(limiter=limiter, breaker=breaker, patience=1.0)
    guarded: Any = around(work) if colour == "def" else around(awork)

    assert [played(guarded) for _ in range(3)] == [0, 1_000_000, 2_000_000]
    assert breaker.totals().slow == 0

    took = 0.5
    played(guarded)
    assert breaker.totals() == (4, 0, 0, 0, 1)


@pytest.mark.parametrize("function", [fetch, afetch])
@pytest.mark.parametrize("patience", [0.0, 1.0])
def test_a_wrong_result_is_a_failure_for_the_breaker_and_the_answer_all_the_same(
    clock: ManualClock, function: Any, patience: float
) -> None:
    breaker = Breaker(wrong=lambda result: result.startswith("1"), clock=clock)
    guarded = guard(limiter=Limiter("9/h", clock=clock), breaker=breaker, patience=patience)(
        function
    )

    assert [played(guarded, 1), played(guarded, 2)] == ["1 hello False", "2 hello False"]
    assert breaker.totals() == (1, 1, 0, 0, 0)


def test_time_in_the_queue_of_a_pool_is_not_the_one_who_is_called_being_slow(
    clock: ManualClock,
) -> None:
    breaker = Breaker(slow_after=0.5, calls=100, clock=clock)
    release = threading.Event()
    with Pool(1, queue=1) as pool:
        pool.submit(release.wait, 60)
        guarded = guard(bulkhead=pool, breaker=breaker, timeout=60)(clock.now)
        caller = threading.Thread(target=guarded)
        caller.start()
        until(lambda: pool.inside() == 2, "the call to stand in the queue")
        clock.advance(10)
        release.set()
        caller.join(60)

    assert breaker.totals() == (1, 0, 0, 0, 0)


def test_a_call_that_never_left_the_queue_of_a_pool_counts_as_nothing(clock: ManualClock) -> None:
    breaker = Breaker(clock=clock)
    release = threading.Event()
    with Pool(1, queue=1) as pool:
        pool.submit(release.wait, 60)
        with pytest.raises(BulkheadFull):
            guard(bulkhead=pool, breaker=breaker, timeout=0.01)(fetch)(1)
        release.set()

    assert breaker.totals().total == 0


class Notes:
    """An adaptive limit that does not move, and writes down what came of calls."""

    def __init__(self) -> None:
        self.outcomes: list[int] = []

    def open(self) -> Notes:
        return self

    def limit(self, now: int, inside: int) -> int:
        return 10

    def refused(self, now: int) -> None:
        raise AssertionError

    def ended(self, now: int, took: int, inside: int, outcome: int) -> None:
        self.outcomes.append(outcome)


def test_a_late_call_is_dropped_for_the_bulkhead_and_a_failed_one_says_nothing() -> None:
    notes = Notes()

    @guard(bulkhead=Bulkhead(notes), timeout=0.01)
    async def work(end: str) -> None:
        if end == "late":
            await asyncio.get_running_loop().create_future()
        if end == "bad":
            raise ValueError

    for end in ("late", "bad"):
        with pytest.raises((TimeoutError, ValueError)):
            asyncio.run(work(end))
    slow = guard(bulkhead=Bulkhead(notes), timeout=60)(afetch)
    asyncio.run(slow(1))

    assert notes.outcomes == [DROPPED, IGNORE, SUCCESS]


@pytest.mark.parametrize("function", [fetch, afetch])
@pytest.mark.parametrize("patience", [0.0, 1.0])
@pytest.mark.parametrize("trouble", ["limiter", "bulkhead"])
def test_a_probe_that_is_refused_further_in_is_given_back(
    clock: ManualClock, function: Any, patience: float, trouble: str
) -> None:
    given = everything(clock) | {"key": "", "patience": patience}
    limiter, bulkhead, breaker = given["limiter"], given["bulkhead"], given["breaker"]
    guarded = guard(**given)(function)
    half_open(breaker, clock)

    slot = bulkhead.take() if trouble == "bulkhead" else None
    if trouble == "limiter":
        limiter.debit("", 3)
    for _ in range(3):
        with pytest.raises((LimitExceeded, BulkheadFull)):
            played(guarded, 1)
        assert breaker.state() == "half_open"
        # Not even a moment passes: the place of the probe is free at once.
        limiter.reset("") if trouble == "bulkhead" else None
    if slot is not None:
        slot.success()
    limiter.reset("")

    assert played(guarded, 1) == "1 hello False"
    assert breaker.state() == "closed"


def test_a_stray_cancellation_of_a_pools_call_is_no_way_around_an_open_breaker(
    clock: ManualClock,
) -> None:
    breaker = Breaker(clock=clock)
    breaker.force("open")

    with Pool(1) as pool, pytest.raises(BreakerOpen):
        guard(bulkhead=pool, breaker=breaker)(fetch)(1)


def half_open(breaker: Breaker, clock: ManualClock) -> None:
    """Let the breaker fail until it is open, and wait until it would let a probe in."""
    while breaker.state() == "closed":
        with breaker.hold() as call:
            call.fail()
    clock.advance(60)


def played(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What a function of either colour answers."""
    answer = function(*args, **kwargs)
    return asyncio.run(answer) if inspect.iscoroutine(answer) else answer


# What is not a guard is said where the function is decorated.


def numbers() -> Generator[int, None, None]:
    """A generator."""
    yield 1


async def anumbers() -> AsyncGenerator[int, None]:
    """An async generator."""
    yield 1


async def aempty(user_id: int, text: str = "", *, loud: bool = False) -> str:
    """An async fallback."""
    return ""


def short(user_id: int) -> str:
    """A fallback of too few arguments."""
    return ""


def greedy(user_id: int, text: str, *, loud: bool = False) -> str:
    """A fallback that needs more than the function does."""
    return ""


MISUSES: list[tuple[Callable[[], object], str]] = [
    (guard, "guard: give it a limiter, bulkhead, breaker, timeout or fallback"),
    (
        lambda: guard(patience=1.0),
        "guard: give it a limiter, bulkhead, breaker, timeout or fallback",
    ),
    (
        lambda: guard(limiter="9/s"),  # type: ignore[arg-type]
        "guard: limiter is a Limiter or AsyncLimiter such as Limiter(\"9/s\"), not '9/s'",
    ),
    (
        lambda: guard(bulkhead=10),  # type: ignore[arg-type]
        "guard: bulkhead is a Bulkhead, AsyncBulkhead or Pool such as Bulkhead(10), not 10",
    ),
    (
        lambda: guard(breaker=Breaker),  # type: ignore[arg-type]
        f"guard: breaker is a Breaker such as Breaker(), not {Breaker!r}",
    ),
    (lambda: guard(timeout=0), "guard: timeout is 0.001 or more seconds, not 0"),
    (
        lambda: guard(timeout=None),  # type: ignore[arg-type]
        "guard: timeout is a number of seconds, not None",
    ),
    (
        lambda: guard(limiter=Limiter("9/s"), patience=-1),
        "guard: patience is 0 or more seconds, not -1",
    ),
    (
        lambda: guard(fallback=None, fallback_on=asyncio.CancelledError),  # type: ignore[arg-type]
        "guard: fallback_on is one or more kinds of Exception, not "
        "<class 'asyncio.exceptions.CancelledError'>",
    ),
    (
        lambda: guard(fallback=None, fallback_on=(ValueError, BaseException)),  # type: ignore[arg-type]
        "guard: fallback_on is one or more kinds of Exception, not <class 'BaseException'>",
    ),
    (
        lambda: guard(fallback=None, fallback_on=ValueError("x")),  # type: ignore[arg-type]
        "guard: fallback_on is one or more kinds of Exception, not ValueError('x')",
    ),
    (
        lambda: guard(fallback=None)(3),  # type: ignore[type-var]
        "guard: decorate a def or an async def, not 3",
    ),
    (
        lambda: guard(fallback=None)(numbers),
        "guard: numbers is a generator, and runs when it is looped over; guard a function that "
        "loops over it",
    ),
    (
        lambda: guard(fallback=None)(anumbers),
        "guard: anumbers is a generator, and runs when it is looped over; guard a function that "
        "loops over it",
    ),
    (
        lambda: guard(timeout=1.0)(fetch),
        "guard: fetch is a def, and no thread can be stopped; for a timeout give it threads to "
        "leave it in: bulkhead=Pool(10)",
    ),
    (
        lambda: guard(timeout=1.0, bulkhead=Bulkhead(1))(fetch),
        "guard: fetch is a def, and no thread can be stopped; for a timeout give it threads to "
        "leave it in: bulkhead=Pool(10)",
    ),
    (
        lambda: guard(limiter=AsyncLimiter("9/s"))(fetch),
        "guard: fetch is a def, and AsyncLimiter is awaited; use Limiter",
    ),
    (
        lambda: guard(bulkhead=Pool(1))(afetch),
        "guard: afetch is an async def, which needs no Pool; use Bulkhead",
    ),
    (
        lambda: guard(fallback=aempty)(fetch),
        "guard: the fallback aempty is an async def, and fetch is not",
    ),
    (
        lambda: guard(fallback=short)(fetch),
        "guard: the fallback short(user_id: 'int') -> 'str' does not take the arguments of "
        "fetch(user_id: 'int', text: 'str' = 'hello', *, loud: 'bool' = False) -> 'str': too many "
        "positional arguments",
    ),
    (
        lambda: guard(fallback=greedy)(fetch),
        "guard: the fallback greedy(user_id: 'int', text: 'str', *, loud: 'bool' = False) -> 'str' "
        "does not take the arguments of fetch(user_id: 'int', text: 'str' = 'hello', *, loud: "
        "'bool' = False) -> 'str': missing a required argument: 'text'",
    ),
    (
        lambda: guard(limiter=Limiter("9/s"), breaker=Breaker(), key="{user}")(fetch),
        "guard '{user}': fetch has no argument 'user'; it has user_id, text, loud",
    ),
]


@pytest.mark.parametrize(("misuse", "message"), MISUSES, ids=[text for _, text in MISUSES])
def test_misuse_is_named_where_the_function_is_decorated(
    misuse: Callable[[], object], message: str
) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        misuse()

    assert str(caught.value) == message


def test_wrong_arguments_are_an_error_and_no_reason_to_fall_back(clock: ManualClock) -> None:
    limiter = Limiter("9/h", clock=clock)
    guarded: Any = guard(limiter=limiter, breaker=Breaker(), key="{user_id}")(fetch)

    with pytest.raises(TypeError, match="missing a required argument: 'user_id'"):
        guarded()


def test_what_is_written_in_c_and_partials_are_guarded_too() -> None:
    assert guard(fallback=max)(min)(1, 2) == 1
    assert guard(fallback=0)(functools.partial(fetch, 1))("x") == "1 x False"
