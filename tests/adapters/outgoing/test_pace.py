"""A client keeps to its own pace, does as it is told, and never asks more often than it may."""

from __future__ import annotations

import asyncio
import random
from math import inf
from typing import Any, NamedTuple

import pytest

from headgate import (
    AsyncLimiter,
    Decision,
    Limiter,
    LimitExceeded,
    ManualClock,
    Pacer,
    PacerFull,
    Rate,
    RetryBudget,
)
from headgate.adapters.outgoing.pace import Exchange, Pace, host


class Answer(NamedTuple):
    """What a library makes of an answer, as far as it matters."""

    status_code: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012 - nobody changes it


def refused(wait: float = 5, status: int = 429) -> Answer:
    return Answer(status, {"Retry-After": f"{wait:g}" if wait < 1e5 else f"{wait:.0f}"})


class Other:
    """The other side: answers as told, and remembers when it was asked and what was closed."""

    def __init__(self, clock: ManualClock, *answers: Answer) -> None:
        self.clock = clock
        self.answers = list(answers)
        self.asked: list[float] = []
        self.closed: list[Answer] = []

    def send(self) -> Answer:
        self.asked.append(self.clock.now() / 1e6)
        return self.answers.pop(0) if self.answers else Answer()

    async def asend(self) -> Answer:
        return self.send()

    async def aclose(self, answer: Answer) -> None:
        self.closed.append(answer)

    def meet(self, pace: Pace, key: str = "there", **options: Any) -> Any:
        """Send it something, awaited or not, as the pace is asked to."""
        terms = {"method": "GET", "replayable": lambda: True} | options
        return pace.run(Exchange(key, send=self.send, close=self.closed.append, **terms))

    def await_(self, pace: Pace, key: str = "there", **options: Any) -> Any:
        terms = {"method": "GET", "replayable": lambda: True} | options
        return asyncio.run(pace.arun(Exchange(key, send=self.asend, close=self.aclose, **terms)))


@pytest.fixture(params=["meet", "await_"])
def verb(request: pytest.FixtureRequest) -> Any:
    """How a request is made: by a thread, or by a task."""
    return request.param


def pace(clock: ManualClock, limiter: Any = None, **options: Any) -> Pace:
    """One that waits exactly as long as it is told."""
    return Pace(limiter, clock=clock, **{"jitter": 0.0} | options)


def test_a_refused_request_is_sent_again_when_it_may(clock: ManualClock, verb: str) -> None:
    other = Other(clock, refused(5), refused(7))

    assert getattr(other, verb)(pace(clock)) == Answer()
    assert other.asked == [0.0, 5.0, 12.0]
    assert other.closed == [refused(5), refused(7)]


GONE = {"replayable": lambda: False}
SPENT = {"RateLimit": '"burst";r=0;t=5'}


