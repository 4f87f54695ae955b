"""Scripts: known to a server when they are needed, quick, and not upset by what they find there."""

from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from headgate import (
    GCRA,
    FixedWindow,
    LeakyBucket,
    Limit,
    ManualClock,
    SlidingLog,
    SlidingWindow,
    TokenBucket,
    WarmUp,
)
from headgate.stores.redis.names import slot, tag
from tests.pairs import pairs
from tests.servers.cluster import Cluster
from tests.servers.launch import Server, fields
from tests.servers.wire import Wire
from tests.stores.redis.callers import COLOURS, Caller, url
from tests.stores.redis.conftest import KINDS
from tests.stores.redis.records import place, read, value

colours = pytest.mark.parametrize("colour", COLOURS)

# Every algorithm, and every shape a record and a script have.
SHAPES: list[tuple[Limit, ...]] = [
    (TokenBucket("5/s"),),
    (TokenBucket("5/s", initial=0),),
    (TokenBucket("5/s", penalty=1),),
    (GCRA("5/s"),),
    (LeakyBucket("5/s"),),
    (FixedWindow("5/s"),),
    (FixedWindow("5/day", calendar="day"),),
    (SlidingWindow("5/s"),),
    (SlidingLog("5/s"),),
    (SlidingLog("100/s"),),
    (WarmUp("5/s", period=2.0),),
    (GCRA("5/s"), SlidingLog("7/s"), FixedWindow("5/day", calendar="day")),
    (TokenBucket("5/s"), SlidingLog("100/s")),
]
VERBS = ["take", "peek", "debit", "reserve"]


@colours
def test_a_server_that_forgets_its_scripts_is_told_again(server: Server, colour: str) -> None:
    with Caller(server.url, colour) as caller:
        limiter = caller.limiter("9 per 3650day")
        left = []
        for verb in ["take", "debit", "refund", "take", "peek"]:
            server.ask("SCRIPT", "FLUSH")
            left.append(getattr(limiter, verb)("k").remaining)

    assert left == [8, 7, 8, 7, 7]


@colours
def test_a_script_is_sent_once_and_then_called_by_its_name(server: Server, colour: str) -> None:
    server.ask("CONFIG", "RESETSTAT")
    with Caller(server.url, colour) as caller:
        limiter = caller.limiter("9 per 3650day")
        for _ in range(20):
            limiter.take("k")

    assert calls(server, "eval", "evalsha") == [1, 20]


@colours
def test_many_questions_to_a_server_that_has_forgotten_are_charged_once(
    server: Server, colour: str
) -> None:
    keys = [f"key:{number % 40}" for number in range(120)]
    with Caller(server.url, colour) as caller:
        limiter = caller.limiter("9 per 3650day")
        limiter.take_many(keys)
        server.ask("SCRIPT", "FLUSH")

        left = sorted(one.remaining for one in limiter.take_many(keys))

    assert left == [3] * 40 + [4] * 40 + [5] * 40


@colours
def test_every_node_of_a_cluster_is_told_its_scripts(cluster: Cluster, colour: str) -> None:
    keys = [f"user:{number}" for number in range(60)]
    with Caller(url(cluster), colour) as caller:
        limiter = caller.limiter("9 per 3650day")
        left = []
        for _ in range(3):
            for node in cluster.nodes:
                node.ask("SCRIPT", "FLUSH")
            left.append({limiter.take(key).remaining for key in keys})

    assert left == [{8}, {7}, {6}]


@colours
def test_many_keys_are_charged_once_though_one_of_them_has_moved(
    cluster: Cluster, colour: str
) -> None:
    home, other, _ = cluster.primaries()
    keys = [key for key in (f"user:{n}" for n in range(300)) if owner(cluster, key) is home][:20]
    with Caller(url(cluster), colour) as caller:
        limiter = caller.limiter("9 per 3650day")
        limiter.take_many(keys)
        cluster.move(slot(tag(keys[0])), other)

        assert [one.remaining for one in limiter.take_many(keys)] == [7] * len(keys)


@colours
def test_many_keys_of_a_cluster_are_decided_in_one_journey_to_each_node(
    cluster: Cluster, colour: str
) -> None:
    keys = [f"user:{number}" for number in range(60)]
    with Caller(url(cluster), colour) as caller, ExitStack() as stack:
        limiter = caller.limiter("9 per 3650day")
        limiter.take_many(keys)
        wires = [stack.enter_context(node.wire()) for node in cluster.primaries()]
        before = [journeys(wire) for wire in wires]
        limiter.take_many(keys)
        after = [journeys(wire) for wire in wires]

    # The judge's question is one of them, and a replica may have said where it is.
    assert max(late - early for early, late in zip(before, after, strict=True)) <= 6


