"""Many processes, threads and loops on one limit: not a unit too many, and not one too few.

Counted from what each of them was told, never from what the limiter counts itself. Every answer is
there once: who was let in first was told that one less than all is left, and so on to none.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial

import pytest

from headgate import GCRA, FixedWindow, Limit, SlidingLog, TokenBucket
from tests.conftest import BRIEF
from tests.crowd import hasty
from tests.crowd import together as gathered
from tests.servers.launch import Server, fields
from tests.servers.wire import Wire
from tests.stores.redis.callers import COLOURS, Caller, url
from tests.stores.redis.conftest import KINDS
from tests.stores.redis.processes import run_together
from tests.stores.redis.records import moment
from tests.stores.redis.visits import Answer, crowd, seen, visit

PROCESSES = 8
colours = pytest.mark.parametrize("colour", COLOURS)


# A cluster is nothing to the form either: in both, a fork and all tables are tried on one.
@pytest.fixture(params=KINDS if BRIEF else [*KINDS, "cluster"])
def way(request: pytest.FixtureRequest) -> str:
    """The URL of a server, of another kind of server, of a cluster."""
    return url(request.getfixturevalue(request.param))


@pytest.fixture
def takes(scale: int) -> int:
    """How many takes each process makes: 120, or 20,000 at length."""
    return 120 if scale == 1 else 2_000 * scale


@colours
def test_processes_on_one_hot_key_admit_exactly_the_limit(
    way: str, colour: str, takes: int
) -> None:
    limit = TokenBucket("1/h", burst=PROCESSES * takes // 3)
    work = partial(visit, way, colour, (limit,), ["hot"] * takes)
    history = [answer for told in run_together([work] * PROCESSES) for answer in told]

    assert len(history) == PROCESSES * takes
    assert left(history) == list(range(limit.burst))


@colours
def test_processes_on_many_cold_keys_admit_exactly_the_limit_of_each(
    way: str, colour: str, takes: int
) -> None:
    keys = [f"cold:{number}" for number in range(min(takes, 10_000))]
    # Everybody takes each key as often as everybody else, and begins elsewhere.
    begins = [n * 61 % len(keys) for n in range(PROCESSES)]
    walks = [(keys[begin:] + keys[:begin]) * (takes // len(keys)) for begin in begins]
    works = [partial(visit, way, colour, (TokenBucket("1/h", burst=3),), walk) for walk in walks]
    history = [answer for told in run_together(works) for answer in told]
    admitted = Counter(answer.key for answer in history if answer.allowed)

    assert len(history) == PROCESSES * takes
    assert admitted == dict.fromkeys(keys, 3)


@pytest.mark.parametrize(
    "limits",
    [
        (GCRA("1/h", burst=300),),
        (FixedWindow("300 per 3650day"),),
        (SlidingLog("300 per 3650day"),),
        (SlidingLog("40 per 3650day"), GCRA("1/h", burst=300)),
    ],
    ids=repr,
)
def test_processes_admit_exactly_what_every_algorithm_does(
    server: Server, limits: tuple[Limit, ...]
) -> None:
    work = partial(visit, server.url, "sync", limits, ["hot"] * 60)
    history = [answer for told in run_together([work] * PROCESSES) for answer in told]

    assert left(history) == list(range(min(limit.limit for limit in limits)))


def test_both_colours_together_admit_exactly_the_limit(server: Server) -> None:
    limit = TokenBucket("1/h", burst=500)
    works = [partial(visit, server.url, colour, (limit,), ["hot"] * 200) for colour in COLOURS * 4]
    history = [answer for told in run_together(works) for answer in told]

    assert left(history) == list(range(500))


@colours
def test_processes_never_admit_more_than_the_burst_and_the_rate(
    server: Server, colour: str
) -> None:
    limit = GCRA("100/s", burst=50)
    work = partial(visit, server.url, colour, (limit,), ["hot"] * 300)
    with server.wire() as wire:
        begin = moment(wire)
        history = [answer for told in run_together([work] * PROCESSES) for answer in told]
        seconds = (moment(wire) - begin) / 1e6

    admitted = sum(answer.allowed for answer in history)
    assert 50 <= admitted <= 50 + 100 * seconds


def test_threads_on_one_store_admit_exactly_the_limit_on_few_lines(server: Server) -> None:
    with Caller(server.url, lines=6) as caller, server.wire() as wire:
        limiter = caller.limiter(TokenBucket("1/h", burst=900))
        before = dialled(wire)
        told = gathered(lambda number: [seen(limiter, "hot") for _ in range(60)], 32)

        assert left([answer for answers in told for answer in answers]) == list(range(900))
        assert dialled(wire) - before <= 6


def test_threads_hear_the_answers_to_their_own_questions(server: Server) -> None:
    with Caller(server.url, lines=6) as caller:
        limiter = caller.limiter(TokenBucket("1/h", burst=1000))
        told = gathered(lambda number: [seen(limiter, f"{number}") for _ in range(40)], 32)

    expected = [[Answer(f"{n}", True, 999 - turn) for turn in range(40)] for n in range(32)]
    assert told == expected


def test_threads_that_turn_the_page_of_a_calendar_charge_each_key_once(
    valkey: Server, scale: int
) -> None:
    keys = [f"key:{number}" for number in range(50)]
    with Caller(valkey.url) as caller, hasty():
        for _ in range(3 * scale):
            limiter = caller.limiter(FixedWindow("1000 per 30day", calendar="month"))
            gathered(lambda number, limiter=limiter: limiter.take_many(keys), 4)

            assert {limiter.peek(key).remaining for key in keys} == {996}


def test_event_loops_of_many_threads_share_one_store(server: Server) -> None:
    with Caller(server.url, "async") as caller:
        limiter = caller.limiter(TokenBucket("1/h", burst=300)).thing
        told = gathered(lambda number: asyncio.run(crowd(limiter, ["hot"] * 100)), 6)

    assert left([answer for answers in told for answer in answers]) == list(range(300))


def left(history: list[Answer]) -> list[int]:
    """What those who were let in were told is left, in order."""
    return sorted(answer.remaining for answer in history if answer.allowed)


def dialled(wire: Wire) -> int:
    """How many connections the server has ever had."""
    return int(fields(wire.ask("INFO", "stats"))["total_connections_received"])
