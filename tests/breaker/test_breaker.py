"""A breaker opens at its threshold, stays open for its pause, and closes when probes go well."""

from __future__ import annotations

import asyncio
import os
import pickle
import threading
from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import Any

import pytest

import headgate
from headgate import (
    BreakerOpen,
    HeadgateError,
    Limiter,
    LimitExceeded,
    ManualClock,
    Refused,
    StoreUnavailable,
)
from headgate.breakers.breaker import Breaker
from headgate.breakers.circuit import dispensable
from headgate.window import Totals


class Broken(Exception):
    """What the one who is called raises."""


class Service:
    """Somebody to call: does what it is told to."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.calls = 0
        self.does: BaseException | str = "well"
        self.takes = 0.0

    def call(self) -> str:
        self.calls += 1
        self.clock.advance(self.takes)
        if isinstance(self.does, BaseException):
            raise self.does
        return self.does


class Trial:
    """A breaker, a service behind it and a clock; `play` calls it and spells what came of it."""

    def __init__(self, **options: Any) -> None:
        self.clock = ManualClock(1_000.0)
        self.service = Service(self.clock)
        self.breaker = Breaker(clock=self.clock, **{"jitter": 0.0, **options})
        self.guarded = self.breaker.guard()(self.service.call)
        self.told: list[tuple[str, str, str]] = []
        self.breaker.listen(lambda *said: self.told.append(said))

    def play(self, script: str) -> str:
        """`.` a call that goes well, `x` one that fails, `t` a timeout, `c` a cancelled one, `s` a
        slow one, digits let so many seconds pass. Answers `.` for let in and `-` for refused.
        """
        answers = []
        for letter in script:
            if letter.isdigit():
                self.clock.advance(float(letter))
                continue
            self.service.takes = 2.0 if letter == "s" else 0.0
            self.service.does = {
                "x": Broken(),
                "t": TimeoutError(),
                "c": asyncio.CancelledError(),
            }.get(letter, "well")
            before = self.service.calls
            with suppress(Broken, TimeoutError, asyncio.CancelledError, BreakerOpen):
                self.guarded()
            answers.append("." if self.service.calls > before else "-")
        return "".join(answers)


# options, what is played, what it answers, and the state at the end
STORIES = [
    pytest.param({"calls": 4}, "..xx.", "....-", "open", id="half of four is enough"),
    pytest.param({"calls": 4}, "...xx.", "......", "closed", id="two of five are not"),
    pytest.param({"calls": 4}, "xxx", "...", "closed", id="three calls are too few"),
    pytest.param({"calls": 4}, "xxx.", "....", "open", id="a good call may be the one too many"),
    pytest.param({"calls": 4}, "tttt.", "....-", "open", id="timeouts are failures"),
    pytest.param({"calls": 4}, "cccccxxx", "........", "closed", id="cancelled calls are none"),
    pytest.param({"calls": 1, "failures": 1.0}, "x4.", ".-", "open", id="before the pause is over"),
    pytest.param({"calls": 1, "failures": 1.0}, "x5.", "..", "closed", id="a probe closes it"),
    pytest.param({"calls": 1, "failures": 1.0}, "x5x.", "..-", "open", id="a probe opens it"),
    pytest.param({"calls": 1, "failures": 1.0}, "x5x9.", "..-", "open", id="for twice as long"),
    pytest.param({"calls": 1, "failures": 1.0}, "x5x91.", "...", "closed", id="and no longer"),
    pytest.param(
        {"calls": 1, "failures": 1.0, "longest": 8.0}, "x5x8x8x8x8.", "......", "closed",
        id="but never longer than the longest",
    ),
    pytest.param(
        {"calls": 1, "failures": 1.0}, "x5.x4.1.", "...-.", "closed",
        id="closed once, the pause is short again",
    ),
    pytest.param({"calls": 1, "failures": 1.0}, "x5c.", "...", "closed", id="a cancelled probe"),
    pytest.param(
        {"calls": 2, "probes": 3}, "xx5...", ".....", "closed", id="three probes go well"
    ),
    pytest.param(
        {"calls": 2, "probes": 3}, "xx5.x.", ".....", "closed", id="one of three fails, below half"
    ),
    pytest.param({"calls": 2, "probes": 3}, "xx5.xx.", ".....-", "open", id="two of three fail"),
    pytest.param({"calls": 2, "window": 4.0}, "x5x.", "...", "open", id="half of the last ones"),
    pytest.param({"calls": 3, "window": 4.0}, "xx5x", "...", "closed", id="old failures are gone"),
    pytest.param({"calls": 3, "last": 3}, "xx99x", "...", "open", id="the last three, however old"),
    pytest.param({"calls": 3, "last": 3}, "x...x..", ".......", "closed", id="and no others"),
    pytest.param(
        {"calls": 4, "slow": 0.5, "slow_after": 2.0}, "..ss.", "....-", "open", id="slow calls"
    ),
    pytest.param(
        {"calls": 4, "slow": 0.5, "slow_after": 2.1}, "..ss.", ".....", "closed", id="not so slow"
    ),
    pytest.param(
        {"calls": 2, "slow": 1.0, "slow_after": 2.0}, "ss5s.", "...-", "open", id="a slow probe"
    ),
]  # fmt: skip


@pytest.mark.parametrize(("options", "script", "answers", "state"), STORIES)
def test_a_story(options: dict[str, Any], script: str, answers: str, state: str) -> None:
    trial = Trial(**options)

    assert (trial.play(script), trial.breaker.state()) == (answers, state)


def test_refused_calls_are_told_when_to_come_back() -> None:
    trial = Trial(calls=1)
    trial.play("x3")

    with pytest.raises(BreakerOpen) as refusal:
        trial.guarded()

    assert (refusal.value.retry_after, str(refusal.value)) == (
        2.0,
        "the breaker is open; try again in 2.000 s",
    )
    trial.clock.advance(refusal.value.retry_after)
    assert trial.play(".") == "."


def test_a_refusal_survives_pickle_and_is_one_of_the_family() -> None:
    refusal = BreakerOpen("payments", 1.5)

    copy = pickle.loads(pickle.dumps(refusal))

    assert (copy.name, copy.retry_after, str(copy)) == (
        "payments",
        1.5,
        'the breaker "payments" is open; try again in 1.500 s',
    )
    assert isinstance(copy, Refused)
    assert isinstance(copy, HeadgateError)
    assert issubclass(LimitExceeded, Refused)


def test_a_refusal_that_was_told_nothing_says_what_it_can() -> None:
    refusal = BreakerOpen()

    assert (refusal.name, refusal.retry_after, str(refusal)) == (
        "",
        0.0,
        "the breaker is open; try again in 0.000 s",
    )


def test_a_call_is_true_while_it_is_let_in() -> None:
    trial = Trial(calls=1)

    with trial.breaker.hold() as call:
        inside = bool(call)

    trial.play("x1")
    assert (inside, bool(trial.breaker.hold())) == (True, False)


def test_only_so_many_probes_are_out_at_once() -> None:
    trial = Trial(calls=1, probes=2)
    trial.play("x5")
    holds = [trial.breaker.hold() for _ in range(3)]
    holds[0].__enter__()
    holds[1].__enter__()

    with pytest.raises(BreakerOpen):
        holds[2].__enter__()

    holds[0].__exit__(None, None, None)
    holds[1].__exit__(None, None, None)
    assert trial.breaker.state() == "closed"


def test_a_probe_that_never_comes_back_is_replaced_after_a_pause() -> None:
    trial = Trial(calls=1)
    trial.play("x5")
    lost = trial.breaker.hold()
    lost.__enter__()

    answers = trial.play(".4.1.")

    assert (answers, trial.breaker.state()) == ("--.", "closed")


@pytest.mark.parametrize(("problem", "state"), [(None, "closed"), (Broken(), "open")])
def test_a_probe_that_takes_longer_than_a_pause_counts_all_the_same(
    problem: Exception | None, state: str
) -> None:
    trial = Trial(calls=1)
    trial.play("x5")
    slow, other = trial.breaker.hold(), trial.breaker.hold()
    slow.__enter__()
    trial.clock.advance(6.0)
    other.__enter__()
    trial.clock.advance(2.0)
    slow.__exit__(type(problem), problem, None)

    assert trial.breaker.state() == state


def test_of_several_probes_one_that_is_lost_undoes_no_other() -> None:
    trial = Trial(calls=1, probes=3)
    trial.play("x5")
    lost = trial.breaker.hold()
    lost.__enter__()

    answers = trial.play("..5.")

    assert (answers, trial.breaker.state()) == ("...", "closed")


def test_the_outcome_of_a_call_that_began_before_a_change_says_nothing() -> None:
    trial = Trial(calls=1)
    late = trial.breaker.hold()
    late.__enter__()
    trial.play("x5.")

    late.__exit__(Broken, Broken(), None)

    assert (trial.breaker.state(), trial.breaker.totals().failure) == ("closed", 0)


def test_a_clock_that_goes_back_keeps_it_open_no_longer_than_a_pause() -> None:
    trial = Trial(calls=1)
    trial.play("x")
    trial.clock.advance(-500.0)

    assert trial.play(".4.1.") == "--."


def test_every_pause_differs_by_up_to_the_jitter() -> None:
    waits = set()
    for _ in range(50):
        trial = Trial(calls=1, jitter=0.2)
        trial.play("x")
        with pytest.raises(BreakerOpen) as refusal:
            trial.guarded()
        waits.add(refusal.value.retry_after)

    assert len(waits) > 40
    assert all(4.0 <= wait <= 6.0 for wait in waits)


def test_forced_open_it_lets_nothing_in_and_never_says_when() -> None:
    trial = Trial()
    trial.breaker.force("open")

    assert trial.play(".9999.") == "--"
    with pytest.raises(BreakerOpen) as refusal:
        trial.guarded()
    assert (refusal.value.retry_after, str(refusal.value)) == (inf, "the breaker is held open")


def test_forced_closed_it_lets_everything_in_and_counts_nothing() -> None:
    trial = Trial(calls=1)
    trial.breaker.force("closed")

    assert (trial.play("xxxx"), trial.breaker.state()) == ("....", "forced_closed")
    assert trial.breaker.totals().total == 0


def test_with_metrics_only_it_counts_and_never_opens() -> None:
    trial = Trial(calls=1)
    trial.breaker.force("metrics_only")

    assert (trial.play("xxt."), trial.breaker.state()) == ("....", "metrics_only")
    assert trial.breaker.totals() == Totals(1, 2, 1, 0, 0)


def test_reset_begins_anew() -> None:
    trial = Trial(calls=1)
    trial.play("x")

    trial.breaker.reset()

    assert (trial.play("."), trial.breaker.totals()) == (".", Totals(1, 0, 0, 0, 0))


def test_listeners_hear_of_every_change_in_order() -> None:
    trial = Trial(calls=1)

    trial.play("x5x91.")
    trial.breaker.force("open")

    assert [said[1:] for said in trial.told] == [
        ("closed", "open"),
        ("open", "half_open"),
        ("half_open", "open"),
        ("open", "half_open"),
        ("half_open", "closed"),
        ("closed", "forced_open"),
    ]


def test_a_listener_that_fails_is_logged_and_the_call_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    trial = Trial(calls=1)
    trial.breaker.listen(lambda *said: 1 / 0)

    assert trial.play("x5.") == ".."
    assert "a listener failed; the call goes on" in caplog.text


def test_rejected_calls_are_counted() -> None:
    trial = Trial(calls=2)

    trial.play("xx...")

    assert trial.breaker.totals() == Totals(0, 2, 0, 3, 0)


@pytest.mark.parametrize(
    ("options", "problem", "totals"),
    [
        ({}, Broken(), Totals(0, 1, 0, 0, 0)),
        ({}, TimeoutError(), Totals(0, 0, 1, 0, 0)),
        ({}, KeyboardInterrupt(), Totals(0, 0, 0, 0, 0)),
        ({}, BreakerOpen(), Totals(0, 0, 0, 0, 0)),
        ({"counts": OSError}, Broken(), Totals(1, 0, 0, 0, 0)),
        ({"counts": (OSError, Broken)}, Broken(), Totals(0, 1, 0, 0, 0)),
        ({"ignores": Broken}, Broken(), Totals(0, 0, 0, 0, 0)),
        ({"counts": asyncio.CancelledError}, asyncio.CancelledError(), Totals(0, 1, 0, 0, 0)),
    ],
)
def test_which_exceptions_count(
    options: dict[str, Any], problem: BaseException, totals: Totals
) -> None:
    trial = Trial(**options)
    trial.service.does = problem

    with pytest.raises(type(problem)):
        trial.guarded()

    assert trial.breaker.totals() == totals


def test_a_result_may_be_a_failure() -> None:
    trial = Trial(wrong=lambda result: result == "500")
    trial.service.does = "500"

    assert trial.guarded() == "500"
    assert trial.breaker.totals().failure == 1


def test_a_call_held_may_say_what_it_came_to() -> None:
    breaker = Breaker(clock=ManualClock())
    with breaker.hold() as call:
        call.fail()
    with breaker.hold() as call:
        call.ignore()
    with breaker.hold():
        pass

    assert breaker.totals() == Totals(1, 1, 0, 0, 0)


def test_the_async_forms_are_the_same() -> None:
    breaker = Breaker(calls=2, clock=ManualClock(), wrong=lambda result: result == "bad")

    @breaker.guard()
    async def call(result: str) -> str:
        await asyncio.sleep(0)
        return result

    async def main() -> list[str]:
        seen = [await call("bad")]
        async with breaker.hold():
            pass
        try:
            seen.append(await call("never"))
        except BreakerOpen:
            seen.append("refused")
        return seen

    assert asyncio.run(main()) == ["bad", "refused"]


def test_every_key_has_a_circuit_of_its_own() -> None:
    breaker = Breaker(calls=1, clock=ManualClock())

    @breaker.guard("host:{host}")
    def call(host: str) -> None:
        if host == "bad":
            raise Broken

    for host in ("bad", "good", "good"):
        with suppress(Broken):
            call(host)

    assert [breaker.state(f"host:{host}") for host in ("bad", "good", "other")] == [
        "open",
        "closed",
        "closed",
    ]


def test_keys_beyond_the_most_make_way_and_open_ones_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    breaker = Breaker(calls=1, clock=clock)
    with pytest.raises(Broken), breaker.hold("bad"):
        raise Broken
    for number in range(12_000):
        with breaker.hold(f"key {number}"):
            pass
        clock.advance(0.01)

    assert breaker.state("bad") in {"open", "half_open"}
    assert len(breaker.circuits) <= 10_000


def test_threads_lose_no_outcome() -> None:
    breaker = Breaker(failures=1.0, calls=1_000_000_000)
    work = breaker.guard()(lambda: None)

    def many() -> None:
        for _ in range(5_000):
            work()

    threads = [threading.Thread(target=many) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert breaker.totals().success == 40_000


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Breaker(failures=0), "Breaker: failures is a share above 0 and up to 1, not 0"),
        (lambda: Breaker(failures="half"), "Breaker: failures is a share such as 0.5, not 'half'"),
        (lambda: Breaker(calls=0), "Breaker: calls is 1 or more, not 0"),
        (lambda: Breaker(last=10), "Breaker: of the last 10 calls there are never 20"),
        (lambda: Breaker(pause=-1), "Breaker: pause is 0.001 or more seconds, not -1"),
        (lambda: Breaker(growth=0.5), "Breaker: growth is 1 or more, not 0.5"),
        (lambda: Breaker(jitter=2), "Breaker: jitter is from 0 to 1, not 2"),
        (lambda: Breaker(probes=True), "Breaker: probes is a whole number, not True"),
        (lambda: Breaker(counts=3), "Breaker: counts is one or more exceptions, not 3"),
        (
            lambda: Breaker().force("shut"),
            'force: a state is "open", "closed" or "metrics_only", not \'shut\'',
        ),
    ],
)
def test_what_is_wrong_is_said(make: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as refusal:
        make()

    assert str(refusal.value) == message


def test_a_generator_cannot_be_guarded() -> None:
    def numbers() -> Any:
        yield 1

    with pytest.raises(TypeError, match="is a generator, and runs when it is looped over"):
        Breaker().guard()(numbers)


def test_a_limiter_that_refuses_inside_is_no_failure_of_the_service() -> None:
    breaker = Breaker(calls=1, clock=ManualClock())
    limiter = Limiter("1/min", clock=ManualClock())
    call = breaker.guard()(limiter.guard()(lambda: None))
    call()

    with pytest.raises(LimitExceeded):
        call()

    assert breaker.state() == "closed"


def test_a_store_that_is_down_says_nothing_about_who_is_called() -> None:
    trial = Trial(calls=1)
    trial.service.does = StoreUnavailable("nobody there", "connection", False)
    with pytest.raises(StoreUnavailable):
        trial.guarded()

    assert (trial.breaker.state(), trial.breaker.totals()) == ("closed", Totals())


def test_looking_at_a_key_makes_no_circuit_for_it() -> None:
    trial = Trial()

    assert (trial.breaker.totals("k"), list(trial.breaker.circuits)) == (Totals(), [""])


def test_of_many_keys_those_as_new_go_first_and_those_forced_never() -> None:
    trial = Trial(calls=1, failures=1.0)
    trial.breaker.force("open", "forced")
    for key, script in {"open": "x", "used": ".", "new": ""}.items():
        for letter in script:
            with suppress(Broken), trial.breaker.hold(key):
                if letter == "x":
                    raise Broken
        trial.breaker.circuit(key)
    now = trial.clock.now()

    assert dispensable(trial.breaker.circuits, 1, now) == ["new"]
    assert dispensable(trial.breaker.circuits, 2, now) == ["new", "used"]
    assert dispensable(trial.breaker.circuits, 9, now) == ["new", "used", "open"]


def test_beyond_so_many_keys_a_tenth_makes_room() -> None:
    trial = Trial(calls=1)
    for number in range(10_000):
        with trial.breaker.hold(f"{number}"):
            pass

    assert len(trial.breaker.circuits) == 9_001
    assert trial.breaker.totals("9999").success == 1


@pytest.mark.skipif(headgate.COMPILED, reason="compiled, there is no lock to hold")
def test_a_forked_child_can_call_though_a_lock_was_held() -> None:
    breaker = Breaker()
    with breaker.circuits[""].lock:
        child = os.fork()
        if child == 0:
            # What is an RLock to this thread is another thread's to one it starts.
            threading.Thread(target=lambda: (breaker.guard()(int)(), os._exit(0))).start()
            threading.Event().wait(30)
            os._exit(1)
        _, status = os.waitpid(child, 0)

    assert status == 0
