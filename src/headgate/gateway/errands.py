"""Errands: what takes time for a request, and what is done when something goes wrong with it."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import struct
from collections.abc import Awaitable, Coroutine
from contextlib import suppress
from typing import Any

from headgate.adapters.arrivals import Reception
from headgate.gateway.audit import Audit
from headgate.gateway.complaints import complaint
from headgate.gateway.desk import Desk
from headgate.gateway.dialer import Dialer
from headgate.gateway.origins import relay
from headgate.gateway.purser import appointed
from headgate.gateway.upstreams.server import Server
from headgate.gateway.valve import Valve
from headgate.gateway.way import LONGEST, REMEMBERED, Way
from headgate.measures import MILLION
from headgate.rules.live.entry import Entry
from headgate.rules.live.visit import GONE
from headgate.window import FAILURE, TIMEOUT
from headgate.wire import spots
from headgate.wire.exchange import NONE, Exchange
from headgate.wire.heads import teller
from headgate.wire.names import MEANINGS
from headgate.wire.outlet import Outlet

logger = logging.getLogger("headgate.gateway")

# After these the connection ends: who is misunderstood once may be again.
FATAL = frozenset({400, 405, 408, 413, 414, 431, 501})
# Seconds that errands may take when all else has ended.
PATIENCE = 1.0
# Seconds for what a tunnel's client has said last to be taken in.
LAST = 5.0
# The header that names a decision, as the audit does.
DECISION = b"headgate-decision"
# What an upstream's breaker is told of a request that says nothing about its server.
IGNORED = -1
# What is short here is no server's fault.
SHORT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
# Closing with this says RST.
ABRUPT = struct.pack("ii", 1, 0)


class Errands:
    """Runs errands for a desk, in tasks of an event loop."""

    def __init__(
        self, desk: Desk, dialer: Dialer, loop: asyncio.AbstractEventLoop, audit: Audit
    ) -> None:
        self.desk = desk
        self.audit = audit
        self.dialer = dialer
        self.loop = loop
        self.reception = Reception(desk.keeper, nobody, nobody)
        self.tasks: set[asyncio.Task[None]] = set()

    def refresh(self) -> None:
        """Other rules are in force: what was known of ways is known no more."""
        desk = self.desk
        desk.book = desk.lodge.book
        desk.manners = self.reception.manners
        header = desk.manners.client.header.encode("ascii")
        desk.hearsay = b"" if header in MEANINGS else header
        desk.version = desk.book.version
        desk.ways = {}
        desk.purser = appointed(desk, self)
        desk.private = b"" if desk.purser is None else desk.purser.name

    def learn(self, exchange: Exchange) -> Way | None:
        """What is known of all requests like this one; None if it is none."""
        desk = self.desk
        method, target = exchange.method, exchange.target
        spot = spots.find(method, target, exchange.host)
        if spot is None:
            return None
        rulings = desk.book.meant(spot.method, spot.path)
        way = Way(spot, rulings, desk.roads.meant(spot.method, spot.path))
        if len(target) <= LONGEST and target.startswith(b"/"):
            if len(desk.ways) >= REMEMBERED:
                desk.ways.clear()
            desk.ways[method, target] = way
        return way

    def begin(
        self, exchange: Exchange | None, work: Coroutine[Any, Any, None]
    ) -> asyncio.Task[None]:
        """Do in a task what takes time; that of an exchange can be given up."""
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        if exchange is not None:
            exchange.task = task
        return task

    def enter(self, exchange: Exchange, found: Awaitable[Entry]) -> None:
        """Wait for the rules."""
        exchange.inlet.deadline = 0
        task = self.begin(exchange, self._enter(exchange, found))
        # One that was given up before it began has not been awaited.
        task.add_done_callback(lambda _: found.close() if isinstance(found, Coroutine) else None)

    async def _enter(self, exchange: Exchange, found: Awaitable[Entry]) -> None:
        try:
            entry = await found
        except Exception as problem:
            exchange.task = None
            self.baffle(exchange, problem)
            return
        exchange.task = None
        self.desk.usher(exchange, entry)

    def baffle(self, exchange: Exchange, problem: BaseException) -> None:
        """Answer where rules could not be asked at all."""
        logger.error("rules could not be asked; the answer is 503", exc_info=problem)
        self.object(exchange, 503)

    def refuse(self, exchange: Exchange, entry: Entry) -> None:
        """Answer for the rule that said no."""
        request = self.desk.meet(exchange)
        status, fields, body = request.manners.herald.answer(entry, request.header("accept"))
        name = self.audit.name()
        self.audit.write(name, request, entry, status, self.desk.lodge.url)
        self.desk.reply(exchange, status, [*fields, (DECISION, name.encode("ascii"))], body)

    def object(self, exchange: Exchange, status: int) -> None:
        """Answer in the gateway's own name."""
        if status in FATAL:
            exchange.keep = False
        fields, body = complaint(status)
        if exchange.entry is not None:
            fields = [*fields, *self.desk.manners.herald.fields(exchange.entry)]
        if status == 503 and exchange.road is not None:
            wait = max(1, -(-exchange.road.group.wait(self.desk.house.now) // MILLION))
            fields = [*fields, (b"retry-after", b"%d" % wait)]
        self.desk.reply(exchange, status, fields, body)

    def dial(self, exchange: Exchange, server: Server) -> None:
        """Open a connection to a server for a request."""
        exchange.inlet.deadline = self.desk.house.now + exchange.road.connect
        task = self.begin(exchange, self._dial(exchange, server))
        # The client has left, or it took too long, perhaps before it began.
        task.add_done_callback(lambda done: server.drop() if done.cancelled() else None)

    async def _dial(self, exchange: Exchange, server: Server) -> None:
        outlet = None
        short = False
        try:
            outlet = await self.dialer.open(server, exchange.road.group.upstream.tls)
        except OSError as problem:
            logger.warning("%s cannot be reached: %s", server.name, problem)
            short = problem.errno in SHORT
        except Exception:
            logger.exception("%s cannot be reached", server.name)
        exchange.task = None
        if outlet is not None and not outlet.lost:
            self.desk.send(exchange, outlet)
            return
        server.drop()
        if short:
            self.desk.judge(exchange, IGNORED)
            self.object(exchange, 503)
        else:
            self.fail(exchange, None)

    def fail(self, exchange: Exchange, outlet: Outlet | None, status: int = 502) -> None:
        """A server did not answer, or not to the end: ask another, or say so."""
        # On a connection that its server was just closing it was not seen by anybody.
        stale = outlet is not None and outlet.served > 0 and not outlet.heard
        self.desk.judge(exchange, IGNORED if stale else TIMEOUT if status == 504 else FAILURE)
        if exchange.begun:
            self.cut(exchange)
            return
        server = exchange.server
        exchange.tried = [*(exchange.tried or ()), server]
        if stale:
            # Those that were not used for longer are no better.
            server.clear()
        if status == 502 and self._again(exchange, outlet, stale):
            self.desk.forward(exchange)
            return
        self.object(exchange, status)

    def _again(self, exchange: Exchange, outlet: Outlet | None, stale: bool) -> bool:
        # Whether a request can be sent once more, and there is budget for it.
        fresh = outlet is None
        intact = exchange.length <= NONE + 1 or exchange.backlog is not None
        if not fresh and not (exchange.replay and exchange.whole and intact):
            return False
        if len(exchange.tried) > exchange.road.most + (1 if stale else 0):
            return False
        budget = exchange.road.budget
        return stale or (budget is not None and budget.take())

    def cut(self, exchange: Exchange, status: int = 502) -> None:
        """End a connection in the middle of an answer, so that the client sees it is not whole."""
        self.end(exchange, status)
        transport = exchange.inlet.transport
        if exchange.old:
            # Where nothing else tells of an end, hanging up would.
            line = transport.get_extra_info("socket")
            # It may be closed already, and not be known to be.
            with suppress(OSError):
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABRUPT)
        transport.abort()

    def spoil(self, exchange: Exchange, status: int) -> None:
        """What was to be the body of a request is none."""
        exchange.keep = False
        if exchange.over:
            return
        self.detach(exchange)
        self.desk.judge(exchange, IGNORED)
        if exchange.begun:
            self.cut(exchange, GONE)
        else:
            self.object(exchange, status)

    def detach(self, exchange: Exchange) -> None:
        """Give up what was begun for an exchange."""
        outlet, exchange.outlet = exchange.outlet, None
        if outlet is not None:
            outlet.exchange = None
            if outlet.through:
                # What the client has said last is still to be heard.
                outlet.transport.close()
                self.loop.call_later(LAST, outlet.close)
                exchange.server.drop()
            else:
                exchange.server.drop(outlet)
        task, exchange.task = exchange.task, None
        if task is not None:
            task.cancel()
        if exchange.valve is not None:
            exchange.valve.close()

    def abandon(self, exchange: Exchange) -> None:
        """The client of an exchange has left."""
        self.end(exchange, 101 if exchange.status == 101 else GONE)

    def end(self, exchange: Exchange, status: int) -> None:
        """Give back what an exchange holds, whose client will not have all of its answer."""
        if exchange.over:
            return
        exchange.over = True
        self.detach(exchange)
        self.desk.judge(exchange, IGNORED)
        self.desk.count(exchange, status)
        entry = exchange.entry
        if entry is not None and entry.owing:
            self.leave(exchange, status)
        if exchange.purse is not None:
            exchange.purse.close(exchange)
        exchange.request = exchange.backlog = None

    def relay(self, exchange: Exchange) -> None:
        """Tell a server of who stands before a proxy that is believed."""
        self.desk.meet(exchange)
        exchange.forwarded = relay(exchange, self.desk.manners)

    async def close(self) -> None:
        """Wait for what is still to be said, a little."""
        if self.tasks:
            await asyncio.wait([*self.tasks], timeout=PATIENCE)
        for task in self.tasks:
            task.cancel()

    def narrow(self, exchange: Exchange, entry: Entry) -> None:
        """Have an answer flow as slowly as rules will have it."""
        exchange.valve = Valve(self, exchange, entry)

    def count(self, entry: Entry) -> None:
        """Have breakers of rules count from now on how long it takes."""
        for _, call in entry.calls:
            call.start()

    def settle(self, entry: Entry) -> None:
        """Have them count no further: what follows takes as long as the client does."""
        for _, call in entry.calls:
            call.stop()

    def leave(self, exchange: Exchange, status: int) -> None:
        """Say how a request ended, to the rules that want to know."""
        entry = exchange.entry
        if entry.body is not None and status < 400:
            entry.complete = True
        work = self.desk.keeper.leave(entry, status, teller(exchange.told), exchange.size)
        self.begin(None, work)


def nobody(source: object) -> str:
    """Who a request is from is not known here but by its headers."""
    return ""
