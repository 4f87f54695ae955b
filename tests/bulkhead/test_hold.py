"""`hold` and `take`: exactly so many inside, in order, and every place comes back."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import threading
from collections.abc import Callable, Generator
from math import inf
from typing import Any

import pytest

from headgate import AIMD, Bulkhead, BulkheadFull, ManualClock, Refused
from tests.servers.waiting import until


def test_exactly_so_many_are_inside(scale: int) -> None:
    bulkhead = Bulkhead(3)
    inside, most = 0, 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal inside, most
        for _ in range(300 * scale):
            with bulkhead.hold():
                with lock:
                    inside += 1
                    most = max(most, inside)
                with lock:
                    inside -= 1

    threads = [threading.Thread(target=work) for _ in range(12)]
    run(threads)

    assert (most <= 3, inside, bulkhead.inside(), bulkhead.waiting()) == (True, 0, 0, 0)


def test_take_is_now_or_no() -> None:
    bulkhead = Bulkhead(1)
    first, second = bulkhead.take(), bulkhead.take()

    first.success()

    assert (bool(first), bool(second), bool(bulkhead.take())) == (False, False, True)


def test_a_refusal_is_not_counted_and_gives_nothing_back() -> None:
    # R197 and R198: who never had a place neither keeps one nor returns one.
    bulkhead = Bulkhead(2)
    held = [bulkhead.take(), bulkhead.take()]
    for _ in range(10):
        refused = bulkhead.take()
        refused.success()
        with pytest.raises(BulkheadFull), bulkhead.hold(timeout=0):
            pass

    assert bulkhead.inside() == 2
    for slot in held:
        slot.success()
    assert bulkhead.inside() == 0


@pytest.mark.parametrize("ends", ["success", "ignore", "dropped"])
def test_a_slot_ends_once(ends: str) -> None:
    bulkhead = Bulkhead(2)
    other = bulkhead.take()

    with bulkhead.hold() as slot:
        getattr(slot, ends)()
        getattr(slot, ends)()

    assert (bulkhead.inside(), bool(other)) == (1, True)


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt, GeneratorExit, TimeoutError])
def test_a_block_that_raises_gives_its_place_back(problem: type[BaseException]) -> None:
    bulkhead = Bulkhead(1)

    with pytest.raises(problem), bulkhead.hold():
        raise problem

    assert bulkhead.inside() == 0


def test_a_generator_that_is_closed_in_the_middle_gives_its_place_back() -> None:
    bulkhead = Bulkhead(1)

    def numbers() -> Generator[int, None, None]:
        with bulkhead.hold():
            yield 1
            yield 2

    generator = numbers()
    next(generator)
    held = bulkhead.inside()
    generator.close()

    assert (held, bulkhead.inside()) == (1, 0)


def test_a_slot_that_is_lost_gives_its_place_back(caplog: pytest.LogCaptureFixture) -> None:
    # What there was before the test would be looked through as well.
    gc.freeze()
    bulkhead = Bulkhead(1)

    def die() -> None:
        bulkhead.take()

    run([threading.Thread(target=die)])
    gc.collect()

    until(lambda: bulkhead.inside() == 0, "the place to be free")
    assert "a slot was lost before it was ended" in caplog.text


def test_those_who_wait_for_a_lost_slot_get_its_place() -> None:
    bulkhead = Bulkhead(1)
    lost = [bulkhead.take()]
    waiter = threading.Thread(target=lambda: bulkhead.hold().__enter__().success())
    waiter.start()
    until(lambda: bulkhead.waiting() == 1, "the thread to wait")

    lost.clear()
    waiter.join(10)

    assert not waiter.is_alive()


def test_first_come_first_served() -> None:
    bulkhead = Bulkhead(1)
    order: list[int] = []
    door = bulkhead.take()

    def work(number: int) -> None:
        with bulkhead.hold():
            order.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    queue(bulkhead, threads)
    door.success()
    for thread in threads:
        thread.join()

    assert order == list(range(20))


def test_nobody_overtakes_those_who_wait() -> None:
    bulkhead = Bulkhead(1)
    door = bulkhead.take()
    entered = threading.Event()
    leave = threading.Event()

    def work() -> None:
        with bulkhead.hold():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=work)
    queue(bulkhead, [thread])
    door.success()
    overtaken = bool(bulkhead.take())
    leave.set()
    thread.join()

    assert (overtaken, entered.is_set()) == (False, True)


def test_a_priority_is_worth_so_much_waiting() -> None:
    clock = ManualClock()
    bulkhead = Bulkhead(1, ageing=1.0, clock=clock)
    order: list[str] = []
    door = bulkhead.take()

    def work(name: str, priority: int) -> None:
        with bulkhead.hold(priority=priority):
            order.append(name)

    # At 0.0 s, 1.5 s and 1.9 s: a level is a second, so the last is older than the second only.
    threads = []
    for name, priority, moment in [("first", 0, 0.0), ("second", 0, 1.5), ("urgent", 1, 1.9)]:
        clock.set(moment)
        threads.append(threading.Thread(target=work, args=(name, priority)))
        queue(bulkhead, threads[-1:])
    door.success()
    for thread in threads:
        thread.join()

    assert order == ["first", "urgent", "second"]


def test_a_full_queue_refuses() -> None:
    bulkhead = Bulkhead(1, queue=1, name="reports")
    door = bulkhead.take()
    thread = threading.Thread(target=lambda: bulkhead.hold().__enter__().success())
    queue(bulkhead, [thread])

    with pytest.raises(BulkheadFull) as refusal, bulkhead.hold():
        pass

    door.success()
    thread.join()
    assert (refusal.value.reason, str(refusal.value)) == (
        "queue",
        'all 1 places of the bulkhead "reports" are taken, and so is its queue',
    )


def test_who_waits_gives_up_in_time() -> None:
    clock = ManualClock()
    bulkhead = Bulkhead(1, clock=clock)
    door = bulkhead.take()

    with pytest.raises(BulkheadFull) as refusal, bulkhead.hold(timeout=2.5):
        pass

    assert (refusal.value.reason, clock.now(), bulkhead.waiting()) == ("timeout", 2_500_000, 0)
    door.success()
    assert bulkhead.inside() == 0


def test_without_patience_nobody_waits() -> None:
    bulkhead = Bulkhead(1)
    door = bulkhead.take()

    with pytest.raises(BulkheadFull) as refusal, bulkhead.hold(timeout=0):
        pass

    assert (refusal.value.reason, bool(door)) == ("full", True)


def test_every_key_has_places_of_its_own() -> None:
    bulkhead = Bulkhead(1)

    with bulkhead.hold("a"), bulkhead.hold("b"):
        counts = (bulkhead.inside("a"), bulkhead.inside("b"), bulkhead.inside("c"))

    assert counts == (1, 1, 0)


def test_a_million_keys_leave_no_rooms_behind(scale: int) -> None:
    bulkhead = Bulkhead(2)
    kept = bulkhead.hold("kept")
    kept.__enter__()
    for number in range(12_000 * scale):
        with bulkhead.hold(f"key {number}"):
            pass

    assert (len(bulkhead.rooms) <= 10_000, bulkhead.inside("kept")) == (True, 1)
    kept.success()


def test_the_idle_part_of_a_share_is_lent_and_comes_back_first() -> None:
    bulkhead = Bulkhead(4, partitions={"live": 0.75, "batch": 0.25})
    batch = [bulkhead.take(partition="batch") for _ in range(4)]
    order: list[str] = []

    def work(partition: str) -> None:
        with bulkhead.hold(partition=partition):
            order.append(partition)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("batch", "live")]
    for thread in threads:
        queue(bulkhead, [thread])
    batch[0].success()
    for thread in threads:
        thread.join()

    assert order == ["live", "batch"]


def test_a_share_that_is_not_lent_stays_free() -> None:
    bulkhead = Bulkhead(4, partitions={"live": 0.75, "batch": 0.25}, lend=False)

    slots = [bulkhead.take(partition="batch") for _ in range(2)]
    batch = [bool(slot) for slot in slots]
    slots[0].success()

    assert batch == [True, False]


def test_newest_first_once_the_first_has_waited_too_long() -> None:
    clock = ManualClock()
    bulkhead = Bulkhead(1, newest_after=1.0, clock=clock)
    door = bulkhead.take()
    order: list[int] = []

    def work(number: int) -> None:
        with bulkhead.hold():
            order.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    queue(bulkhead, threads)
    clock.advance(1.1)
    door.success()
    for thread in threads:
        thread.join()

    assert order == [3, 2, 1, 0]


def test_guard_holds_a_place_while_the_function_runs() -> None:
    bulkhead = Bulkhead(1)

    @bulkhead.guard("user:{user}", timeout=0)
    def work(user: int) -> int:
        return bulkhead.inside(f"user:{user}")

    @bulkhead.guard()
    async def awork() -> int:
        return bulkhead.inside()

    assert (work(7), asyncio.run(awork()), bulkhead.inside()) == (1, 1, 0)


def test_a_child_does_not_inherit_who_is_inside() -> None:
    bulkhead = Bulkhead(1)
    slot = bulkhead.take()
    child = os.fork()
    if child == 0:
        # Not `with`: whatever happens here must not run the tests again.
        own = bulkhead.take()
        slot.success()
        os._exit(0 if own and bulkhead.inside() == 1 else 1)

    _, status = os.waitpid(child, 0)

    assert (os.waitstatus_to_exitcode(status), bulkhead.inside()) == (0, 1)
    slot.success()


def test_a_refusal_survives_pickle() -> None:
    copy = pickle.loads(pickle.dumps(BulkheadFull("db", 10, "timeout")))

    assert isinstance(copy, Refused)
    assert (copy.name, copy.limit, copy.reason, copy.retry_after) == ("db", 10, "timeout", 0.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bulkhead(0), "Bulkhead: limit is 1 or more, not 0"),
        (
            lambda: Bulkhead(2.5),
            "Bulkhead: limit is a whole number or a limit such as BBR(), not 2.5",
        ),
        (lambda: Bulkhead(1, queue=-1), "Bulkhead: queue is 0 or more, not -1"),
        (
            lambda: Bulkhead(1, partitions={"a": 0.7, "b": 0.7}),
            "Bulkhead: the shares of partitions add up to 1.4",
        ),
        (
            lambda: Bulkhead(1, partitions={"a": 0.5}).hold(),
            "Bulkhead: there is no partition ''; there are 'a'",
        ),
        (
            lambda: Bulkhead(1).hold(partition="b"),
            "Bulkhead: there is no partition 'b'; there are none",
        ),
        (lambda: Bulkhead(1).hold(timeout=-1), "Bulkhead: timeout is 0 or more seconds, not -1"),
        (lambda: Bulkhead(1).hold(7), "a key is a str, not 7"),
    ],
)
def test_what_is_wrong_is_said(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as refusal:
        make()

    assert str(refusal.value) == message


def test_a_slot_is_entered_once() -> None:
    slot = Bulkhead(1).hold()
    with slot:
        pass

    with pytest.raises(RuntimeError, match="a slot is entered once; hold another"), slot:
        pass


def queue(bulkhead: Bulkhead, threads: list[threading.Thread]) -> None:
    """Start them one by one, each once the one before waits."""
    for thread in threads:
        before = bulkhead.waiting()
        thread.start()
        until(lambda before=before: bulkhead.waiting() > before, "the thread to wait")


def run(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_child_can_come_in_though_a_limit_was_being_asked() -> None:
    bulkhead = Bulkhead(AIMD())
    with bulkhead.rooms[""].gauge.lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if bulkhead.take() else 1)
        _, status = os.waitpid(child, 0)

    assert status == 0


def test_the_first_of_two_who_clear_a_room_clears_it() -> None:
    bulkhead = Bulkhead(1)
    room = bulkhead.room("k")

    assert (room.retire(), room.retire()) == (1, 0)


@pytest.mark.parametrize("priority", [3, -3, inf])
def test_ageing_without_end_is_no_number_too_large(priority: float) -> None:
    bulkhead = Bulkhead(1, ageing=inf)
    with bulkhead.hold(), pytest.raises(BulkheadFull):
        bulkhead.hold(timeout=0.001, priority=priority).__enter__()

    assert (bulkhead.inside(), bulkhead.waiting()) == (0, 0)
