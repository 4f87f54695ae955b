"""Limiters on a server: the verbs that wait, give back, tell and refuse, in both colours."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from headgate import (
    GCRA,
    CannotFit,
    Decision,
    FixedWindow,
    LeakyBucket,
    Limit,
    LimitError,
    LimitExceeded,
    ManualClock,
    SlidingLog,
    SlidingWindow,
    TokenBucket,
    WarmUp,
)
from tests.servers.launch import Server
from tests.servers.waiting import until
from tests.stores.redis.callers import COLOURS, Caller, lines
from tests.stores.redis.records import place, read

colours = pytest.mark.parametrize("colour", COLOURS)
# After one has gone in, nine have to wait.
KINDS: list[tuple[Limit, ...]] = [
    (TokenBucket("9/h"),),
    (TokenBucket("9/h", borrow=True),),
    (GCRA("9/h"),),
    (LeakyBucket("9/h"),),
    (FixedWindow("9 per 3650day"),),
    (FixedWindow("9/h", anchor="first"),),
    (SlidingWindow("9 per 3650day"),),
    (SlidingLog("9/h"),),
    (WarmUp("9/h", period=60.0),),
    (GCRA("9/h"), SlidingLog("20/h")),
]
kinds = pytest.mark.parametrize("limits", KINDS, ids=lambda limits: ", ".join(map(repr, limits)))


@colours
@kinds
def test_a_cancelled_booking_leaves_no_trace(
    server: Server, colour: str, limits: tuple[Limit, ...]
) -> None:
    where = place(limits, "api", "k")
    with Caller(server.url, colour) as caller, server.wire() as wire:
        limiter = caller.limiter(*limits, name="api")
        limiter.take("k")
        before = read(wire, where)
        booking = limiter.reserve("k", limits[0].most)
        during = read(wire, where)
        booking.cancel()
        after = read(wire, where)

    assert booking
    assert during.cells != before.cells
    assert after.cells == before.cells
    assert after.until >= before.until


@colours
@kinds
def test_a_booking_of_a_new_key_is_cancelled_to_nothing(
    server: Server, colour: str, limits: tuple[Limit, ...]
) -> None:
    with Caller(server.url, colour) as caller:
        caller.limiter(*limits).reserve("k").cancel()

    assert server.ask("DBSIZE") == 0


@colours
def test_a_booking_is_cancelled_once(server: Server, colour: str) -> None:
    with Caller(server.url, colour) as caller:
        limiter = caller.limiter(GCRA("9 per 1000day"))
        limiter.take("k", 2)
        booking = limiter.reserve("k", 3)
        left = [limiter.peek("k").remaining]
        for _ in range(3):
            booking.cancel()
            left.append(limiter.peek("k").remaining)

    assert left == [4, 7, 7, 7]


@colours
def test_a_booking_that_others_came_after_is_given_back_as_far_as_they_do_not_count_on_it(
    server: Server, colour: str
) -> None:
    with Caller(server.url, colour) as caller:
        limiter = caller.limiter(TokenBucket("9 per 1000day"))
        booking = limiter.reserve("k", 3)
        limiter.take("k", 2)
        booking.cancel()

        assert limiter.peek("k").remaining == 7


@colours
def test_a_wait_is_as_long_as_the_server_says(
    server: Server, colour: str, clock: ManualClock
) -> None:
    with Caller(server.url, colour) as caller:
        limiter = caller.limiter(GCRA("2/s", burst=1), clock=clock)
        waited = [caller.run(enter, limiter.thing, colour).waited for _ in range(4)]

    assert waited == [0.0, 0.5, 0.5, 0.5]
    assert clock.now() == 1_500_000


async def enter_async(limiter: Any) -> Any:
    return await limiter.acquire("k")


def enter(limiter: Any, colour: str) -> Any:
    return enter_async(limiter) if colour == "async" else limiter.acquire("k")


@colours
def test_a_wait_that_is_too_long_is_refused_and_costs_nothing(
    server: Server, colour: str, clock: ManualClock
) -> None:
    with Caller(server.url, colour) as caller:
        limiter = caller.limiter(GCRA("1/min"), clock=clock)
        limiter.take("k")
        with pytest.raises(LimitExceeded) as refused:
            caller.run(lambda: limiter.thing.acquire("k", timeout=59.0))
        with pytest.raises(CannotFit):
            caller.run(lambda: limiter.thing.acquire("k", 2))

        assert refused.value.retry_after == limiter.peek("k").retry_after == 60.0


@pytest.mark.parametrize("turns", [1, 2, 5, 50])
def test_a_task_that_is_cancelled_while_it_waits_gives_its_booking_back(
    server: Server, turns: int
) -> None:
    with Caller(server.url, "async") as caller:
        limiter = caller.limiter(GCRA("1/h"), name="api").thing

        async def give_up() -> float:
            await limiter.take("k")
            task = asyncio.create_task(enter_async(limiter))
            # Anywhere on the way: before it has asked, while it is asking, and when it sleeps.
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while (wait := (await limiter.peek("k")).retry_after) > 3600.0:
                await asyncio.sleep(0)
            return wait

        assert 3500.0 < caller.run(give_up) <= 3600.0


@colours
def test_each_key_of_many_is_answered_in_its_place(server: Server, colour: str) -> None:
    with Caller(server.url, colour) as caller:
        limiter = caller.limiter("9 per 3650day")
        keys = ["a", "b", "a", "c", "a", "b"]

        assert [one.remaining for one in limiter.take_many(iter(keys), 2)] == [7, 7, 5, 7, 3, 5]


@colours
def test_no_keys_are_no_question(server: Server, colour: str) -> None:
    with Caller(server.url, colour) as caller:
        assert caller.limiter("9/s").take_many([]) == []


@colours
def test_a_listener_hears_every_decision_once(server: Server, colour: str) -> None:
    heard: list[tuple[str, Decision]] = []
    with Caller(server.url, colour) as caller:
        limiter = caller.limiter("3 per 3650day")
        limiter.thing.listen(lambda key, decision: heard.append((key, decision)))
        told = [("a", limiter.take("a")), ("a", limiter.take("a", 9))]
        told += zip("ab", limiter.take_many("ab"), strict=True)
        told.append(("b", limiter.reserve("b").decision))

    assert heard == told


@colours
def test_a_cost_of_nothing_is_a_look(server: Server, colour: str) -> None:
    with Caller(server.url, colour) as caller:
        limiter = caller.limiter("9 per 3650day")

        assert [limiter.take("k", 0).remaining, limiter.take("k", 0).remaining] == [9, 9]
        assert server.ask("DBSIZE") == 0


@colours
def test_limits_on_a_server_are_not_changed_in_place(server: Server, colour: str) -> None:
    with Caller(server.url, colour) as caller:
        limiter = caller.limiter("9/s")
        with pytest.raises(LimitError) as refused:
            limiter.change("10/s")

    assert str(refused.value) == (
        "change: limits kept beyond this machine are changed by a new Limiter with the new limits; "
        "its keys start anew"
    )


@colours
def test_without_a_limit_no_server_is_asked(colour: str) -> None:
    with Caller("redis://127.0.0.1:1", colour) as caller:
        limiter = caller.limiter("unlimited")

        assert all([limiter.take("k"), limiter.peek("k"), *limiter.take_many("abc")])


@colours
def test_a_limit_of_nothing_lets_nobody_in(server: Server, colour: str) -> None:
    with Caller(server.url, colour) as caller:
        for limits in [("0/s",), ("0/s", GCRA("5/s")), (GCRA("5/s"), "0/s")]:
            limiter = caller.limiter(*limits)
            decisions = [limiter.take("k"), limiter.debit("k"), limiter.reserve("k").decision]

            assert [one.reason for one in decisions] == ["never"] * 3, limits


@colours
def test_a_limiter_that_nobody_closed_hangs_up_when_it_is_forgotten(
    server: Server, colour: str
) -> None:
    # What there was before the test would be looked through as well.
    gc.freeze()
    others = lines(server)
    caller = Caller(server.url, colour)
    caller.limiter("9/s").take("k")
    ours = lines(server) - others
    if caller.runner is not None:
        caller.runner.close()
    del caller
    gc.collect()

    assert len(ours) == 1
    until(lambda: not ours & lines(server), "the server to notice")