@pytest.mark.parametrize(
    ("answer", "options", "times", "held"),
    [
        (refused(5), {}, 2, 0.0),
        (refused(0), {}, 2, 0.0),
        (refused(60), {}, 2, 0.0),
        (refused(61), {}, 1, 61.0),
        (refused(5), {"method": "POST"}, 2, 0.0),
        (refused(5), GONE, 1, 5.0),
        (refused(5, 503), {}, 2, 0.0),
        (refused(5, 503), {"method": "put"}, 2, 0.0),
        (refused(5, 503), {"method": "POST"}, 1, 5.0),
        (refused(5, 503), {"method": "PATCH"}, 1, 5.0),
        (refused(5, 500), {}, 1, 0.0),
        (refused(5, 200), {}, 1, 0.0),
        (Answer(429), {}, 1, 0.0),
        (Answer(503), {}, 1, 0.0),
        (Answer(429, {"Retry-After": "soon"}), {}, 1, 0.0),
        (Answer(429, SPENT), {}, 1, 5.0),
        (Answer(200, SPENT), {}, 1, 5.0),
        (Answer(200, {"RateLimit": '"burst";r=1;t=5'}), {}, 1, 0.0),
        (Answer(200, SPENT | {"Retry-After": "9"}), {}, 1, 5.0),
        (Answer(429, SPENT | {"Retry-After": "9"}), GONE, 1, 9.0),
        (Answer(429, SPENT | {"Retry-After": "0"}), GONE, 1, 0.0),
        (refused(10**9), {}, 1, 86_400.0),
    ],
)
def test_it_is_sent_again_only_where_that_does_no_harm(
    answer: Answer, options: dict[str, Any], times: int, held: float, clock: ManualClock, verb: str
) -> None:
    other = Other(clock, answer)
    paced = pace(clock)
    found = getattr(other, verb)(paced, **options)

    assert len(other.asked) == times
    assert found == (answer if times == 1 else Answer())
    assert other.closed == ([] if times == 1 else [answer])
    assert paced.held("there") == held


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_who_is_refused_for_good_is_answered_as_it_came(
    retries: int, clock: ManualClock, verb: str
) -> None:
    other = Other(clock, *[refused(5)] * 9)
    budget = RetryBudget(1.0, clock=clock)

    assert getattr(other, verb)(pace(clock, retries=retries, budget=budget)) == refused(5)
    assert len(other.asked) == retries + 1
    assert len(other.closed) == retries


def test_there_are_no_more_retries_than_the_budget_has(clock: ManualClock, verb: str) -> None:
    other = Other(clock, *[refused(1)] * 9)
    paced = pace(clock, budget=RetryBudget(least=1, clock=clock))
    getattr(other, verb)(paced)

    assert len(other.asked) == 2
    assert repr(paced.budget) == "<RetryBudget: 1 retries of 1 calls>"


def test_without_a_word_there_are_two_retries(clock: ManualClock) -> None:
    other = Other(clock, *[refused(0)] * 9)
    other.meet(pace(clock, budget=RetryBudget(1.0, 9, clock=clock)))

    assert len(other.asked) == 3


def test_a_budget_is_there_without_asking(clock: ManualClock) -> None:
    paced = pace(clock, retries=9)
    other = Other(clock, *[refused(0)] * 9)
    other.meet(paced)

    assert repr(paced.budget) == "<RetryBudget: 3 retries of 1 calls>"


def test_one_refusal_is_enough_for_all_that_goes_to_the_same_host(
    clock: ManualClock, verb: str
) -> None:
    paced = pace(clock, retries=0)
    other = Other(clock, refused(10))
    meet = getattr(other, verb)
    meet(paced, "there")
    meet(paced, "elsewhere")
    meet(paced, "there")

    assert other.asked == [0.0, 0.0, 10.0]


def test_a_date_is_waited_for(clock: ManualClock, verb: str) -> None:
    clock.set(1_800_000_000.0)
    other = Other(clock, Answer(429, {"Retry-After": "Fri, 15 Jan 2027 08:00:30 GMT"}))
    getattr(other, verb)(pace(clock))

    assert other.asked == [1_800_000_000.0, 1_800_000_030.0]


def test_part_of_a_second_is_waited_for_too(clock: ManualClock, verb: str) -> None:
    clock.set(1_800_000_000.25)
    other = Other(clock, refused(0.5))
    getattr(other, verb)(pace(clock))

    assert other.asked == [1_800_000_000.25, 1_800_000_000.75]


def test_who_would_wait_too_long_is_told_at_once(clock: ManualClock, verb: str) -> None:
    clock.set(1000.0)
    paced = pace(clock, longest=30.0)
    other = Other(clock, refused(31))
    meet = getattr(other, verb)
    meet(paced)
    with pytest.raises(LimitExceeded) as refusal:
        meet(paced)

    assert str(refusal.value) == "over the limit of the other side; try again in 31.000 s"
    assert refusal.value.key == "there"
    assert refusal.value.decision == Decision(False, 0, 0, 31.0, 31.0, "of the other side")
    assert other.asked == [1000.0]
    clock.advance(1.0)
    meet(paced)
    assert other.asked == [1000.0, 1031.0]


