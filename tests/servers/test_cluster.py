"""A real cluster: it serves, redirects, moves slots, changes primaries, and heals."""

from __future__ import annotations

import pytest

from tests.servers.cluster import SLOTS, Cluster, serves, view
from tests.servers.launch import Server
from tests.servers.wire import Refusal

# Two keys that fall into one slot.
KEYS = ["{headgate}:a", "{headgate}:b"]


@pytest.fixture
def pair(cluster: Cluster) -> tuple[Server, Server]:
    """The owner of `KEYS`, which are set, and another primary."""
    owner = cluster.owner(cluster.slot(KEYS[0]))
    owner.ask("MSET", KEYS[0], "1", KEYS[1], "2")
    return owner, next(node for node in cluster.primaries() if node is not owner)


def test_a_cluster_is_three_primaries_with_a_replica_each(cluster: Cluster) -> None:
    primaries = cluster.primaries()

    assert primaries == cluster.nodes[:3]
    assert [cluster.replicas(one) for one in primaries] == [[one] for one in cluster.nodes[3:]]
    assert all(serves(node) for node in cluster.nodes)


def test_every_slot_has_one_owner(cluster: Cluster) -> None:
    answered = cluster.nodes[0].ask("CLUSTER", "SLOTS")

    spans = sorted((first, last, primary[1]) for first, last, primary, *_ in answered)
    assert [span[0] for span in spans] == [0, *(span[1] + 1 for span in spans[:-1])]
    assert spans[-1][1] == SLOTS - 1
    assert [span[2] for span in spans] == [node.port for node in cluster.primaries()]


def test_a_node_sends_away_who_asks_for_the_keys_of_another(
    cluster: Cluster, pair: tuple[Server, Server]
) -> None:
    owner, other = pair

    with pytest.raises(Refusal) as refusal:
        other.ask("GET", KEYS[0])
    assert str(refusal.value) == f"MOVED {cluster.slot(KEYS[0])} 127.0.0.1:{owner.port}"


def test_half_way_through_a_move_the_old_owner_says_whom_to_ask(
    cluster: Cluster, pair: tuple[Server, Server]
) -> None:
    owner, other = pair
    slot = cluster.slot(KEYS[0])

    cluster.begin(slot, other)
    kept = owner.ask("GET", KEYS[0])
    cluster.carry(slot, other)

    with pytest.raises(Refusal) as refusal:
        owner.ask("GET", KEYS[0])
    with other.wire() as wire:
        asked = [wire.ask("ASKING"), wire.ask("GET", KEYS[0])]
    assert str(refusal.value) == f"ASK {slot} 127.0.0.1:{other.port}"
    assert (kept, asked) == ("1", ["OK", "1"])
    assert cluster.owner(slot) is owner


def test_half_way_through_a_move_several_keys_may_be_in_two_places(
    cluster: Cluster, pair: tuple[Server, Server]
) -> None:
    owner, other = pair
    cluster.begin(cluster.slot(KEYS[0]), other)
    owner.ask("MIGRATE", "127.0.0.1", other.port, KEYS[0], 0, 5000)

    with pytest.raises(Refusal, match=r"^TRYAGAIN "):
        owner.ask("MGET", *KEYS)


def test_a_moved_slot_takes_its_keys_along(cluster: Cluster, pair: tuple[Server, Server]) -> None:
    owner, other = pair
    slot = cluster.slot(KEYS[0])

    cluster.move(slot, other)

    with pytest.raises(Refusal) as refusal:
        owner.ask("MGET", *KEYS)
    assert str(refusal.value) == f"MOVED {slot} 127.0.0.1:{other.port}"
    assert other.ask("MGET", *KEYS) == ["1", "2"]
    assert cluster.owner(slot) is other


def test_a_failover_makes_the_replica_the_primary_and_loses_nothing(
    cluster: Cluster, pair: tuple[Server, Server]
) -> None:
    owner, _ = pair
    (replica,) = cluster.replicas(owner)

    cluster.failover(replica)

    assert cluster.owner(cluster.slot(KEYS[0])) is replica
    assert cluster.replicas(replica) == [owner]
    assert replica.ask("MGET", *KEYS) == ["1", "2"]


def test_a_killed_primary_is_succeeded_and_a_healed_cluster_is_as_it_was_formed(
    cluster: Cluster,
) -> None:
    first, *others = cluster.primaries()
    (replica,) = cluster.replicas(first)
    formed = cluster.view()

    cluster.kill(first)
    cluster.settle()
    after = cluster.primaries()
    cluster.heal()

    assert after == [*others, replica]
    assert [view(node) for node in cluster.nodes] == [formed] * 6


def test_what_was_moved_and_failed_over_is_put_back_by_the_same_processes(
    cluster: Cluster, pair: tuple[Server, Server]
) -> None:
    owner, other = pair
    formed, numbers = cluster.view(), [node.pid for node in cluster.nodes]
    slot = cluster.slot(KEYS[0])
    cluster.move(slot, other)
    cluster.begin(slot + 1, other)
    cluster.failover(cluster.replicas(other)[0])

    cluster.heal()

    assert [view(node) for node in cluster.nodes] == [formed] * 6
    assert [node.pid for node in cluster.nodes] == numbers
    assert owner.ask("MGET", *KEYS) == [None, None]


@pytest.mark.usefixtures("pair")
def test_a_healed_cluster_has_no_key_and_no_script(cluster: Cluster) -> None:
    for node in cluster.nodes:
        node.ask("SCRIPT", "LOAD", "return 1")
    numbers = [node.pid for node in cluster.nodes]

    cluster.heal()

    scripts = [node.info("memory")["number_of_cached_scripts"] for node in cluster.nodes]
    assert [node.ask("DBSIZE") for node in cluster.primaries()] == [0] * 3
    assert scripts == ["0"] * 6
    assert [node.pid for node in cluster.nodes] == numbers
