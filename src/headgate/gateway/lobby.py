"""Lobby: the clients that are connected: who they are, how many, and how long they may stay."""

from __future__ import annotations

import select
from collections import Counter
from typing import Any

from headgate.gateway.desk import Desk
from headgate.gateway.origins import introduce
from headgate.rules.live.visit import GONE
from headgate.wire.exchange import Exchange
from headgate.wire.inlet import Inlet
from headgate.wire.phases import BODY, HEAD, IDLE, TUNNEL

# For so many microseconds who has asked nothing may still ask, when all take their leave.
PARTING = 1_000_000
# So much is kept for a client that does not take it in, before its server is made to wait.
HIGH = 262_144


class Lobby:
    """The connections of clients."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.inlets: set[Inlet] = set()
        self.turned = 0
        self.most = 10_000
        self.each = 0
        self._counts: Counter[str] = Counter()
        self._poll = select.poll()

    def greet(self, inlet: Inlet) -> None:
        """A client has connected, and may ask; over TLS it has been given a place before."""
        if inlet not in self.inlets and not self.seat(inlet):
            inlet.transport.abort()
            return
        inlet.transport.set_write_buffer_limits(HIGH)
        inlet.deadline = self.desk.house.now + self.desk.house.until_head

    def seat(self, inlet: Inlet) -> bool:
        """Give a client a place; whether there was one."""
        self.recognise(inlet)
        key = inlet.client.key
        if len(self.inlets) >= self.most or self._crowded(inlet, key):
            self.turned += 1
            return False
        self.inlets.add(inlet)
        if self.each and not inlet.trusted:
            inlet.counted = key
            self._counts[key] += 1
        return True

    def _crowded(self, inlet: Inlet, key: str) -> bool:
        # Behind a proxy that is believed are many clients.
        return bool(self.each) and not inlet.trusted and self._counts[key] >= self.each

    def recognise(self, inlet: Inlet) -> None:
        """See who a client is, as the rules will have it."""
        introduce(inlet, self.desk.manners)

    def part(self, inlet: Inlet) -> None:
        """A client has gone."""
        if inlet in self.inlets:
            self.inlets.discard(inlet)
            self.desk.paused.discard(inlet)
            if inlet.counted:
                self._counts[inlet.counted] -= 1
                if not self._counts[inlet.counted]:
                    del self._counts[inlet.counted]
        inlet.well = None
        queue, inlet.queue = inlet.queue, []
        if queue:
            self.desk.errands.abandon(queue[0])

    def sweep(self, now: int) -> None:
        """End what has taken too long, and see whether those who have to wait still do."""
        late = [
            inlet
            for inlet in self.inlets
            if (inlet.deadline and inlet.deadline <= now) or (inlet.limit and inlet.limit <= now)
        ]
        for inlet in late:
            self.expire(inlet)
        for inlet in list(self.desk.paused):
            self.look(inlet)

    def look(self, inlet: Inlet) -> None:
        """Whether a client from whom nothing is read at the moment has left."""
        if self._seen(inlet, select.POLLRDHUP):
            inlet.transport.abort()

    def _asks(self, inlet: Inlet) -> bool:
        # Its end is to be read as well, and stays so.
        return self._seen(inlet, select.POLLIN) and not self._seen(inlet, select.POLLRDHUP)

    def _seen(self, inlet: Inlet, sign: int) -> bool:
        line = inlet.transport.get_extra_info("socket")
        if line is None or line.fileno() < 0:
            return False
        self._poll.register(line.fileno(), sign)
        try:
            return bool(self._poll.poll(0))
        finally:
            self._poll.unregister(line.fileno())

    def expire(self, inlet: Inlet) -> None:
        """A client, or who is to answer it, has taken too long."""
        phase = inlet.phase
        if phase == IDLE and not (inlet.paused or inlet.clogged) and self._asks(inlet):
            # It has just asked something; that is read before anybody looks again.
            return
        inlet.deadline = inlet.limit = 0
        if phase == HEAD and not inlet.queue:
            inlet.blame(408)
        elif not inlet.queue or phase >= TUNNEL:
            inlet.transport.abort()
        else:
            self.overdue(inlet, inlet.queue[0])

    def overdue(self, inlet: Inlet, exchange: Exchange) -> None:
        """A request takes too long: it is seen whose doing that is."""
        errands, outlet, valve = self.desk.errands, exchange.outlet, exchange.valve
        if inlet.clogged and exchange.begun:
            inlet.transport.abort()
        elif exchange.begun and (outlet is None or (valve is not None and not valve.dry)):
            # The server has said it all, or is held up by the rules.
            errands.cut(exchange, GONE)
        elif inlet.phase == BODY and outlet is not None and not inlet.paused:
            self.desk.spoil(exchange, 408)
        else:
            errands.detach(exchange)
            errands.fail(exchange, None, 504)

    def drain(self) -> None:
        """Take leave of clients: with their answer, or soon of those who ask nothing."""
        self.desk.closing = True
        end = self.desk.house.now + PARTING
        for inlet in self.inlets:
            if inlet.phase == IDLE and not inlet.queue:
                inlet.deadline = min(inlet.deadline, end)

    def close(self) -> None:
        """Hang up on everybody."""
        for inlet in list(self.inlets):
            inlet.transport.abort()
            self.part(inlet)

    def status(self) -> dict[str, Any]:
        """What there is to know, for JSON."""
        return {"connections": len(self.inlets), "turned_away": self.turned}