def test_waits_are_longer_by_a_share_that_differs(clock: ManualClock, verb: str) -> None:
    other = Other(clock, refused(10), refused(10))
    paced = pace(clock, jitter=0.5)
    paced.luck = random.Random(7)
    first, second = [round(10 * (1 + 0.5 * luck), 6) for luck in lucky(7)]
    getattr(other, verb)(paced)

    assert other.asked == pytest.approx([0.0, first, first + second], abs=2e-6)


def lucky(seed: int) -> list[float]:
    luck = random.Random(seed)
    return [luck.random(), luck.random()]


def test_without_a_word_waits_are_longer_by_up_to_a_tenth(clock: ManualClock) -> None:
    waits = []
    for _ in range(50):
        other = Other(clock, refused(10))
        other.meet(Pace(clock=clock))
        waits.append(other.asked[1] - other.asked[0])

    assert 10.0 <= min(waits) < max(waits) <= 11.0


@pytest.mark.parametrize("limiter", ["1/s", Rate("1/s")])
def test_each_host_has_the_rate_for_itself(limiter: Any, clock: ManualClock, verb: str) -> None:
    other = Other(clock)
    paced = pace(clock, limiter)
    for key in ("there", "there", "there", "elsewhere"):
        getattr(other, verb)(paced, key)

    assert other.asked == [0.0, 1.0, 2.0, 2.0]


def test_a_limiter_or_pacer_of_ones_own_is_waited_for(clock: ManualClock, verb: str) -> None:
    for limiter in (Limiter("1/s", clock=clock), Pacer("1/s", clock=clock)):
        other = Other(clock)
        paced = pace(clock, limiter)
        for _ in range(3):
            getattr(other, verb)(paced)

        start = other.asked[0]
        assert other.asked == [start, start + 1.0, start + 2.0]


def test_an_async_limiter_is_awaited(clock: ManualClock) -> None:
    other = Other(clock)
    paced = pace(clock, AsyncLimiter("1/s", clock=clock))
    for _ in range(3):
        other.await_(paced)

    assert other.asked == [0.0, 1.0, 2.0]
    with pytest.raises(TypeError) as refusal:
        other.meet(paced)
    assert str(refusal.value) == (
        "Pace: this client does not await, and AsyncLimiter is; use Limiter"
    )


def test_ones_own_limit_is_not_waited_for_too_long_either(clock: ManualClock, verb: str) -> None:
    for limiter, refusal in (
        (Limiter("1/min", clock=clock), LimitExceeded),
        (Pacer("1/min", clock=clock), PacerFull),
    ):
        other = Other(clock)
        paced = pace(clock, limiter, longest=59.0)
        getattr(other, verb)(paced)
        with pytest.raises(refusal):
            getattr(other, verb)(paced)

        assert len(other.asked) == 1


def test_retries_wait_for_ones_own_limiter_too(clock: ManualClock, verb: str) -> None:
    other = Other(clock, refused(1), refused(1))
    getattr(other, verb)(pace(clock, "1 per 10s"))

    assert other.asked == [0.0, 10.0, 20.0]


def exchange(other: Other, key: str = "there", **options: Any) -> Exchange:
    terms = {"method": "GET", "send": other.asend, "close": other.aclose} | options
    return Exchange(key, replayable=lambda: True, **terms)


def test_who_waits_for_its_turn_hears_of_a_refusal_meanwhile(clock: ManualClock) -> None:
    slow, other = Other(clock, refused(10)), Other(clock)
    paced = pace(clock, "1/s", retries=0)

    async def slowly() -> Answer:
        await clock.asleep(0.5)
        return slow.send()

    async def speak() -> None:
        await asyncio.gather(paced.arun(exchange(slow, send=slowly)), paced.arun(exchange(other)))

    asyncio.run(speak())

    assert (slow.asked, other.asked) == ([0.5], [10.5])


