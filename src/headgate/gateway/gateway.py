"""Gateway: rules and routes in front of HTTP services, in one event loop.

async with Gateway("rules.yaml") as gateway:
    print(gateway.addresses)
    await asyncio.Event().wait()
"""

from __future__ import annotations

import asyncio
import logging
import select
import socket
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from headgate.clock import Clock
from headgate.gateway.audit import Audit
from headgate.gateway.delta import Delta
from headgate.gateway.desk import Desk
from headgate.gateway.dialer import Dialer
from headgate.gateway.errands import Errands
from headgate.gateway.listening import Listener
from headgate.gateway.lobby import Lobby
from headgate.measures import FOREVER, MILLION
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.live.lodge import Source, read
from headgate.rules.model.gateway import Gateway as Terms
from headgate.rules.model.listen import Listen
from headgate.rules.model.rules import Rules
from headgate.rules.watch.ward import Ward
from headgate.rules.watch.watcher import Watcher
from headgate.telemetry.board import pinned
from headgate.telemetry.counters import ROUTE, Counters
from headgate.telemetry.docket import Docket
from headgate.telemetry.meter import ANSWERS
from headgate.telemetry.reading import Reading
from headgate.telemetry.survey import survey
from headgate.wire.berth import bind
from headgate.wire.house import House
from headgate.wire.wheel import Wheel

logger = logging.getLogger("headgate.gateway")

# How often deadlines are looked at.
TICK = 0.1


