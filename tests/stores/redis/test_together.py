"""Those who ask the same at one moment are answered together, each as if it had asked alone."""

from __future__ import annotations

import asyncio
import struct
from collections import Counter
from typing import Any

import pytest

from headgate import StoreUnavailable
from tests.servers.launch import Server
from tests.stores.redis.callers import Caller
from tests.stores.redis.pretender import Pretender, bulk

HOURLY = "50/h"


def test_each_has_its_own_answer_and_the_server_one_question(server: Server) -> None:
    with Caller(server.url, "async") as caller:
        limiter = caller.limiter(HOURLY)
        server.ask("CONFIG", "RESETSTAT")

        answers = caller.run(crowd, limiter.thing, ["a"] * 20)

        assert [one.remaining for one in answers] == list(range(49, 29, -1))
        assert (questions(server), limiter.peek("a").remaining) == (1, 30)


def test_no_question_is_for_too_many_and_who_is_over_the_limit_is_refused(server: Server) -> None:
    with Caller(server.url, "async") as caller:
        limiter = caller.limiter(HOURLY)
        server.ask("CONFIG", "RESETSTAT")

        answers = caller.run(crowd, limiter.thing, ["a"] * 70)

        assert [one.allowed for one in answers] == [True] * 50 + [False] * 20
        assert questions(server) == 3


def test_others_in_between_do_not_part_them(server: Server) -> None:
    with Caller(server.url, "async") as caller:
        limiter = caller.limiter(HOURLY)
        server.ask("CONFIG", "RESETSTAT")

        answers = caller.run(crowd, limiter.thing, ["a", "b", "c"] * 5)

        expected = [left for left in range(49, 44, -1) for _ in "abc"]
        assert [one.remaining for one in answers] == expected
        assert questions(server) == 3


def test_nobody_overtakes_who_asks_something_else_about_the_key(server: Server) -> None:
    async def asked(limiter: Any) -> list[int]:
        calls = (
            limiter.take("a"),
            limiter.take("a", 10),
            limiter.debit("a", 10),
            limiter.take("a"),
        )
        return [one.remaining for one in await asyncio.gather(*calls)]

    with Caller(server.url, "async") as caller:
        assert caller.run(asked, caller.limiter(HOURLY).thing) == [49, 39, 29, 28]


def test_who_comes_later_does_not_travel_with_who_has_less_time_left(server: Server) -> None:
    async def asked(store: Any, limiter: Any) -> list[int]:
        calls = [asyncio.ensure_future(limiter.take("a"))]
        await asyncio.sleep(0)
        # An eighth of the budget is over before there is a connection.
        store._last._tick()
        calls += [asyncio.ensure_future(limiter.take("a")) for _ in range(2)]
        await asyncio.sleep(0)
        together = [len(one.all()) for one in store._last.due]
        await asyncio.gather(*calls)
        return together

    with Caller(server.url, "async") as caller:
        assert caller.run(asked, caller.store, caller.limiter(HOURLY).thing) == [1, 2]


def test_who_does_not_wait_any_more_is_counted_and_the_others_are_answered(server: Server) -> None:
    async def asked(limiter: Any) -> list[int]:
        tasks = [asyncio.ensure_future(limiter.take("a")) for _ in range(4)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        tasks[2].cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        return [one.remaining for one in answers if not isinstance(one, BaseException)]

    with Caller(server.url, "async") as caller:
        limiter = caller.limiter(HOURLY)
        limiter.take("b")

        assert caller.run(asked, limiter.thing) == [48, 46]


def test_a_server_that_has_forgotten_the_script_counts_each_once(server: Server) -> None:
    with Caller(server.url, "async") as caller:
        limiter = caller.limiter(HOURLY)
        limiter.take("b")
        server.ask("SCRIPT", "FLUSH")

        answers = caller.run(crowd, limiter.thing, ["a"] * 20)

        assert sorted(one.remaining for one in answers) == list(range(30, 50))
        assert limiter.peek("a").remaining == 30


@pytest.mark.parametrize("size", [0, 24, 25, 49, 50, 74])
def test_a_reply_that_is_too_short_for_all_is_believed_by_none_it_does_not_answer(
    size: int,
) -> None:
    def reply(nonce: bytes) -> bytes:
        return bulk((nonce + 3 * struct.pack("<Bqqq", 0, 0, 3, 1_000_000))[: 8 + size])

    with Pretender(reply) as server, Caller(server.url, "async") as caller:
        limiter = caller.limiter("9/s")

        answers = caller.run(crowd, limiter.thing, ["a"] * 3)

        kinds = Counter(getattr(one, "kind", "decided") for one in answers)
        decided = size // 25
        assert kinds == Counter({"decided": decided, "protocol": 3 - decided})


def test_all_are_told_that_nobody_answers() -> None:
    with Pretender(lambda nonce: b"") as server, Caller(server.url, "async", budget=0.05) as caller:
        answers = caller.run(crowd, caller.limiter("9/s").thing, ["a"] * 40)

        assert [type(one) for one in answers] == [StoreUnavailable] * 40


async def crowd(limiter: Any, keys: list[str]) -> list[Any]:
    """What each is told, of those who ask at one moment."""
    return await asyncio.gather(*map(limiter.take, keys), return_exceptions=True)


def questions(server: Server) -> int:
    """How many were put to the server."""
    said = server.info("commandstats")["cmdstat_evalsha"]
    return int(said.removeprefix("calls=").partition(",")[0])
