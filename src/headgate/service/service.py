"""Service: rules and limits for whoever asks over a connection, in one event loop.

async with Service("rules.yaml") as service:
    print(service.addresses)
    await asyncio.Event().wait()
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import select
import socket
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from headgate.clock import Clock
from headgate.measures import MILLION
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.live.lodge import Source, read
from headgate.rules.model.rules import Rules
from headgate.rules.model.service import Service as Terms
from headgate.rules.watch.ward import Ward
from headgate.rules.watch.watcher import Watcher
from headgate.service.callers import Callers
from headgate.service.hall import Hall
from headgate.service.listening import Listener
from headgate.service.staff import Staff
from headgate.service.teller import Teller
from headgate.telemetry.board import pinned
from headgate.telemetry.counters import ROUTE, Counters
from headgate.telemetry.docket import Docket
from headgate.telemetry.meter import ANSWERS
from headgate.telemetry.reading import Reading
from headgate.telemetry.survey import survey
from headgate.wire.berth import bind
from headgate.wire.house import House
from headgate.wire.wheel import Wheel

logger = logging.getLogger("headgate.service")

# How often deadlines are looked at.
TICK = 0.1
# What is no rule's to say: how long a head may be, in bytes and in lines.
HEAD = 64_000
LINES = 200


class Service:
    """Answers what is asked at its ports. `source` is what an `AsyncGatekeeper` takes.

    `sockets` are those to listen on, each by its own terms, whatever the rules say; without them it
    opens those of the rules' `listen`. `secret` signs what callers give back later; without one,
    that of the rules does, or one that is made. `store`, `clock` and `watch` are those of the
    gatekeeper. What it counts lies in the file `board`, where there is one, with what others count
    there.
    """

    def __init__(
        self,
        source: Source,
        *,
        store: str = "",
        clock: Clock | None = None,
        sockets: Sequence[tuple[Any, socket.socket]] = (),
        watch: float = 0.0,
        secret: str = "",
        board: str = "",
    ) -> None:
        self.keeper = AsyncGatekeeper(source, store, clock)
        self.clock = self.keeper.lodge.clock
        self._counters = Counters(pinned(board))
        self._docket = Docket(self.clock)
        self._heed(self.keeper.lodge)
        self._source, self._watch, self._sockets = source, watch, sockets
        self._spare = secret or secrets.token_urlsafe(32)
        self._house = House()
        self._house.head, self._house.lines = HEAD, LINES
        teller = Teller(self.keeper, self._spare)
        self.hall = Hall(self.keeper, teller, Callers({}, self.clock), self._house)
        meter = self._counters.meter
        self.hall.meters = {one: meter(ROUTE + one, ANSWERS) for one in self.hall.meters}
        self._staff = Staff(self.hall, clock)
        self._listeners: list[Listener] = []
        self._wheel: Wheel | None = None
        self._ticker: asyncio.TimerHandle | None = None
        # The rules that everything was made ready for.
        self._settled: Any = None

    def _heed(self, lodge: Any) -> None:
        # Have all that is to be seen written down.
        self._counters.furnish(lodge)
        lodge.attend(self._docket)

    async def start(self) -> None:
        """Answer from now on."""
        self._loop = self.hall.loop = asyncio.get_running_loop()
        # Elsewhere the loop's own transports do.
        self._wheel = Wheel(self._loop) if hasattr(select, "epoll") else None
        self._house.now = self.clock.now()
        self._settle()
        try:
            self._open()
        except BaseException:
            # Half a service would go on answering.
            await self.close()
            raise
        if self._watch:
            self._ward = Ward(self, self._loop)
            self.keeper.watcher = Watcher(self._ward, self._source, self._watch).start()
        self._tick()

    @property
    def addresses(self) -> list[str]:
        """Where it is asked, in the order of its sockets."""
        return [listener.address for listener in self._listeners]

    def change(self, source: Source) -> Rules:
        """Go by other rules; raises, and changes nothing, if they are bad."""
        rules = read(source)
        # What would go wrong goes wrong here.
        self._staff.check(told(rules))
        self.keeper.change(rules)
        self._settle()
        return rules

    def renew(self) -> None:
        """Read again the files that the rules name; raises, and changes nothing, if one is bad."""
        self._staff.renew(self._terms)

    def status(self) -> dict[str, Any]:
        """What there is to know, for JSON."""
        rules = {
            name: {"passed": one.passed, "refused": one.refused, "shadowed": one.shadowed}
            for name, one in self.keeper.tallies().items()
        }
        return {
            "version": self.keeper.version,
            "draining": self.hall.closing,
            **self.hall.status(),
            "rules": rules,
            **self._staff.status(),
        }

    def reading(self) -> Reading:
        """What there is to see at this moment."""
        hall = self.hall
        found = survey(self.keeper, "service", self._counters, self._docket)
        found["workers"][0]["connections"] = len(hall.guests)
        found["workers"][0]["requests"] = hall.asked
        return found

    def reopen(self) -> None:
        """Nothing: a service writes no file of its own."""

    async def drain(self, grace: float) -> None:
        """Take nobody in any more, and answer what is under way, for at most `grace` seconds."""
        for listener in self._listeners:
            listener.close()
        self.hall.retire()
        end = self.clock.now() + round(grace * MILLION)
        while self.hall.guests and self.clock.now() < end:
            await self.clock.asleep(TICK / 10)

    async def close(self) -> None:
        """Stop at once: what is under way is cut."""
        if self._ticker is not None:
            self._ticker.cancel()
        for listener in self._listeners:
            listener.close()
        self.hall.close()
        await self._staff.close()
        if self._wheel is not None:
            self._wheel.close()
        await self.keeper.close()

    async def __aenter__(self) -> Service:
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

    def _open(self) -> None:
        # Listen wherever somebody may ask.
        for port, line in self._sockets or ((one, bind(one.place)) for one in self._terms.listen):
            listener = Listener(port, line, self.hall, self._wheel)
            self._listeners.append(listener)
            listener.open(self._loop)

    def _settle(self) -> None:
        # Make ready what the rules in force say of a service.
        hall, terms = self.hall, self._terms
        self._settled = self.keeper.lodge.book
        hall.terms = terms
        self._staff.settle(terms, terms.secret or self._spare)
        house, limits, waits = self._house, terms.limits, terms.timeouts
        hall.most, hall.each = limits.connections, limits.per_client
        house.body = limits.body
        house.until_head = round(waits.head * MILLION)
        house.until_body = round(waits.body * MILLION)
        house.until_idle = round(waits.idle * MILLION)
        house.until_sent = round(waits.send * MILLION)

    def _tick(self) -> None:
        if self._ticker is not None:
            self._ticker.cancel()
        # Whatever goes wrong below, the next time it may not.
        self._ticker = self._loop.call_later(TICK, self._tick)
        now = self._house.now = self.clock.now()
        if self.keeper.lodge.book is not self._settled:
            self._follow()
        self.hall.sweep(now)
        self.keeper.lodge.turn(now)
        self._counters.attend()
        self._staff.sweep(now)

    def _follow(self) -> None:
        # Other rules have come into force by themselves.
        try:
            self._settle()
        except Exception:
            logger.exception("the new rules count, but not all they say of the service does")


def told(rules: Rules) -> Terms:
    """What rules say of a service; what is not said is as usual."""
    terms: Terms | None = rules.service
    return Terms() if terms is None else terms
