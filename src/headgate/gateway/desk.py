"""Desk: what becomes of a request, from its head to the end of its answer.

Rules are asked, a road is found, a server chosen, and a connection to it lent. Most requests get
that far without waiting for anything, so it is done in one go, and compiled. What takes time, or
goes wrong, is an errand.
"""

from __future__ import annotations

from typing import Any

from headgate.clock import SystemClock
from headgate.gateway.courier import Courier
from headgate.gateway.visitor import Envoy, Visitor
from headgate.gateway.way import Way
from headgate.rules.live.entry import Entry
from headgate.rules.live.ferry import Ferry
from headgate.telemetry.meter import ANSWERS, Meter
from headgate.window import FAILURE, SUCCESS
from headgate.wire.exchange import Exchange
from headgate.wire.house import House
from headgate.wire.lines import CLOSE, CONTINUE, KEEP, LINES
from headgate.wire.names import untied
from headgate.wire.phases import ANSWERING, TUNNEL, WAITING
from headgate.wire.scroll import Scroll

# How long a connection lasts that has turned to another protocol says nothing of answers.
TURNED = 101


class Desk:
    """Where requests are dealt with.

    `errands` are run for it by somebody who can wait, and the `lobby` is where clients come in.
    `ways` belong to one set of rules and roads.
    """

    __slots__ = (
        "book", "clock", "closing", "docket", "errands", "hearsay", "house", "keeper", "lobby",
        "lodge", "manners", "paused", "private", "purser", "refused", "requests", "roads", "scroll",
        "stray", "system", "version", "ways",
    )  # fmt: skip

    def __init__(self, keeper: Any, house: House) -> None:
        self.keeper = keeper
        self.lodge = keeper.lodge
        self.house = house
        self.clock = keeper.lodge.clock
        self.system = self.clock if isinstance(self.clock, SystemClock) else None
        # What is counted of requests that no road is known of, and the latest who were refused.
        self.stray = Meter(ANSWERS)
        self.docket: Any = None
        # Heads are put together on it, one after another.
        self.scroll = Scroll()
        self.errands: Any = None
        self.lobby: Any = None
        # Who grants requests what they may cost behind the gateway, if the rules do.
        self.purser: Any = None
        self.requests = self.refused = 0
        self.closing = False
        self.paused: set[Any] = set()
        self.ways: dict[tuple[bytes, bytes], Way] = {}
        self.book: Any = None
        self.manners: Any = None
        # The header in which a proxy says who the client is: of others it is not passed on.
        self.hearsay = b""
        # That in which a budget travels: nobody outside says it, and nobody there is told.
        self.private = b""
        self.version = ""
        self.roads: Any = None

    def admit(self, exchange: Exchange) -> None:
        """A request's head is there."""
        self.requests += 1
        exchange.began = self.time()
        if self.lodge.book is not self.book:
            self.errands.refresh()
        if exchange.fault:
            self.errands.object(exchange, exchange.fault)
            return
        way = self.ways.get((exchange.method, exchange.target))
        if way is None:
            way = self.errands.learn(exchange)
            if way is None:
                self.errands.object(exchange, 400)
                return
        inlet = exchange.inlet
        if inlet.manners is not self.manners:
            self.lobby.recognise(inlet)
        exchange.spot, exchange.road = way.spot, way.road
        exchange.target = way.spot.target
        if inlet.trusted:
            self.errands.relay(exchange)
        elif self.hearsay:
            exchange.said = untied(exchange.said, self.hearsay)
        self.ask(exchange, way, inlet)

    def ask(self, exchange: Exchange, way: Way, inlet: Any) -> None:
        """Ask the rules about a request."""
        if way.turnstile is not None:
            if way.turnstile.near:
                key = self.meet(exchange).client if inlet.trusted else inlet.key
                entry = way.turnstile.weigh(key, None)
            else:
                entry = way.turnstile.enter(self.meet(exchange))
        elif way.free:
            entry = Entry(self.version)
        elif way.ferry is not None and not self.lodge.listeners:
            self.cross(exchange, way.ferry, inlet)
            return
        else:
            found = self.keeper.glance(self.meet(exchange))
            if type(found) is Entry:
                self.usher(exchange, found)
            else:
                self.errands.enter(exchange, found)
            return
        if self.lodge.listeners:
            self.lodge.tell(entry)
        self.usher(exchange, entry)

    def cross(self, exchange: Exchange, ferry: Ferry, inlet: Any) -> None:
        """Ask a rule that counts on a server."""
        inlet.deadline = 0
        if ferry.near:
            key = self.meet(exchange).client if inlet.trusted else inlet.key
            passage = ferry.send(key, exchange, self.arrive)
            if passage is not None:
                if not passage.over:
                    exchange.task = passage
                return
            question = ferry.cross(key, None)
        else:
            question = ferry.enter(self.meet(exchange))  # type: ignore[assignment]
        courier = Courier(exchange, question, self.arrive)
        exchange.task = courier
        courier.step()

    def arrive(self, exchange: Exchange, answer: Any) -> None:
        """A rule that was asked on a server has answered, or it could not be asked."""
        exchange.task = None
        if type(answer) is Entry:
            self.usher(exchange, answer)
        else:
            self.errands.baffle(exchange, answer)

    def meet(self, exchange: Exchange) -> Any:
        """A request as rules and routes ask about it; one that nobody asks about is not made."""
        if exchange.request is None:
            inlet = exchange.inlet
            if inlet.trusted:
                exchange.request = Envoy(exchange, self.manners, exchange.spot)
            else:
                exchange.request = Visitor(exchange, self.manners, exchange.spot, inlet.key)
        return exchange.request

    def usher(self, exchange: Exchange, entry: Entry) -> None:
        """It is decided whether a request may go in."""
        exchange.entry = entry
        if entry.shadowed:
            self.docket.enter(self.meet(exchange), entry)
        if entry.refusal is not None:
            self.refused += 1
            self.errands.refuse(exchange, entry)
        elif self.purser is not None:
            self.purser.fund(exchange)
        else:
            self.forward(exchange)

    def forward(self, exchange: Exchange) -> None:
        """Send a request on its way."""
        road = exchange.road
        if road is None:
            road = exchange.road = self.roads.find(self.meet(exchange))
            if road is None:
                self.errands.object(exchange, 404)
                return
        now = self.house.now
        server = road.only
        if server is None:
            server = road.pick(self.meet(exchange), now, exchange.tried)
        elif not server.fit(now):
            server = None
        if server is None:
            self.errands.object(exchange, 503)
            return
        exchange.server = server
        exchange.ticket = server.enter(now)
        exchange.since = now
        if not exchange.start:
            exchange.start = now
            road.asked += 1
            if road.total:
                inlet = exchange.inlet
                inlet.limit = now + road.total
        outlet = server.lend()
        if outlet is None:
            self.errands.dial(exchange, server)
        else:
            self.send(exchange, outlet)

    def send(self, exchange: Exchange, outlet: Any) -> None:
        """Hand a request over to a connection."""
        road, inlet = exchange.road, exchange.inlet
        if exchange.upgrade and exchange.upgrade.lower() not in road.upgrade:
            exchange.upgrade = b""
        exchange.replay = road.repeats(exchange)
        if exchange.purse is not None:
            exchange.purse.begin(exchange)
        outlet.send(exchange, road.compose(exchange, self.scroll))
        if exchange.whole:
            inlet.deadline = self.house.now + road.answer
            return
        self.expect(exchange)
        if exchange.expects:
            exchange.expects = False
            inlet.write(CONTINUE)

    def complete(self, exchange: Exchange) -> None:
        """The body of a request is whole."""
        inlet = exchange.inlet
        # How long it took the client is not the server's doing.
        exchange.since = self.house.now
        if exchange.entry is not None and exchange.entry.calls:
            self.errands.count(exchange.entry)
        if inlet.queue and inlet.queue[0] is exchange:
            inlet.phase = ANSWERING if exchange.begun else WAITING
            self.expect(exchange)

    def expect(self, exchange: Exchange) -> None:
        """Set the time by which whoever is to act next has to: the server, or the client."""
        inlet = exchange.inlet
        if inlet.phase >= TUNNEL:
            inlet.deadline = 0
        elif exchange.begun:
            self.stall(exchange)
        elif exchange.outlet is not None:
            waits = exchange.whole or inlet.paused
            patience = exchange.road.answer if waits else self.house.until_body
            inlet.deadline = self.house.now + patience

    def dress(self, exchange: Exchange, scroll: Scroll) -> None:
        """Add to an answer what rules have to tell, and see how long it took."""
        entry = exchange.entry
        exchange.took = self.house.now - exchange.since if exchange.whole else 0
        if exchange.purse is not None:
            exchange.purse.end(exchange, scroll)
        if entry.calls:
            self.errands.settle(entry)
        if entry.bandwidth or entry.body is not None:
            self.errands.narrow(exchange, entry)
        if self.closing:
            exchange.keep = False
        if entry.passes or entry.places:
            herald = self.manners.herald
            for name, value in herald.fields(entry):
                scroll.line(name, value)

    def reply(
        self, exchange: Exchange, status: int, fields: list[tuple[bytes, bytes]], body: bytes
    ) -> None:
        """Answer in the place of a server."""
        if not exchange.whole or self.closing:
            exchange.keep = False
        exchange.status = status
        exchange.begun = True
        scroll = self.scroll
        scroll.add(LINES.get(status) or b"HTTP/1.1 %d \r\n" % status)
        for name, value in fields:
            scroll.line(name, value)
        if not exchange.keep:
            scroll.add(CLOSE)
        elif exchange.old:
            scroll.add(KEEP)
        scroll.add(b"\r\n")
        if exchange.method != b"HEAD":
            scroll.add(body)
            exchange.size = len(body)
        exchange.inlet.write(scroll.take())
        self.conclude(exchange)

    def conclude(self, exchange: Exchange) -> None:
        """An answer is complete."""
        if exchange.over:
            return
        if exchange.valve is not None and not exchange.valve.dry:
            # It is here, but the client does not have it yet.
            exchange.valve.finish()
            return
        exchange.over = True
        exchange.backlog = None
        self.count(exchange, exchange.status)
        if exchange.ticket >= 0:
            road = exchange.road
            self.judge(exchange, FAILURE if road.fails(exchange.status) else SUCCESS)
        entry = exchange.entry
        if entry is not None and entry.owing:
            self.errands.leave(exchange, exchange.status)
        if exchange.purse is not None:
            exchange.purse.close(exchange)
        exchange.request = None
        if self.closing:
            exchange.keep = False
        inlet = exchange.inlet
        inlet.advance(exchange)

    def count(self, exchange: Exchange, status: int) -> None:
        """Count what came of a request, and how long it took if it was answered."""
        road = exchange.road
        meter = self.stray if road is None else road.meter
        meter.note(status, -1 if status == TURNED else self.time() - exchange.began)

    def time(self) -> int:
        """What time it is, asked for every request."""
        if self.system is not None:
            return self.system.read()
        return self.clock.now()  # type: ignore[no-any-return]

    def judge(self, exchange: Exchange, outcome: int) -> None:
        """Tell a server's breaker what came of a request."""
        if exchange.ticket >= 0:
            now, server = self.house.now, exchange.server
            took = exchange.took if exchange.begun else now - exchange.since
            server.leave(exchange.ticket, outcome, now, max(0, took))
            exchange.ticket = -1

    def stall(self, exchange: Exchange) -> None:
        """A part of an answer has come, and more will."""
        road, inlet = exchange.road, exchange.inlet
        # Who is held back is not late, and who does not take it in has its own time for that.
        if not inlet.clogged and (exchange.valve is None or exchange.valve.dry):
            inlet.deadline = self.house.now + road.stall if road.stall else 0

    def fail(self, exchange: Exchange, outlet: Any) -> None:
        """A server did not answer, or not to the end."""
        self.errands.fail(exchange, outlet)

    def spoil(self, exchange: Exchange, status: int) -> None:
        """What was to be the body of a request is none."""
        self.errands.spoil(exchange, status)

    def greet(self, inlet: Any) -> None:
        """A client has connected."""
        self.lobby.greet(inlet)

    def part(self, inlet: Any) -> None:
        """A client has gone."""
        self.lobby.part(inlet)