# What is put there, and what of: the record that would be right.
PLANTED: dict[str, tuple[str, Callable[[bytes], list[bytes]]]] = {
    "empty": ("SET", lambda record: [b""]),
    "short": ("SET", lambda record: [b"\x01"]),
    "shorter by one": ("SET", lambda record: [record[:-1]]),
    "longer by one": ("SET", lambda record: [record + b"\0"]),
    "another version": ("SET", lambda record: [b"\x02" + record[1:]]),
    "long text": ("SET", lambda record: [b"x" * 100_000]),
    "a number": ("SET", lambda record: [b"42"]),
    "a hash": ("HSET", lambda record: [b"field", record]),
    "a list": ("RPUSH", lambda record: [record, record]),
    "a set": ("SADD", lambda record: [record]),
    "a sorted set": ("ZADD", lambda record: [b"1", record]),
    "a stream": ("XADD", lambda record: [b"*", b"field", record]),
}


@pytest.mark.parametrize(
    ("planted", "verb", "server"), pairs(PLANTED, VERBS, KINDS), indirect=["server"]
)
def test_what_is_not_ours_is_taken_for_nothing(server: Server, planted: str, verb: str) -> None:
    clock = ManualClock(1_000_000_000.0)
    with Caller(server.url) as caller, server.wire() as wire:
        for limits in SHAPES:
            if paged(limits) and planted.endswith("by one"):
                # It grows as it is written, so no length of it is wrong.
                continue
            limiter = caller.limiter(*limits, clock=clock, name="planted")
            plant(wire, limits, limiter, planted)
            expected = told(caller.limiter(*limits, clock=clock), verb)

            assert told(limiter, verb) == expected, limits


@pytest.mark.parametrize("planted", PLANTED)
def test_what_is_not_ours_is_replaced_when_something_is_spent(server: Server, planted: str) -> None:
    clock = ManualClock(1_000_000_000.0)
    with Caller(server.url) as caller, server.wire() as wire:
        for limits in SHAPES:
            limiter = caller.limiter(*limits, clock=clock, name="planted")
            plant(wire, limits, limiter, planted)
            limiter.debit("k")

            assert read(wire, place(limits, "planted", "k")).written == clock.now(), limits


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "cell",
    [1 << 53, -(1 << 53), (1 << 63) - 1, -(1 << 63), -(1 << 62)],
    ids=["2^53", "-2^53", "2^63-1", "-2^63", "-2^62"],
)
def test_numbers_that_no_limit_writes_are_taken_for_nothing(
    server: Server, verb: str, cell: int
) -> None:
    clock = ManualClock(1_000_000_000.0)
    with Caller(server.url) as caller, server.wire() as wire:
        for limits in SHAPES:
            limiter = caller.limiter(*limits, clock=clock, name="planted")
            limiter.debit("k")
            where = place(limits, "planted", "k")
            cells = len(value(wire, where)) // 8
            wire.ask("SET", where, b"\x01" + struct.pack("<q", cell) * cells)
            expected = told(caller.limiter(*limits, clock=clock), verb)

            assert told(limiter, verb) == expected, limits


