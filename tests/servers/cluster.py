"""Six real nodes that are one cluster: three primaries, and a replica of each."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import combinations
from typing import NamedTuple

from tests.servers.launch import REPLICATION, Server, fields
from tests.servers.ports import Port
from tests.servers.process import launch, stop
from tests.servers.waiting import until
from tests.servers.wire import Refusal

SLOTS = 16_384
PRIMARIES = 3
OPTIONS = (
    *("--cluster-enabled", "yes", "--cluster-node-timeout", "1000"),
    *REPLICATION,
)


class Part(NamedTuple):
    """What a node believes of a node: whom it follows (itself, if a primary), and its slots."""

    follows: int
    slots: tuple[str, ...]


class Cluster:
    """A cluster on this machine. Nodes are `Server`s and keep their ports; roles change.

    `heal` brings back the cluster as it was formed, the first three nodes primaries of a third
    each, whatever has been killed, failed over or moved meanwhile.
    """

    def __init__(self, kind: str = "valkey") -> None:
        self.buses = [Port() for _ in range(2 * PRIMARIES)]
        self.nodes = [
            Server(kind, *OPTIONS, "--cluster-port", str(bus.number)) for bus in self.buses
        ]
        self.formed: dict[int, Part] = {}
        self.homes: dict[int, Server] = {}

    def __enter__(self) -> Cluster:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def ports(self) -> list[int]:
        return [node.port for node in self.nodes]

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes]

    def primaries(self) -> list[Server]:
        """The nodes that hold slots, in the order in which they were started."""
        parts = self.view()
        return [node for node in self.nodes if node.port in parts and parts[node.port].slots]

    def replicas(self, primary: Server) -> list[Server]:
        """Those that follow `primary` and live."""
        parts = self.view()
        following = [port for port in parts if parts[port].follows == primary.port != port]
        return [node for node in self.nodes if node.port in following]

    def owner(self, slot: int) -> Server:
        """The primary that `slot` belongs to."""
        parts = self.view()
        return next(node for node in self.nodes if node.port in parts and has(parts, node, slot))

    def slot(self, key: str) -> int:
        """The slot that `key` falls into."""
        return int(self.living()[0].ask("CLUSTER", "KEYSLOT", key))

    def kill(self, node: Server) -> None:
        """End `node` on the spot. The others notice within seconds; `settle` waits for that."""
        node.kill()

    def failover(self, replica: Server) -> None:
        """Let `replica` and its primary change places, and wait until all nodes know."""
        replica.ask("CLUSTER", "FAILOVER")
        # Of one who is held for failed, if only for a moment, nothing is known.
        until(lambda: replica in self.primaries(), f"{replica} to be a primary")
        self.settle()

    def move(self, slot: int, to: Server) -> None:
        """Give `slot` and its keys to the primary `to`, and wait until all nodes know."""
        self.begin(slot, to)
        self.carry(slot, to)
        self.finish(slot, to)

    def begin(self, slot: int, to: Server) -> None:
        """Open the move: from now on the owner answers ASK for keys that it does not hold."""
        source = self.owner(slot)
        self.homes.setdefault(slot, source)
        to.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", name(source))
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", name(to))

    def carry(self, slot: int, to: Server) -> None:
        """Send the keys of an opened move to `to`; the slot is still the old owner's."""
        source = self.owner(slot)
        while keys := source.ask("CLUSTER", "GETKEYSINSLOT", slot, 100):
            source.ask("MIGRATE", "127.0.0.1", to.port, "", 0, 5000, "KEYS", *keys)

    def finish(self, slot: int, to: Server) -> None:
        """Close the move: `slot` is the new owner's, the old one answers MOVED."""
        first = [to, self.owner(slot)]
        for node in first + [node for node in self.primaries() if node not in first]:
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", name(to))
        self.settle()

    def view(self) -> dict[int, Part]:
        """The parts of all nodes that have not failed, as the first living node sees them."""
        return view(self.living()[0])

    def settle(self) -> None:
        """Wait until the living nodes are a cluster that serves, and agree about everything."""
        until(self.settled, "the cluster to settle")

    def settled(self) -> bool:
        living = self.living()
        parts = view(living[0])
        return (
            parts.keys() == {node.port for node in living}
            and all(view(node) == parts for node in living)
            and all(serves(node) for node in living)
        )

    def heal(self) -> None:
        """The cluster as it was formed, and empty."""
        if not self.undo():
            stop(*self.nodes)
            self.start()

    def undo(self) -> bool:
        """Give back slots and roles and forget all keys; whether it is now as it was formed.

        That is much quicker than to form it again, but needs every node.
        """
        if not all(node.alive and not node.paused for node in self.nodes):
            return False
        # Who does not answer is not as he was. Who is held for failed is, a moment later.
        with suppress(OSError, Refusal):
            self.settle()
            for node in self.nodes[:PRIMARIES]:
                if node not in self.primaries():
                    self.failover(node)
            for slot, home in self.homes.items():
                self.restore(slot, home)
            self.homes.clear()
            self.flush()
            return until(self.restored, "the cluster as it was formed", 20.0)
        return False

    def restored(self) -> bool:
        same = all(view(node) == self.formed for node in self.nodes)
        return same and self.settled() and not any(map(moving, self.nodes))

    def restore(self, slot: int, home: Server) -> None:
        for node in self.primaries():
            node.ask("CLUSTER", "SETSLOT", slot, "STABLE")
        if self.owner(slot) is not home:
            self.move(slot, home)

    def flush(self) -> None:
        for node in self.nodes[:PRIMARIES]:
            node.flush()
        # Scripts are not replicated, and neither is forgetting them.
        for node in self.nodes[PRIMARIES:]:
            node.ask("SCRIPT", "FLUSH")

    def start(self) -> None:
        self.homes.clear()
        for node in self.nodes:
            (node.folder / "nodes.conf").unlink(missing_ok=True)
        launch(*self.nodes)
        self.form()

    def form(self) -> None:
        share = -(-SLOTS // PRIMARIES)
        for number, node in enumerate(self.nodes):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            if number < PRIMARIES:
                last = min(share * (number + 1), SLOTS) - 1
                node.ask("CLUSTER", "ADDSLOTSRANGE", share * number, last)
        # Everybody meets everybody: gossip alone would take a second longer.
        for (one, _), (other, bus) in combinations(zip(self.nodes, self.buses, strict=True), 2):
            one.ask("CLUSTER", "MEET", "127.0.0.1", other.port, bus.number)
        for primary, replica in zip(self.nodes, self.nodes[PRIMARIES:], strict=False):
            until(partial(follow, replica, primary), f"{replica} to follow {primary}")
        self.settle()
        self.formed = self.view()

    def living(self) -> list[Server]:
        return [node for node in self.nodes if node.alive]

    def close(self) -> None:
        stop(*self.nodes)
        for node in self.nodes:
            node.close()
        for bus in self.buses:
            bus.close()


def name(node: Server) -> str:
    """The name a node has in its cluster."""
    return str(node.ask("CLUSTER", "MYID"))


def follow(replica: Server, primary: Server) -> bool:
    return bool(replica.ask("CLUSTER", "REPLICATE", name(primary)) == "OK")


def serves(node: Server) -> bool:
    """Whether the node answers for its cluster, and has all that its primary has."""
    if fields(node.ask("CLUSTER", "INFO"))["cluster_state"] != "ok":
        return False
    return node.info("replication").get("master_link_status", "up") == "up"


def view(node: Server) -> dict[int, Part]:
    """The parts of all nodes that `node` does not hold for failed, by their ports."""
    lines = [line.split() for line in node.ask("CLUSTER", "NODES").splitlines()]
    ports = {line[0]: int(line[1].split("@")[0].split(":")[1]) for line in lines}
    return {
        ports[name]: Part(
            ports[name if follows == "-" else follows],
            tuple(span for span in rest[4:] if not span.startswith("[")),
        )
        for name, _, flags, follows, *rest in lines
        if not {"fail", "fail?", "handshake", "noaddr"} & set(flags.split(","))
    }


def moving(node: Server) -> bool:
    """Whether a move of one of its slots is open, or of one that it shall have: `[slot->-to]`."""
    return "[" in node.ask("CLUSTER", "NODES")


def has(parts: dict[int, Part], node: Server, slot: int) -> bool:
    for span in parts[node.port].slots:
        first, _, last = span.partition("-")
        if int(first) <= slot <= int(last or first):
            return True
    return False
