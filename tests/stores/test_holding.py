"""What is held of a key: spent once, ended in time, and never lost, by however many threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

import headgate
from headgate import Decision, ManualClock, TokenBucket
from headgate.stores.leases.holding import Holding
from headgate.stores.leases.ledger import Leased
from headgate.stores.leases.sweep import sweep
from tests.crowd import hasty

THREADS = 8
ROUNDS = 20_000 if headgate.COMPILED else 1_000
END = 1_000


SAID = Decision(True, 100, 7, 0.0, 9.0, "api")
NO = Decision(False, 100, 7, 2.0, 9.0, "api")


class Owner:
    """Whose lock it is."""

    def __init__(self) -> None:
        self.lock: Any = threading.RLock()


@pytest.fixture
def held() -> Holding:
    return Holding(Owner())


@pytest.fixture
def _hasty() -> Iterator[None]:
    """Let threads be switched as often as can be, interpreted after every instruction."""
    if not headgate.COMPILED:
        threading.settrace(pause)
    with hasty():
        yield
    threading.settrace(None)  # type: ignore[arg-type]


def pause(frame: FrameType, event: str, _: object) -> Any:
    """Be called where the interpreter would not switch by itself."""
    if frame.f_code.co_filename.endswith("holding.py"):
        frame.f_trace_opcodes = True
    return pause


def test_units_are_spent_until_they_are_gone(held: Holding) -> None:
    held.grant(SAID, 3, END, 0)

    assert [held.pay(2, 0), held.pay(2, 0), held.pay(1, 0), held.pay(1, 0)] == [1, -1, 0, -1]


@pytest.mark.parametrize("cost", [0, -1])
def test_nothing_is_not_paid(held: Holding, cost: int) -> None:
    held.grant(SAID, 3, END, 0)

    assert held.pay(cost, 0) == -1
    assert held.units == 3


def test_units_are_not_spent_when_their_time_is_over(held: Holding) -> None:
    held.grant(SAID, 3, END, 0)

    assert (held.pay(1, END - 1), held.pay(1, END)) == (2, -1)
    assert (held.end(END - 1), held.end(END), held.end(END)) == (0, 2, 0)


def test_units_joined_to_others_end_with_the_older(held: Holding) -> None:
    held.grant(SAID, 1, END, 10)
    held.grant(SAID, 1, END + 500, 510)
    assert (held.units, held.until, held.moment) == (2, END, 10)

    held.end(END)
    held.grant(SAID, 1, END + 500, 510)
    assert (held.units, held.until, held.moment) == (1, END + 500, 510)


def decided(held: Holding, cost: int, now: int, most: int = 100) -> Decision | None:
    decision = Decision(True)
    return decision if held.decide(decision, cost, now, most) else None


def test_a_yes_counts_what_is_held_and_what_the_store_has(held: Holding) -> None:
    held.grant(SAID, 3, END, 0)

    assert decided(held, 2, 0) == Decision(True, 100, 8, 0.0, 9.0, "api")
    assert decided(held, 2, 0) is None


def test_a_no_is_remembered_until_the_moment_the_store_named(held: Holding) -> None:
    held.refuse(NO, 1_000_000, 2, 1)

    assert decided(held, 2, 1_000_000) == Decision(False, 100, 7, 2.0, 9.0, "api")
    assert decided(held, 2, 2_500_000) == Decision(False, 100, 7, 0.5, 9.0, "api")
    assert decided(held, 2, 3_000_000) is None


def test_a_no_to_much_is_none_to_little_nor_to_what_never_fits(held: Holding) -> None:
    held.refuse(NO, 0, 2, 1)

    assert decided(held, 1, 0) is None
    assert decided(held, 0, 0) is None
    assert decided(held, 101, 0) is None
    assert decided(held, 3, 0) is not None


def test_a_no_without_the_store_is_not_remembered(held: Holding) -> None:
    held.refuse(NO, 0, 2, 1)
    held.refuse(Decision(False, 100, 7, 2.0, 9.0, "api", degraded=True), 0, 2, 1)

    assert decided(held, 2, 0) is None


def test_a_grant_ends_a_no(held: Holding) -> None:
    held.refuse(NO, 0, 2, 1)
    held.grant(SAID, 1, END, 0)

    assert decided(held, 2, 0) is None


def test_what_was_paid_comes_back_while_its_lease_lives(held: Holding) -> None:
    held.grant(SAID, 2, END, 10)
    held.pay(2, 20)

    assert (held.restore(1, END, 10), held.restore(1, 30, 11), held.units) == (0, 0, 0)
    assert (held.restore(1, 30, 10), held.units) == (1, 1)


@pytest.mark.usefixtures("_hasty")
def test_a_no_is_remembered_in_one_piece(held: Holding) -> None:
    # Two refusals, of much for long and of little for a moment: nobody is refused little for long.
    much, little = Decision(False, 10, 0, 9.0), Decision(False, 10, 0, 1.0)
    over = Decision(False, 10, 0, 0.0)
    wrong = []

    def refuse() -> None:
        for _ in range(ROUNDS):
            held.refuse(much, 0, 9, 1)
            held.refuse(little, 0, 1, 1)

    def ask() -> None:
        for _ in range(ROUNDS):
            decision = decided(held, 1, 0)
            if decision is not None and decision.retry_after != 1.0:
                wrong.append(decision)
            held.refuse(over, 0, 9, 1)

    threads = [threading.Thread(target=work) for work in (refuse, ask, refuse, ask)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


@pytest.mark.usefixtures("_hasty")
def test_every_unit_is_spent_or_ended_once(held: Holding) -> None:
    ready = threading.Barrier(THREADS + 1)
    paid, ended = [0] * THREADS, [0]

    def spend(number: int) -> None:
        ready.wait()
        for _ in range(ROUNDS):
            paid[number] += held.pay(1, 0) >= 0

    def end() -> None:
        ready.wait()
        for number in range(ROUNDS):
            held.grant(SAID, THREADS, END, 0)
            # Every other time, so that the others find something, whoever comes first.
            ended[0] += 0 if number % 2 else held.end(END)

    held.grant(SAID, THREADS, END, 0)
    threads = [threading.Thread(target=spend, args=(number,)) for number in range(THREADS)]
    threads.append(threading.Thread(target=end))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(paid) + ended[0] + held.units == THREADS * (ROUNDS + 1)
    assert sum(paid) > 0


class Shelf:
    """A ledger that nobody asks."""

    limits = (TokenBucket("100/s"),)


class Chime(ManualClock):
    """A clock that does something whenever it is looked at."""

    def __init__(self, work: Callable[[], object]) -> None:
        super().__init__()
        self.work = work

    def now(self) -> int:
        self.work()
        return super().now()


def test_what_goes_back_is_of_the_lease_that_is_over() -> None:
    # Another lease comes between its end and its way back.
    clock = Chime(lambda: held.grant(SAID, 3, 3 * END, 900))
    ledger = Leased(Shelf(), clock, 0.001, 10, awaited=False)
    held = ledger.held["k"] = Holding(ledger)
    held.grant(SAID, 7, END, 500)

    ask = next(sweep(ledger, END))

    assert ask.said == ("k", -7, 0, 500)
    assert held.units == 3


def test_who_forgets_a_key_leaves_the_one_that_came_after_it() -> None:
    ledger = Leased(Shelf(), ManualClock(), 0.001, 10, awaited=False)
    held = ledger.held["k"] = Holding(ledger)
    held.grant(SAID, 7, END, 500)
    flow = sweep(ledger, 3 * END)
    next(flow)
    other = ledger.held["k"] = Holding(ledger)
    with pytest.raises(StopIteration):
        flow.send(None)

    assert ledger.held["k"] is other
