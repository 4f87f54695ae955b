"""System: rules for the whole of a service, as bounds on six things."""

from __future__ import annotations

import asyncio
import os
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from headgate import ManualClock, Refused, System, SystemBusy


class Dial:
    """A reading that the test sets."""

    def __init__(self) -> None:
        self.value = 0.0
        self.reads = 0

    def __call__(self) -> float:
        self.reads += 1
        return self.value


def call(system: System, clock: ManualClock, seconds: float) -> None:
    with system.hold():
        clock.advance(seconds)


@pytest.mark.parametrize("word", ["cpu", "memory"])
def test_a_machine_beyond_its_bound_refuses(word: str, clock: ManualClock) -> None:
    dial = Dial()
    system = System(**{word: 0.8}, signals={word: dial}, clock=clock)  # type: ignore[arg-type]
    answers = []
    for value in (0.0, 0.8, 0.81, 0.5):
        dial.value = value
        answers.append(system.busy())

    assert answers == [None, None, (word, 0.81, 0.8), None]


def test_load_refuses_only_what_is_more_than_the_service_has_shown_to_do(
    clock: ManualClock,
) -> None:
    dial = Dial()
    system = System(load=1.0, signals={"load": dial}, clock=clock)
    # Ten a second that take 0.1 s each: one at a time is what it needs.
    for _ in range(50):
        call(system, clock, 0.1)
    dial.value = 5.0
    with system.hold():
        one = system.busy()
        with system.hold():
            two = system.busy()

    assert (one, two) == (None, ("load", 5.0, 1.0))


def test_calls_that_take_too_long_on_average_keep_others_out(clock: ManualClock) -> None:
    system = System(latency=0.5, clock=clock)
    for _ in range(10):
        call(system, clock, 0.6)
    with system.hold(), system.hold():
        during = system.busy()
    clock.advance(10.0)
    with system.hold(), system.hold():
        after = system.busy()

    assert (during and during[0], after) == ("latency", None)


def test_no_more_at_once_than_the_bound(clock: ManualClock) -> None:
    system = System(inside=2, clock=clock)
    with system.hold(), system.hold(), pytest.raises(SystemBusy) as caught:
        system.enter()

    assert (str(caught.value), system.inside) == (
        "the system is busy: inside is 2, at most 2",
        0,
    )


def test_no_more_a_second_than_the_bound(clock: ManualClock) -> None:
    system = System(rate=3, clock=clock)
    answers = []
    for _ in range(10):
        answers.append(system.busy() is None)
        if answers[-1]:
            call(system, clock, 0.0)
        clock.advance(0.25)

    assert answers == [True, True, True, False, True, True, True, False, True, True]


def test_without_bounds_nothing_is_read_and_nobody_refused(clock: ManualClock) -> None:
    dial = Dial()
    system = System(signals={"cpu": dial, "load": dial, "memory": dial}, clock=clock)
    for _ in range(1_000):
        call(system, clock, 10.0)

    assert (dial.reads, system.totals().success) == (0, 1)


def test_what_comes_of_calls_is_counted_and_a_refused_one_is_none(clock: ManualClock) -> None:
    system = System(inside=1, clock=clock)
    with pytest.raises(KeyError), system.hold():
        raise KeyError
    with system.hold(), pytest.raises(SystemBusy):
        system.enter()

    assert tuple(system.totals()) == (1, 1, 0, 0, 0)


def test_functions_of_both_colours_are_guarded(clock: ManualClock) -> None:
    system = System(inside=1, clock=clock)

    @system.guard()
    def plain() -> int:
        return system.inside

    @system.guard()
    async def awaited() -> int:
        return plain()

    assert plain() == 1
    with pytest.raises(SystemBusy):
        asyncio.run(awaited())
    assert system.inside == 0


def test_a_refusal_is_one_of_the_family_and_travels() -> None:
    problem = SystemBusy("cpu", 0.93, 0.8)
    copied = pickle.loads(pickle.dumps(problem))

    assert (isinstance(problem, Refused), copied.reason, copied.value, str(copied)) == (
        True,
        "cpu",
        0.93,
        "the system is busy: cpu is 0.93, at most 0.8",
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: System(cpu="high"), "System: cpu is a number, not 'high'"),
        (lambda: System(inside=0), "System: inside is 1 or more, not 0"),
        (lambda: System(latency=-1), "System: latency is 0 or more seconds, not -1"),
        (
            lambda: System(signals={"heat": Dial()}),
            "System: a signal is cpu, load or memory, not 'heat'",
        ),
    ],
)
def test_bounds_that_cannot_be_meant_say_what_would_be_right(
    make: Callable[[], Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        make()

    assert str(caught.value) == message


def test_a_child_does_not_inherit_who_is_inside(clock: ManualClock) -> None:
    system = System(inside=1, clock=clock)
    task = system.hold()
    task.__enter__()
    with system._lock:
        child = os.fork()
        if child == 0:
            free = system.busy() is None
            task.__exit__(None, None, None)
            os._exit(0 if free and system.inside == 0 else 1)
        _, status = os.waitpid(child, 0)
    task.__exit__(None, None, None)

    assert (os.waitstatus_to_exitcode(status), system.inside) == (0, 0)
