"""Primaries that die, freeze or hand over, under sentinels and in a cluster, and slots that move.

These run on the machine's own clock, since failovers do. Nothing sleeps: the store is asked until
it answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import pytest

from headgate import TokenBucket
from tests.faults.caller import COLOURS, HANG, Call, Caller
from tests.servers.cluster import Cluster
from tests.servers.sentinels import Sentinels
from tests.servers.waiting import until

# What is not to change while a failover lasts.
LIMIT = TokenBucket("50 per 1000day")
AMPLE = 5.0
# A failover takes seconds: of each kind the short run has one colour, and the long one both.
FAILOVERS = [
    ("sync", "kill"),
    ("async", "pause"),
    pytest.param("sync", "pause", marks=pytest.mark.soak),
    pytest.param("async", "kill", marks=pytest.mark.soak),
]


def watched(sentinels: Sentinels) -> str:
    hosts = ",".join(f"127.0.0.1:{port}" for port in sentinels.ports)
    return f"redis+sentinel://{hosts}/{sentinels.service}"


def spread(cluster: Cluster) -> str:
    return "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in cluster.ports)


def let_in(calls: list[Call]) -> int:
    """How many the store itself admitted."""
    return sum(not call.without and bool(call.decision) for call in calls)


def exhausted(caller: Caller, key: str = "k") -> bool:
    """Take until the store says no."""
    call = caller.take(key)
    return not call.without and not call.decision


@pytest.mark.parametrize(("colour", "how"), FAILOVERS)
def test_sentinels_name_another_primary_and_callers_find_it(
    colour: str, how: str, sentinels: Sentinels, hire: Callable[..., Caller]
) -> None:
    caller = hire(colour, LIMIT, url=watched(sentinels), mode="raise", clock=None)
    until(caller.back, "the store to be known")
    for _ in range(20):
        caller.take()

    getattr(sentinels.primary(), how)()
    until(lambda: not caller.take().without, "another primary to be found")
    until(lambda: exhausted(caller), "the limit to be reached")

    assert let_in(caller.history) <= 2 * LIMIT.limit


@pytest.mark.soak
@pytest.mark.parametrize("colour", COLOURS)
def test_twenty_failovers_let_in_a_quota_each_at_most(
    colour: str, sentinels: Sentinels, hire: Callable[..., Caller]
) -> None:
    caller = hire(colour, LIMIT, url=watched(sentinels), mode="raise", clock=None)
    until(caller.back, "the store to be known")

    for _ in range(20):
        # Formed anew and empty: a quota for that, and one for the failover.
        sentinels.heal()
        until(lambda: exhausted(caller), "the limit to be reached")
        sentinels.kill_primary()
        until(lambda: not caller.take().without, "another primary to be found", seconds=60.0)
        until(lambda: exhausted(caller), "the limit to be reached")

    assert let_in(caller.history) <= 20 * 2 * LIMIT.limit


@pytest.mark.parametrize(
    "mode", ["local", *(pytest.param(mode, marks=pytest.mark.soak) for mode in ("allow", "deny"))]
)
def test_an_outage_under_sentinels_is_bridged_as_it_was_said(
    mode: str, sentinels: Sentinels, hire: Callable[..., Caller]
) -> None:
    caller = hire("sync", LIMIT, url=watched(sentinels), mode=mode, clock=None)
    until(caller.back, "the store to be known")
    known = len(caller.history)

    sentinels.kill_primary()
    meanwhile = [caller.take() for _ in range(60)]
    until(lambda: not caller.take().without, "another primary to be found")

    without = [call for call in meanwhile if call.without]
    passed = sum(bool(call.answer) for call in without)
    share = {"local": LIMIT.limit, "allow": 60, "deny": 0}
    assert len(without) == 60
    assert passed == share[mode]
    assert let_in(caller.history) <= 2 * LIMIT.limit - known


@pytest.mark.parametrize("colour", ["sync", pytest.param("async", marks=pytest.mark.soak)])
def test_a_key_can_be_forgotten_right_after_a_failover(
    colour: str, sentinels: Sentinels, hire: Callable[..., Caller]
) -> None:
    caller = hire(colour, LIMIT, url=watched(sentinels), budget=AMPLE, clock=None)
    caller.take()
    sentinels.kill_primary()
    sentinels.settle()

    call = caller.ask("reset")

    assert call.problem is None


@pytest.mark.parametrize("colour", COLOURS)
def test_a_replica_takes_over_by_agreement_and_nothing_is_lost(
    colour: str, cluster: Cluster, hire: Callable[..., Caller]
) -> None:
    caller = hire(colour, LIMIT, url=spread(cluster), mode="raise", budget=AMPLE, clock=None)
    for _ in range(20):
        caller.take()
    owner = cluster.owner(cluster.slot("k"))

    with shouting(caller) as calls:
        cluster.failover(cluster.replicas(owner)[0])

    # Nodes of a machine that has too much to do may lose sight of each other; they say so.
    said = {getattr(call.problem, "kind", "") for call in calls if call.problem}
    assert said <= {"clusterdown"}
    assert let_in(caller.history + calls) == LIMIT.limit


@pytest.mark.parametrize(("colour", "how"), FAILOVERS)
def test_a_cluster_replaces_a_primary_and_callers_find_the_other(
    colour: str, how: str, cluster: Cluster, hire: Callable[..., Caller]
) -> None:
    caller = hire(colour, LIMIT, url=spread(cluster), mode="raise", clock=None)
    until(caller.back, "the store to be known")
    owner = cluster.owner(cluster.slot("k"))

    getattr(owner, how)()
    until(lambda: not caller.take().without, "the replica to be found")
    until(lambda: exhausted(caller), "the limit to be reached")

    said = {getattr(call.problem, "kind", "") for call in caller.history if call.problem}
    assert said <= {"timeout", "connection", "clusterdown"}
    assert let_in(caller.history) <= 2 * LIMIT.limit


@pytest.mark.parametrize("colour", COLOURS)
def test_a_slot_moves_under_load_and_no_answer_is_wrong(
    colour: str, cluster: Cluster, hire: Callable[..., Caller]
) -> None:
    caller = hire(colour, LIMIT, url=spread(cluster), mode="raise", budget=AMPLE, clock=None)
    slot = cluster.slot("k")
    source = cluster.owner(slot)
    target = next(node for node in cluster.primaries() if node is not source)
    caller.take()

    with shouting(caller) as calls:
        cluster.begin(slot, target)
        asked(caller)
        cluster.carry(slot, target)
        asked(caller)
        cluster.finish(slot, target)
        asked(caller)

    # Nodes of a machine that has too much to do may lose sight of each other; they say so.
    said = {getattr(call.problem, "kind", "") for call in calls if call.problem}
    assert said <= {"clusterdown"}
    assert let_in(caller.history + calls) == LIMIT.limit


@pytest.mark.parametrize("colour", COLOURS)
def test_keys_of_many_slots_are_asked_at_once_while_one_moves(
    colour: str, cluster: Cluster, hire: Callable[..., Caller]
) -> None:
    caller = hire(colour, LIMIT, url=spread(cluster), mode="raise", budget=AMPLE, clock=None)
    keys = ["k", *(f"key{number}" for number in range(30))]
    slot = cluster.slot("k")
    target = next(node for node in cluster.primaries() if node is not cluster.owner(slot))

    cluster.begin(slot, target)
    new = caller.many(keys)
    cluster.carry(slot, target)
    asking = caller.many(keys)
    cluster.finish(slot, target)
    moved = caller.many(keys)

    left = [[decision.remaining for decision in call.answer] for call in (new, asking, moved)]
    assert left == [[49] * 31, [48] * 31, [47] * 31]


def asked(caller: Caller) -> None:
    """Some more takes, so that whatever has just changed is met."""
    for _ in range(3):
        caller.take()


@contextmanager
def shouting(caller: Caller) -> Iterator[list[Call]]:
    """Takes all the time, beside the block, until it is over and the limit is reached."""
    calls: list[Call] = []
    over = Event()

    def shout() -> None:
        while not over.is_set() or calls[-1].answer:
            calls.append(caller.desk.begin("take", "k").result(HANG))

    with ThreadPoolExecutor(1) as beside:
        shouted = beside.submit(shout)
        until(lambda: calls, "the first take")
        yield calls
        over.set()
        shouted.result(HANG)
