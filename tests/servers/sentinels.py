"""A primary, its replica, and three sentinels that watch over them."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from hashlib import sha1
from itertools import chain

from tests.servers.launch import REPLICATION, Server
from tests.servers.process import launch, stop
from tests.servers.waiting import until
from tests.servers.wire import Refusal

SERVICE = "headgate"
QUORUM = 2


class Sentinels:
    """Two data servers and three sentinels, which know the pair as `service`.

    `heal` brings back the five as they were formed, whatever has been killed meanwhile.
    """

    def __init__(self, kind: str = "valkey") -> None:
        self.service = SERVICE
        self.servers = [Server(kind, *REPLICATION) for _ in range(2)]
        # The file comes into its folder before the sentinel starts, and is its to write.
        self.sentinels = [Server(kind, "sentinel.conf", "--sentinel") for _ in range(3)]

    def __enter__(self) -> Sentinels:
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
        """The ports of the sentinels, which is all that a client is told."""
        return [sentinel.port for sentinel in self.sentinels]

    def primary(self) -> Server:
        """The primary as most of the sentinels say."""
        said = [port(sentinel) for sentinel in self.sentinels if sentinel.alive]
        most = max(set(said), key=said.count)
        if said.count(most) < QUORUM:
            raise Refusal(f"the sentinels disagree: {said}")
        return next(server for server in self.servers if server.port == most)

    def replica(self) -> Server:
        """The other of the two, alive or not."""
        primary = self.primary()
        return next(server for server in self.servers if server is not primary)

    def kill_primary(self) -> Server:
        """End the primary on the spot, and say which it was. `settle` waits for its successor."""
        primary = self.primary()
        primary.kill()
        return primary

    def settle(self) -> None:
        """Wait until all sentinels name one primary which lives and holds itself for one."""
        until(self.settled, "the sentinels to settle")

    def settled(self) -> bool:
        said = {port(sentinel) for sentinel in self.sentinels if sentinel.alive}
        primary = self.primary()
        return len(said) == 1 and primary.alive and primary.info("replication")["role"] == "master"

    def heal(self) -> None:
        """The five as they were formed, and empty."""
        if not self.undo():
            stop(*self.servers, *self.sentinels)
            self.start()

    def undo(self) -> bool:
        """Forget all keys; whether the five are now as they were formed."""
        everybody = [*self.servers, *self.sentinels]
        if not all(server.alive and not server.paused for server in everybody):
            return False
        # Who does not answer, or disagrees, is not as he was.
        with suppress(OSError, Refusal):
            self.servers[0].flush()
            self.servers[1].ask("SCRIPT", "FLUSH")
            return self.primary() is self.servers[0] and all(map(self.ready, self.sentinels))
        return False

    def start(self) -> None:
        launch(*self.servers)
        primary, replica = self.servers
        # Told by command, it asks for its copy at once; told by an option, after a second.
        replica.ask("REPLICAOF", "127.0.0.1", primary.port)
        until(partial(copied, replica), f"{replica} to be a copy")
        for sentinel in self.sentinels:
            (sentinel.folder / "sentinel.conf").write_text(self.charter(sentinel))
        launch(*self.sentinels)
        for sentinel in self.sentinels:
            until(partial(self.ready, sentinel), f"{sentinel} to see everybody")
        self.settle()

    def charter(self, sentinel: Server) -> str:
        """What a sentinel is told: all it would find out by itself, which takes it seconds."""
        first, second = self.servers
        others = [one for one in self.sentinels if one is not sentinel]
        lines = [
            f"sentinel myid {name(sentinel)}",
            f"sentinel monitor {SERVICE} 127.0.0.1 {first.port} {QUORUM}",
            f"sentinel down-after-milliseconds {SERVICE} 500",
            f"sentinel failover-timeout {SERVICE} 2000",
            f"sentinel known-replica {SERVICE} 127.0.0.1 {second.port}",
            *(f"sentinel known-sentinel {SERVICE} 127.0.0.1 {o.port} {name(o)}" for o in others),
        ]
        return "\n".join(lines) + "\n"

    def ready(self, sentinel: Server) -> bool:
        """Whether a sentinel sees all others up, and the replica in step with its primary."""
        seen = [
            table(sentinel.ask("SENTINEL", "MASTER", SERVICE)),
            *map(table, sentinel.ask("SENTINEL", "REPLICAS", SERVICE)),
            *map(table, sentinel.ask("SENTINEL", "SENTINELS", SERVICE)),
        ]
        flags = [one["flags"] for one in seen]
        links = [one["master-link-status"] for one in seen if "master-link-status" in one]
        return flags == ["master", "slave", "sentinel", "sentinel"] and links == ["ok"]

    def close(self) -> None:
        stop(*self.servers, *self.sentinels)
        for server in chain(self.servers, self.sentinels):
            server.close()


def copied(replica: Server) -> bool:
    """Whether a replica has all that its primary has."""
    return replica.info("replication")["master_link_status"] == "up"


def port(sentinel: Server) -> int:
    """The port of the primary as one sentinel says."""
    return int(sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)[1])


def name(sentinel: Server) -> str:
    """Forty hexadecimal digits of its own for each sentinel."""
    return sha1(str(sentinel.port).encode()).hexdigest()


def table(pairs: list[str]) -> dict[str, str]:
    return dict(zip(pairs[::2], pairs[1::2], strict=True))