class Gateway:
    """A reverse proxy that asks rules first. `source` is what an `AsyncGatekeeper` takes.

    `sockets` are those to listen on, each by its own terms, whatever the rules say; without them it
    opens those of the rules' `listen`. `store`, `clock` and `watch` are those of the gatekeeper.
    What it counts lies in the file `board`, where there is one, with what others count there.
    """

    def __init__(
        self,
        source: Source,
        *,
        store: str = "",
        clock: Clock | None = None,
        sockets: Sequence[tuple[Listen, socket.socket]] = (),
        watch: float = 0.0,
        board: str = "",
    ) -> None:
        self.keeper = AsyncGatekeeper(source, store, clock)
        self._source, self._watch = source, watch
        self.clock = self.keeper.lodge.clock
        self._counters = Counters(pinned(board))
        self._docket = Docket(self.clock)
        self._sockets = sockets
        self._house = House()
        self._desk = Desk(self.keeper, self._house)
        self._desk.docket = self._docket
        self._desk.stray = self._counters.meter(ROUTE, ANSWERS)
        self._counters.furnish(self.keeper.lodge)
        self._listeners: list[Listener] = []
        self._ticker: asyncio.TimerHandle | None = None
        # The rules that everything was made ready for.
        self._settled: Any = None

    async def start(self) -> None:
        """Take requests from now on."""
        self._loop = asyncio.get_running_loop()
        desk = self._desk
        # Elsewhere the loop's own transports do.
        self._wheel = Wheel(self._loop) if hasattr(select, "epoll") else None
        dialer = Dialer(self._loop, self._house, self._wheel)
        self._delta = Delta(self.clock, dialer)
        self._audit = Audit(self._terms.audit, self.clock, self._docket)
        desk.errands = Errands(desk, dialer, self._loop, self._audit)
        desk.lobby = Lobby(desk)
        self._house.now = self.clock.now()
        self._settle()
        try:
            self._open()
        except BaseException:
            # Half a gateway would go on answering.
            await self.close()
            raise
        if self._watch:
            self._ward = Ward(self, self._loop)
            self.keeper.watcher = Watcher(self._ward, self._source, self._watch).start()
        self._tick()

    @property
    def addresses(self) -> list[str]:
        """Where it is reached, in the order of its sockets."""
        return [listener.address for listener in self._listeners]

    def change(self, source: Source) -> Rules:
        """Go by other rules and routes; raises, and changes nothing, if they are bad."""
        rules = read(source)
        terms = told(rules)
        # What would go wrong goes wrong here.
        self._delta.check(terms)
        if terms.audit != self._audit.terms:
            Audit(terms.audit, self.clock).close()
        self.keeper.change(rules)
        self._settle()
        return rules

    def status(self) -> dict[str, Any]:
        """What there is to know, for JSON."""
        desk = self._desk
        rules = {
            name: {"passed": one.passed, "refused": one.refused, "shadowed": one.shadowed}
            for name, one in self.keeper.tallies().items()
        }
        purser = desk.purser
        return {
            "version": self.keeper.version,
            "requests": desk.requests,
            "refused": desk.refused,
            "draining": desk.closing,
            **desk.lobby.status(),
            "rules": rules,
            **({} if purser is None else {"budget": purser.budget.counts._asdict()}),
            "upstreams": self._delta.status(),
        }

    def reading(self) -> Reading:
        """What there is to see at this moment."""
        desk, purser = self._desk, self._desk.purser
        found = survey(self.keeper, "gateway", self._counters, self._docket)
        found["upstreams"] = self._delta.status()
        found["budget"] = None if purser is None else purser.budget.counts._asdict()
        found["workers"][0]["connections"] = len(desk.lobby.inlets)
        found["workers"][0]["requests"] = desk.requests
        return found

    def renew(self) -> None:
        """Nothing: what the rules of a gateway name is not read again."""

    def reopen(self) -> None:
        """Begin the audit's file anew, where it has been renamed."""
        self._audit.reopen()

    async def drain(self, grace: float) -> None:
        """Take no more requests, and answer those under way, for at most `grace` seconds."""
        for listener in self._listeners:
            listener.close()
        lobby = self._desk.lobby
        lobby.drain()
        end = self.clock.now() + round(grace * MILLION)
        while (lobby.inlets or self._waiting()) and self.clock.now() < end:
            await self.clock.asleep(TICK / 10)
            # Whose answer had begun before may have been told that it can stay.
            lobby.drain()

    async def close(self) -> None:
        """Stop at once: what is under way is cut."""
        if self._ticker is not None:
            self._ticker.cancel()
        for listener in self._listeners:
            listener.close()
            listener.clear()
        self._desk.lobby.close()
        await self._delta.close()
        await self._desk.errands.close()
        self._audit.close()
        if self._wheel is not None:
            self._wheel.close()
        await self.keeper.close()

    async def __aenter__(self) -> Gateway:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def _terms(self) -> Terms:
        return told(self.keeper.rules)

    def _waiting(self) -> bool:
        return any(listener.waiting for listener in self._listeners)

    def _open(self) -> None:
        # Listen wherever somebody may come in.
        for one, line in self._sockets or ((one, bind(one.place)) for one in self._terms.listen):
            listener = Listener(one, line, self._desk, self._house, self._wheel)
            self._listeners.append(listener)
            listener.open(self._loop)

    def _settle(self) -> None:
        # Make ready what the rules in force say of a gateway.
        desk = self._desk
        self._settled = self.keeper.lodge.book
        terms = self._terms
        self._delta.settle(terms)
        desk.roads = self._delta.roads
        for road in desk.roads.roads:
            road.meter = self._counters.meter(ROUTE + road.title, ANSWERS)
        desk.errands.refresh()
        self._furnish(terms)
        if terms.audit != self._audit.terms:
            self._audit.close()
            self._audit = desk.errands.audit = Audit(terms.audit, self.clock, self._docket)

    def _furnish(self, terms: Terms) -> None:
        house, limits, waits = self._house, terms.limits, terms.timeouts
        house.head, house.lines = limits.head, limits.lines
        house.body = limits.body or FOREVER
        house.requests = limits.requests or FOREVER
        house.until_head = round(waits.head * MILLION)
        house.until_body = round(waits.body * MILLION)
        house.until_idle = round(waits.idle * MILLION)
        house.until_sent = round(waits.send * MILLION)
        self._desk.lobby.most = limits.connections
        self._desk.lobby.each = limits.per_client

    def _tick(self) -> None:
        if self._ticker is not None:
            self._ticker.cancel()
        # Whatever goes wrong below, the next time it may not.
        self._ticker = self._loop.call_later(TICK, self._tick)
        now = self._house.now = self.clock.now()
        if self.keeper.lodge.book is not self._settled:
            self._follow()
        self._desk.lobby.sweep(now)
        self.keeper.lodge.turn(now)
        self._counters.attend()
        self._delta.sweep(now)

    def _follow(self) -> None:
        # Other rules have come into force by themselves.
        try:
            self._settle()
        except Exception:
            logger.exception("the new rules count, but not all they say of the gateway does")


def told(rules: Rules) -> Terms:
    """What rules say of a gateway."""
    terms: Terms | None = rules.gateway
    if terms is None:
        raise ValueError(
            "the rules say nothing of a gateway; add a section such as "
            "gateway: {routes: [{upstream: http://127.0.0.1:9000}]}"
        )
    return terms