def test_nobody_waits_longer_because_others_are_refused_again(clock: ManualClock) -> None:
    paced = pace(clock)
    other = Other(clock, refused(40))
    late = Other(clock, refused(59))

    async def slowly() -> Answer:
        await clock.asleep(30.0)
        return late.send()

    async def speak() -> list[Any]:
        return await asyncio.gather(
            paced.arun(exchange(late, send=slowly)),
            paced.arun(exchange(other)),
            return_exceptions=True,
        )

    _, told = asyncio.run(speak())

    assert isinstance(told, LimitExceeded)
    assert told.retry_after == 49.0
    assert other.asked == [0.0]


def test_who_is_cancelled_while_it_waits_sends_nothing(clock: ManualClock) -> None:
    other = Other(clock, refused(50))
    paced = pace(clock)

    async def speak() -> None:
        task = asyncio.ensure_future(paced.arun(exchange(other)))
        await clock.asleep(20.0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(speak())

    assert other.asked == [0.0]
    assert other.closed == [refused(50)]


def test_what_the_library_raises_passes_as_it_is(clock: ManualClock, verb: str) -> None:
    class Broken(Other):
        def send(self) -> Answer:
            raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        getattr(Broken(clock), verb)(pace(clock))


def test_those_who_are_no_longer_held_back_are_forgotten(clock: ManualClock) -> None:
    paced = pace(clock, retries=0)
    other = Other(clock, refused(10), refused(30), refused(10))
    other.meet(paced, "a")
    other.meet(paced, "b")
    assert repr(paced) == "<Pace: None, 2 held back>"
    clock.advance(10.0)
    other.meet(paced, "c")

    assert repr(paced) == "<Pace: None, 2 held back>"
    assert (paced.held("a"), paced.held("b"), paced.held("c")) == (0.0, 20.0, 10.0)


def test_a_shorter_wait_does_not_shorten_a_longer_one(clock: ManualClock) -> None:
    paced = pace(clock, retries=0)
    other, late = Other(clock, refused(30)), Other(clock, refused(10))

    async def slowly() -> Answer:
        await clock.asleep(1.0)
        return late.send()

    async def speak() -> None:
        await asyncio.gather(paced.arun(exchange(late, send=slowly)), paced.arun(exchange(other)))

    asyncio.run(speak())

    assert late.asked == [1.0]
    assert paced.held("there") == 29.0


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.example.com/v1?x=1", "api.example.com"),
        ("https://me:secret@API.example.com:8443/", "api.example.com:8443"),
        ("http://[::1]:80/", "[::1]:80"),
        ("/nowhere", ""),
    ],
)
def test_a_host_is_known_without_who_asks_it(url: str, name: str) -> None:
    assert host(url) == name
    assert Pace().name(None, url) == name


def test_a_key_is_a_function_of_the_request() -> None:
    assert Pace(key=lambda request: f"user:{request}").name(42, "http://there/") == "user:42"


@pytest.mark.parametrize(
    ("arguments", "options", "problem"),
    [
        (
            (7,),
            {},
            'Pace: limiter is a rate such as "10/s", a Limiter, AsyncLimiter or Pacer, not 7',
        ),
        ((), {"key": "host"}, "Pace: key is a function of the request, not 'host'"),
        ((), {"longest": -1.0}, "Pace: longest is 0 or more seconds, not -1.0"),
        ((), {"retries": -1}, "Pace: retries is 0 or more, not -1"),
        ((), {"retries": 1.5}, "Pace: retries is a whole number, not 1.5"),
        ((), {"jitter": 1.5}, "Pace: jitter is from 0 to 1, not 1.5"),
    ],
)
def test_what_is_wrong_is_named(
    arguments: tuple[Any, ...], options: dict[str, Any], problem: str
) -> None:
    with pytest.raises((TypeError, ValueError)) as refusal:
        Pace(*arguments, **options)
    assert str(refusal.value) == problem


def test_one_may_wait_for_ever(clock: ManualClock, verb: str) -> None:
    other = Other(clock, refused(86_000))
    getattr(other, verb)(pace(clock, longest=inf))

    assert other.asked == [0.0, 86_000.0]
