"""A gateway on a clock that stands still, and what it holds: what proofs of its manners lean on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from headgate import ManualClock
from headgate.rules.model.rules import Rules
from tests.gateway.running import Running
from tests.gateway.talking import Talk
from tests.servers.waiting import until

# A rule that everybody meets: who is inside holds a place, and all places have to come back.
ROOM = {"name": "room", "concurrent": 50}
# Any time on the real clock that something should not take.
LONG = 5.0
TURNS = 30
# For so long a connection is kept that nobody uses.
IDLE = 4.0
# An answer that ends, and leaves the connection in order.
FINE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"


class Held(NamedTuple):
    """What a gateway has in hand: clients, connections in use, places, and errands."""

    clients: int = 0
    busy: int = 0
    places: int = 0
    errands: int = 0


def plan(
    *servers: str,
    upstream: Mapping[str, Any] | None = None,
    route: Mapping[str, Any] | None = None,
    rules: Sequence[Mapping[str, Any]] = (ROOM,),
    client: Mapping[str, Any] | None = None,
    **gateway: Any,
) -> Rules:
    """Rules with one upstream of these servers, and one route to it."""
    said: dict[str, Any] = {
        "version": 1,
        "gateway": {
            "listen": "127.0.0.1:0",
            "upstreams": {"one": {"servers": [*servers], **(upstream or {})}},
            "routes": [{"upstream": "one", **(route or {})}],
            **gateway,
        },
        "rules": [*rules],
    }
    if client is not None:
        said["client"] = client
    return Rules.read(json.dumps(said))


class Stage:
    """A running gateway; its `clock` moves when it is told to.

    with Stage(plan(server.url)) as stage, stage.talk() as talk:
        talk.send(ask)
    """

    def __init__(self, rules: Rules, **options: Any) -> None:
        self.clock = options.setdefault("clock", ManualClock(1_000_000.0))
        self.running = Running(rules, **options)
        self.gateway = self.running.gateway
        self.port = self.running.port if ":" in self.running.address[-6:] else 0

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *problem: Any) -> None:
        self.running.__exit__(*problem)

    def talk(self) -> Talk:
        """A client."""
        return Talk(self.port, self.running.turn)

    def turn(self) -> None:
        """Let the gateway read what is there."""
        self.running.turn()

    def tick(self, seconds: float = 0.0) -> None:
        """Let time pass, and have the gateway look at its clock."""
        self.clock.advance(seconds)
        self.running.call(tick(self.gateway))

    def change(self, rules: Any) -> None:
        """Have the gateway go by other rules."""
        self.running.call(change(self.gateway, rules))

    def held(self) -> Held:
        """What the gateway has in hand."""
        return self.running.call(held(self.gateway))

    def rest(self, seconds: float = LONG, **wanted: int) -> None:
        """Come back when the gateway has nothing in hand, or just so much."""
        expected = Held(**wanted)
        # Most of it takes a few turns of the loop, and none on the clock.
        if any(self.held() == expected for _ in range(TURNS)):
            return
        try:
            until(lambda: self.held() == expected, "everything to be given back", seconds)
        except TimeoutError:
            assert self.held() == expected

    def clear(self) -> None:
        """Have the connections closed that are kept for later."""
        self.tick()
        self.tick(IDLE)

    def full(self) -> bool:
        """Whether somebody is made to wait until others have taken in what there is."""
        inlets = self.gateway._desk.lobby.inlets
        return any(inlet.paused or inlet.clogged for inlet in [*inlets])

    def idle(self) -> int:
        """How many connections to servers are kept for later."""
        servers = self.gateway.status()["upstreams"].values()
        return sum(one["idle"] for group in servers for one in group.values())


async def tick(gateway: Any) -> None:
    gateway._tick()


async def change(gateway: Any, rules: Any) -> None:
    gateway.change(rules)


async def held(gateway: Any) -> Held:
    status = gateway.status()
    busy = sum(one["busy"] for group in status["upstreams"].values() for one in group.values())
    places = 0
    for ruling in gateway.keeper.lodge.book.rulings:
        lane = ruling.lane("", "")
        if lane is not None and lane.bulkhead is not None:
            places += lane.bulkhead.inside()
    return Held(status["connections"], busy, places, len(gateway._desk.errands.tasks))
