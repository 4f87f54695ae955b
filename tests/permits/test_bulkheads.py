"""Bulkheads whose places several processes share: one answer on a machine, on Redis, on Valkey."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from headgate import (
    AIMD,
    AsyncBulkhead,
    AsyncRedisStore,
    Bulkhead,
    BulkheadFull,
    ManualClock,
    RedisStore,
    StoreUnavailable,
    guard,
)
from headgate.permits.redis.async_permits import AsyncRedisPermits
from headgate.permits.shared.permits import SharedPermits
from tests.servers.launch import Server
from tests.servers.waiting import until


class Place:
    """Where bulkheads share their places, with one end in either colour."""

    def __init__(self, sync: Any, awaited: Any) -> None:
        self.sync = sync
        self.awaited = awaited

    def open(self, limit: int, **settings: Any) -> Bulkhead:
        return Bulkhead(limit, store=self.sync, **settings)

    def aopen(self, limit: int, **settings: Any) -> AsyncBulkhead:
        return AsyncBulkhead(limit, store=self.awaited, **settings)


@pytest.fixture(params=["shared", "valkey", "redis"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Place:
    if request.param == "shared":
        monkeypatch.setattr("headgate.stores.shared.store.MEMORY", str(tmp_path))
        return Place("shared://places", "shared://places")
    fixture = {"valkey": "valkey", "redis": "redis_server"}[request.param]
    server: Server = request.getfixturevalue(fixture)
    # Patient, because this is not about how long it takes.
    return Place(RedisStore(server.url, budget=5.0), AsyncRedisStore(server.url, budget=5.0))


def run(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(main())


def test_no_more_are_inside_than_the_limit_of_all(place: Place) -> None:
    first, second = place.open(2), place.open(2)
    with first.hold(), second.hold():
        inside = first.inside(), second.inside()
        refused = [bool(bulkhead.take()) for bulkhead in (first, second)]
        with pytest.raises(BulkheadFull) as caught, first.hold(timeout=0):
            pass

    assert (inside, refused, caught.value.reason, first.inside()) == (
        (2, 2),
        [False] * 2,
        "full",
        0,
    )
    assert str(caught.value) == "all 2 places of the bulkhead are taken, and nobody waits for one"


def test_threads_and_tasks_share_the_places(place: Place) -> None:
    bulkhead, awaited = place.open(1), place.aopen(1)

    async def main() -> list[bool]:
        async with awaited.hold() as slot:
            answers = [bool(slot), bool(bulkhead.take()), await awaited.inside() == 1]
        with bulkhead.hold():
            return [*answers, bool(await awaited.take())]

    assert (run(main), bulkhead.inside()) == ([True, False, True, False], 0)


def test_every_key_has_places_of_its_own(place: Place) -> None:
    bulkhead = place.open(1)
    with bulkhead.hold("a"), bulkhead.hold("b"):
        inside = [bulkhead.inside(key) for key in ("a", "b", "c")]

    assert inside == [1, 1, 0]


def test_names_tell_bulkheads_apart(place: Place) -> None:
    with place.open(1, name="reports").hold():
        other = bool(place.open(1, name="mails").take())
        same = bool(place.open(1, name="reports").take())

    assert (other, same) == (True, False)


@pytest.mark.parametrize("end", ["success", "ignore", "dropped"])
def test_a_slot_taken_is_given_back_once(place: Place, end: str) -> None:
    bulkhead = place.open(1)
    slot = bulkhead.take()
    held = bool(slot), bulkhead.inside()
    for _ in range(2):
        getattr(slot, end)()

    assert (held, bool(slot), bulkhead.inside()) == ((True, 1), False, 0)


def test_a_place_comes_back_however_the_block_ends(place: Place) -> None:
    bulkhead, awaited = place.open(1), place.aopen(1)
    with pytest.raises(KeyError), bulkhead.hold():
        raise KeyError

    async def main() -> None:
        with pytest.raises(KeyError):
            async with awaited.hold():
                raise KeyError

    run(main)

    assert bulkhead.inside() == 0


def test_who_waits_goes_in_when_a_place_is_free(place: Place) -> None:
    bulkhead = place.open(1)
    slot = bulkhead.take()
    order: list[str] = []

    def wait() -> None:
        with bulkhead.hold(timeout=60.0) as later:
            order.append(f"in after {later.waited > 0}")

    thread = threading.Thread(target=wait)
    thread.start()
    until(lambda: bulkhead.waiting() == 1, "somebody waits")
    order.append("out")
    slot.success()
    thread.join()

    assert (order, bulkhead.inside(), bulkhead.waiting()) == (["out", "in after True"], 0, 0)


def test_tasks_of_a_process_go_in_as_they_came(place: Place) -> None:
    awaited = place.aopen(1)

    async def main() -> list[int]:
        order: list[int] = []

        async def work(number: int) -> None:
            async with awaited.hold():
                order.append(number)

        async with awaited.hold():
            tasks = []
            for number in range(8):
                tasks.append(asyncio.create_task(work(number)))
                while awaited.waiting() <= number:
                    await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        return order

    assert run(main) == [*range(8)]


def test_patience_ends(place: Place) -> None:
    clock = ManualClock()
    bulkhead = place.open(1, clock=clock)
    with bulkhead.hold(), pytest.raises(BulkheadFull) as caught, bulkhead.hold(timeout=5.0):
        pass

    assert (caught.value.reason, clock.now(), bulkhead.waiting()) == ("timeout", 5_000_000, 0)


def test_a_queue_has_an_end(place: Place) -> None:
    bulkhead = place.open(1, queue=1)
    slot = bulkhead.take()
    reasons = []
    done = threading.Event()

    def first() -> None:
        with bulkhead.hold(timeout=60.0):
            done.wait(60)

    thread = threading.Thread(target=first)
    thread.start()
    until(lambda: bulkhead.waiting() == 1, "somebody waits")
    with pytest.raises(BulkheadFull) as caught, bulkhead.hold(timeout=60.0):
        pass
    reasons.append(caught.value.reason)
    slot.success()
    done.set()
    thread.join()

    assert (reasons, bulkhead.inside()) == (["queue"], 0)


def test_all_who_come_at_once_and_fit_go_in(place: Place) -> None:
    awaited = place.aopen(3, queue=0)

    async def main() -> list[bool]:
        slots = await asyncio.gather(*(awaited.take() for _ in range(5)))
        answers = [bool(slot) for slot in slots]
        for slot in slots:
            slot.success()
        return answers

    assert sorted(run(main)) == [False, False, True, True, True]


def test_a_function_that_could_never_enter_is_not_guarded(valkey: Server) -> None:
    bulkhead = Bulkhead(1, store=valkey.url)

    async def fetch() -> None: ...

    with pytest.raises(TypeError, match="fetch is an async def, and a Bulkhead on a server would"):
        bulkhead.guard()(fetch)
    with pytest.raises(TypeError, match="use AsyncBulkhead"):
        guard(bulkhead=bulkhead)(fetch)


def test_without_a_queue_nobody_waits(place: Place) -> None:
    bulkhead = place.open(2, queue=0)
    first = bulkhead.take()

    with bulkhead.hold(timeout=60.0), pytest.raises(BulkheadFull) as caught:
        bulkhead.hold(timeout=60.0).__enter__()
    first.success()

    assert (caught.value.reason, bulkhead.inside()) == ("queue", 0)


def steps(make: Callable[[], Coroutine[Any, Any, Any]], stop: int) -> bool:
    """Drive a task, and cancel it at its step number `stop`; whether it got so far."""

    async def main() -> bool:
        task = asyncio.ensure_future(make())
        for _ in range(stop):
            await asyncio.sleep(0)
        late = task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return not late

    return asyncio.run(main())


def test_whoever_is_cancelled_on_any_step_keeps_no_place(place: Place) -> None:
    outside = place.open(1)
    stop = 0

    async def enter() -> None:
        async with place.aopen(1).hold():
            await asyncio.sleep(0)

    while steps(enter, stop):
        until(lambda: outside.inside() == 0, "nobody is inside")
        stop += 1

    with outside.hold(timeout=0):
        assert stop >= 2


def test_a_slot_that_nobody_has_any_more_is_given_back(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    # What there was before the test would be looked through as well.
    gc.freeze()
    bulkhead = place.open(1)
    assert bulkhead.take()
    gc.collect()
    until(lambda: bulkhead.inside() == 0, "nobody is inside")

    assert "a slot was lost before it was ended; its place is free again" in caplog.messages


def test_functions_of_both_colours_hold_a_place(place: Place) -> None:
    bulkhead, awaited = place.open(3), place.aopen(3)

    @bulkhead.guard("user:{user}")
    def plain(user: str) -> int:
        return bulkhead.inside(f"user:{user}")

    @awaited.guard("user:{user}")
    async def later(user: str) -> int:
        return await awaited.inside(f"user:{user}")

    assert (plain("ann"), run(lambda: later("bob"))) == (1, 1)


def test_a_store_that_is_gone_is_said_and_nobody_is_left_at_the_door(valkey: Server) -> None:
    bulkhead = Bulkhead(1, store=valkey.url)
    valkey.kill()
    with pytest.raises(StoreUnavailable), bulkhead.hold():
        pass

    assert bulkhead.waiting() == 0


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("headgate.stores.shared.store.MEMORY", str(tmp_path))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bulkhead(AIMD(), store="shared://x"), "for one process; leave out the store"),
        (
            lambda: Bulkhead(2, partitions={"a": 0.5}, store="shared://x"),
            "for one process; leave out the store",
        ),
        (lambda: Bulkhead(2, store="mysql://x"), "store 'mysql://x': unknown; try memory://"),
        (lambda: Bulkhead(2, store=7), "a store is a URL or a redis-py client, not 7"),
        (lambda: Bulkhead(2, store="redis://x", method="luck"), "method is one of"),
        (lambda: Bulkhead(2, store="redis://x", ttl=0), "ttl is from 0.1 to 86400, not 0"),
        (lambda: Bulkhead(2, store="shared://x").hold(5), "a key is a str, not 5"),
        (
            lambda: Bulkhead(2, store="shared://x").hold(partition="a"),
            "there is no partition 'a'; there are none",
        ),
    ],
)
def test_settings_that_cannot_be_meant_say_so(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        make()

    assert message in str(caught.value)


def test_a_bulkhead_on_a_server_is_entered_in_its_own_colour() -> None:
    async def wrong() -> None:
        async with Bulkhead(1, store="redis://localhost:1").hold():
            pass

    with pytest.raises(TypeError, match="use AsyncBulkhead"):
        run(wrong)
    with (
        pytest.raises(TypeError, match="is entered by `async with`"),
        AsyncBulkhead(1, store="redis://localhost:1").hold(),
    ):
        pass
    with pytest.raises(TypeError, match=r"use Bulkhead\.guard"):
        AsyncBulkhead(1).guard()(print)


def test_what_it_is_can_be_read(folder: None) -> None:
    assert repr(Bulkhead(3, store="shared://x", name="mails")) == (
        "<Bulkhead 'mails': 3 on SharedPermits('x', 3, bulkhead='mails')>"
    )
    assert repr(AsyncBulkhead(3, store="redis://h")) == (
        "<AsyncBulkhead: 3 on AsyncRedisPermits('redis://h:6379', 3, 'leases')>"
    )
    assert repr(AsyncBulkhead(3)) == "<AsyncBulkhead: 0 of 3 inside>"


@pytest.mark.usefixtures("folder")
def test_permits_of_ones_own_are_taken_as_they_are() -> None:
    permits = SharedPermits("own", 2)

    assert Bulkhead(2, store=permits).permits is permits
    assert AsyncRedisPermits("redis://h", 1).limit == 1
