"""A gateway on a clock that stands still, and what it holds: what proofs of its manners lean on."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

from headgate import ManualClock
from headgate.clock import SystemClock
from headgate.rules.model.rules import Rules
from tests.gateway.running import Running
from tests.gateway.talking import Answer, Talk
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


class Stage(Running):
    """A running gateway; its `clock` moves when it is told to, and then it is looked at.

        with Stage(plan(server.url)) as stage, stage.talk() as talk:
            talk.send(ask)

    With None for a clock it is the machine's, and looked at as often as in earnest.
    """

    def __init__(self, rules: Any, **options: Any) -> None:
        self.clock = options.setdefault("clock", ManualClock(1_000_000.0))
        super().__init__(rules, **options)
        if self.clock is not None:
            self.tick()

    def talk(self) -> Talk:
        """A client."""
        return Talk(self.port, self.turn)

    def tick(self, seconds: float = 0.0) -> None:
        """Let time pass, and have the gateway look at its clock."""
        self.clock.advance(seconds)
        self.run(tick, self.gateway)

    def change(self, rules: Any) -> None:
        """Have the gateway go by other rules."""
        self.run(self.gateway.change, rules)

    def held(self) -> Held:
        """What the gateway has in hand."""
        return self.run(held, self.gateway)

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
        return any(inlet.paused or inlet.clogged for inlet in self.inlets())

    def behind(self) -> bool:
        """Whether some client has not taken in all that it was sent."""
        return any(inlet.transport.get_write_buffer_size() for inlet in self.inlets())

    def owing(self) -> int:
        """How many bytes there are that servers have not taken in."""
        sent = [exchange.outlet for inlet in self.inlets() for exchange in inlet.queue[:1]]
        return sum(outlet.transport.get_write_buffer_size() for outlet in sent if outlet)

    def inlets(self) -> list[Any]:
        """The connections of clients."""
        return [*self.gateway._desk.lobby.inlets]

    def idle(self) -> int:
        """How many connections to servers are kept for later."""
        servers = self.gateway.status()["upstreams"].values()
        return sum(one["idle"] for group in servers for one in group.values())


class Leap:
    """The machine's clock, which can be moved on; whoever sleeps by it sleeps in earnest."""

    def __init__(self) -> None:
        self.clock = SystemClock()
        self.ahead = 0

    def now(self) -> int:
        return self.clock.now() + self.ahead

    def advance(self, seconds: float) -> None:
        self.ahead += round(seconds * 1e6)

    def sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)

    async def asleep(self, seconds: float) -> None:
        await self.clock.asleep(seconds)


def answered(talk: Talk, method: str = "GET") -> Answer:
    """The answer; that there is none but the end is an error."""
    answer = talk.hear(method)
    assert answer is not None
    return answer


def narrow(line: socket.socket, size: int = 16_384) -> None:
    """Have the machine itself keep little of what is on its way between a test and a gateway."""
    for end in (line.dup(), opposite(line)):
        with end:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)


def widen(line: socket.socket) -> None:
    """Have it keep much again: little by little takes long."""
    narrow(line, 1 << 20)


def opposite(line: socket.socket) -> socket.socket:
    """The gateway's end of a connection: it is in this process, too, whatever has it there."""
    names = line.getpeername(), line.getsockname()
    for number in map(int, os.listdir("/proc/self/fd")):
        with suppress(OSError), ExitStack() as stack:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                found = stack.enter_context(socket.socket(fileno=os.dup(number)))
                if (found.getsockname(), found.getpeername()) == names:
                    stack.pop_all()
                    return found
    raise AssertionError(f"nobody here is at the other end of {names[1]}")


def tick(gateway: Any) -> None:
    gateway._tick()
    # The next time is when the test says so.
    gateway._ticker.cancel()


def held(gateway: Any) -> Held:
    status = gateway.status()
    busy = sum(one["busy"] for group in status["upstreams"].values() for one in group.values())
    places = 0
    for ruling in gateway.keeper.lodge.book.rulings:
        lane = ruling.lane("", "")
        if lane is not None and lane.bulkhead is not None:
            places += lane.bulkhead.inside()
    return Held(status["connections"], busy, places, len(gateway._desk.errands.tasks))
