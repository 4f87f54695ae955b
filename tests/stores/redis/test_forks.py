"""A forked child goes on with its parent's store, and never on its parent's lines."""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from headgate import Limiter, RedisStore, TokenBucket
from tests.faults.impostor import Impostor, bulk, nonce
from tests.servers.cluster import Cluster
from tests.servers.launch import Server
from tests.stores.redis.callers import COLOURS, Caller, lines, url
from tests.stores.redis.conftest import KINDS
from tests.stores.redis.processes import together

CHILDREN = 4
colours = pytest.mark.parametrize("colour", COLOURS)


@pytest.fixture(params=[*KINDS, "cluster"])
def way(request: pytest.FixtureRequest) -> str:
    """The URL of a server, of another kind of server, of a cluster."""
    return url(request.getfixturevalue(request.param))


def test_children_and_parent_take_from_one_limit(way: str) -> None:
    with Caller(way) as caller:
        limiter = caller.limiter(TokenBucket("1/h", burst=500))
        first = [limiter.take("shared").remaining for _ in range(20)]
        told = together([lambda: remaining(limiter, "shared", 70)] * CHILDREN)
        last = remaining(limiter, "shared", 60)

    everybody = sorted([*first, *last, *(left for child in told for left in child)])
    assert everybody == list(range(500 - 20 - 60 - 70 * CHILDREN, 500))


def test_children_of_a_busy_parent_hear_the_answers_to_their_own_questions(way: str) -> None:
    with Caller(way) as caller:
        limiter = caller.limiter(TokenBucket("1/h", burst=100_000))
        with traffic(limiter, 4) as heard:
            told = together([own(limiter, f"child:{n}") for n in range(CHILDREN)])

    assert told == [list(range(99_999, 99_949, -1))] * CHILDREN
    # And so did the threads of the parent, all the while.
    assert [left for left in heard if left != list(range(99_999, 99_999 - len(left), -1))] == []
    assert min(map(len, heard)) > 0


def test_a_line_that_a_fork_came_over_is_not_spoken_on_again() -> None:
    # Who forks in the middle of a call, as a signal handler may, goes on with it in the child.
    boards: list[Any] = []

    def answer(words: list[bytes]) -> bytes:
        boards[0].renew()
        return bulk(nonce(words) + struct.pack("<Bqqq", 0, 0, 9, 0))

    with Impostor(answer) as impostor:
        store = RedisStore(f"redis://127.0.0.1:{impostor.port}", 5.0)
        boards.append(store._board)
        assert Limiter("10/h", store=store, when_unavailable="raise").take("k").remaining == 9

    assert not any(store._board.idle.values())


def test_a_child_dials_for_itself(server: Server) -> None:
    with Caller(server.url) as caller:
        limiter = caller.limiter(TokenBucket("1/h", burst=100))
        limiter.take("k")
        mine = lines(server)
        # A child lives until the last of them has answered, and so do its lines.
        told = together([lambda: (remaining(limiter, "k", 5), lines(server))] * 2)

    assert all(mine < found for _, found in told)


def test_a_parent_goes_on_with_its_lines_after_a_child_has_ended(server: Server) -> None:
    with Caller(server.url) as caller:
        limiter = caller.limiter(TokenBucket("1/h", burst=100))
        limiter.take("k")
        mine = lines(server)
        together([lambda: remaining(limiter, "k", 5)] * 2)
        limiter.take("k")

        assert mine <= lines(server)


def test_a_child_that_is_forked_while_a_cluster_is_looked_for_does_not_hang(
    cluster: Cluster, scale: int
) -> None:
    with Caller(url(cluster)) as caller:
        limiter = caller.limiter(TokenBucket("1/h", burst=100))
        over = threading.Event()

        def search() -> None:
            # Forgetting who is who makes every call look for it.
            while not over.is_set():
                for place in {place for place in caller.store.fleet.slots if place}:
                    caller.store.fleet.doubt(place)
                limiter.take("busy", 0)

        thread = threading.Thread(target=search)
        thread.start()
        try:
            told = [together([lambda: remaining(limiter, "k", 1)])[0] for _ in range(5 * scale)]
        finally:
            over.set()
            thread.join()

    assert told == [[left] for left in range(99, 99 - 5 * scale, -1)]


@colours
def test_a_child_that_never_spoke_opens_the_store_it_inherits(way: str, colour: str) -> None:
    with Caller(way, colour) as caller:
        limiter = caller.limiter(TokenBucket("1/h", burst=100)).thing

        def work() -> list[int]:
            if colour == "sync":
                return remaining(limiter, "k", 10)
            return asyncio.run(awaited(limiter, "k", 10))

        told = together([work] * 3)

    assert sorted(left for child in told for left in child) == list(range(70, 100))


def test_children_run_loops_of_their_own_on_a_store_that_was_used_before(way: str) -> None:
    with Caller(way, "async") as caller:
        limiter = caller.limiter(TokenBucket("1/h", burst=100)).thing
        first = caller.run(awaited, limiter, "k", 10)
        told = together([lambda: asyncio.run(awaited(limiter, "k", 10))] * 3)
        last = caller.run(awaited, limiter, "k", 10)

    assert (first, last) == (list(range(99, 89, -1)), list(range(59, 49, -1)))
    assert sorted(left for child in told for left in child) == list(range(60, 90))


def own(limiter: Any, key: str) -> Any:
    return lambda: remaining(limiter, key, 50)


def remaining(limiter: Any, key: str, count: int) -> list[int]:
    """What is left after each of so many takes."""
    return [limiter.take(key).remaining for _ in range(count)]


async def awaited(limiter: Any, key: str, count: int) -> list[int]:
    return [(await limiter.take(key)).remaining for _ in range(count)]


@contextmanager
def traffic(limiter: Any, threads: int) -> Iterator[list[list[int]]]:
    """Threads that take all the time, each a key of its own, and what they hear."""
    over = threading.Event()
    heard: list[list[int]] = [[] for _ in range(threads)]

    def take(number: int) -> None:
        while not over.is_set():
            heard[number].append(limiter.take(f"thread:{number}").remaining)

    running = [threading.Thread(target=take, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    try:
        yield heard
    finally:
        over.set()
        for thread in running:
            thread.join()