@pytest.mark.parametrize("seed", range(5))
def test_one_wrong_number_spoils_a_record(server: Server, seed: int) -> None:
    chance = random.Random(seed)
    clock = ManualClock(1_000_000_000.0)
    with Caller(server.url) as caller, server.wire() as wire:
        for limits in SHAPES:
            if paged(limits):
                # Of a long record only a few numbers are looked at.
                continue
            limiter = caller.limiter(*limits, clock=clock, name="planted")
            limiter.debit("k")
            where = place(limits, "planted", "k")
            wire.ask("SET", where, noise(chance, len(value(wire, where)) // 8))
            verb = chance.choice(VERBS)

            assert told(limiter, verb) == told(caller.limiter(*limits, clock=clock), verb), limits


@colours
def test_many_keys_are_decided_in_one_journey(server: Server, colour: str) -> None:
    keys = [f"key:{number}" for number in range(60)]
    with Caller(server.url, colour) as caller, server.wire() as wire:
        limiter = caller.limiter("9 per 3650day")
        limiter.take_many(keys)
        before = journeys(wire)
        limiter.take_many(keys)

        # The judge's own question is one; a long letter may be read in a few pieces.
        assert journeys(wire) - before <= 6


def test_many_tasks_of_one_moment_travel_together(server: Server) -> None:
    with Caller(server.url, "async") as caller, server.wire() as wire:
        limiter = caller.limiter("90 per 3650day").thing

        async def together() -> list[int]:
            decisions = await asyncio.gather(*[limiter.take("k") for _ in range(60)])
            return [one.remaining for one in decisions]

        caller.run(limiter.take, "k")
        before = journeys(wire)

        assert caller.run(together) == [*range(88, 28, -1)]
        assert journeys(wire) - before <= 10


@pytest.mark.parametrize("count", [1_000, 10_000])
@pytest.mark.parametrize("verb", ["take", "peek", "debit", "reserve"])
def test_a_long_log_is_read_and_written_in_a_few_places(
    server: Server, count: int, verb: str
) -> None:
    with Caller(server.url) as caller, server.wire() as wire:
        limiter = caller.limiter(SlidingLog(f"{count}/day"), name="log")
        limiter.debit("k", count - 1)
        told(limiter, verb)
        wire.ask("CONFIG", "RESETSTAT")
        told(limiter, verb)

        assert 0 < sum(calls(server, "getrange", "setrange")) <= 60
        assert calls(server, "get", "set") == [0, 0]


@pytest.mark.parametrize("count", [1_000, 10_000])
def test_a_long_log_takes_eight_bytes_for_each_moment(server: Server, count: int) -> None:
    limit = SlidingLog(f"{count}/day")
    with Caller(server.url) as caller, server.wire() as wire:
        limiter = caller.limiter(limit, name="log")
        limiter.debit("k", count - 5)
        full = [limiter.take("k").remaining for _ in range(5)]
        full.append(limiter.take("k").reason)
        size = wire.ask("STRLEN", place((limit,), "log", "k"))

    assert full == [4, 3, 2, 1, 0, "limit"]
    assert 8 * count < size <= 8 * count + 64


def test_a_log_that_is_hardly_used_takes_little(server: Server) -> None:
    limit = SlidingLog("10000/day")
    with Caller(server.url) as caller, server.wire() as wire:
        caller.limiter(limit, name="log").take_many(["k"] * 5)

        assert wire.ask("STRLEN", place((limit,), "log", "k")) < 100


@colours
def test_more_limits_than_a_limiter_has_are_refused_as_in_memory(
    server: Server, colour: str
) -> None:
    limits = [TokenBucket(f"{100 - number}/s") for number in range(9)]
    with Caller(server.url, colour) as caller, pytest.raises(ValueError) as refused:
        caller.limiter(*limits)

    assert str(refused.value) == "a limiter has from 1 to 8 limits, not 9"


def test_eight_limits_are_told_apart(server: Server) -> None:
    with Caller(server.url) as caller:
        for tightest in range(8):
            counts = [5 if number == tightest else 50 for number in range(8)]
            limits = [GCRA(f"{n} per 3650day", burst=n, name=f"{i}") for i, n in enumerate(counts)]
            limiter = caller.limiter(*limits)
            decisions = [limiter.take("k", 5), limiter.take("k"), limiter.take("k", 6)]

            assert [one.rule for one in decisions] == [str(tightest)] * 3
            assert [one.reason for one in decisions] == ["", "limit", "never"]


def owner(cluster: Cluster, key: str) -> Server:
    """The node that has a key."""
    return cluster.owner(slot(tag(key)))


def paged(limits: tuple[Limit, ...]) -> bool:
    """Whether the record is so long that it is not read and written whole."""
    return sum(limit.width for limit in limits) > 62


def told(limiter: Any, verb: str) -> Any:
    """What a verb answers."""
    answer = getattr(limiter, verb)("k")
    return answer.decision if verb == "reserve" else answer


def plant(wire: Wire, limits: tuple[Limit, ...], limiter: Any, planted: str) -> None:
    """Put something where the record of the key should be."""
    where = place(limits, "planted", "k")
    limiter.reset("k")
    limiter.debit("k")
    verb, words = PLANTED[planted]
    told = words(value(wire, where))
    wire.ask("DEL", where)
    wire.ask(verb, where, *told)


def noise(chance: random.Random, cells: int) -> bytes:
    """Something like a record with so many numbers, one of which is too large."""
    numbers = [chance.choice([0, 1, -1, chance.getrandbits(51)]) for _ in range(cells)]
    large = chance.randrange(1 << 53, 1 << 63)
    numbers[chance.randrange(1, cells)] = chance.choice([-large, large])
    return b"\x01" + struct.pack(f"<{cells}q", *numbers)


def calls(server: Server, *commands: str) -> list[int]:
    """How often each of these commands was called since the statistics were reset."""
    stats = server.info("commandstats")
    found = [stats.get(f"cmdstat_{command}", "calls=0,") for command in commands]
    return [int(one.partition("=")[2].partition(",")[0]) for one in found]


def journeys(wire: Wire) -> int:
    """How often the server has read something from anybody."""
    return int(fields(wire.ask("INFO", "stats"))["total_reads_processed"])
