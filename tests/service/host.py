"""A service on one listener, in an event loop of its own thread, on a clock that a test moves."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from typing import Any

from headgate import ManualClock
from headgate.clock import Clock
from headgate.measures import MILLION
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.model.port import Port
from headgate.rules.model.rules import Rules
from headgate.rules.model.service import Service as Terms
from headgate.service.callers import Callers
from headgate.service.hall import Hall
from headgate.service.listening import Listener
from headgate.service.readiness import Readiness
from headgate.service.teller import Teller
from headgate.wire.house import House
from headgate.wire.wheel import Wheel
from tests.loop_thread import LoopThread, cancel_tasks, turns

START_SECONDS = 1_000_000.0


class ServiceHost(LoopThread):
    """A service with these rules on a port of this machine.

    Unless `callers` are given, the callers are those of the rules. Without a `wheel`, connections
    are served by asyncio's transports.
    """

    protocol: str

    def __init__(
        self,
        rules: Rules,
        callers: Mapping[str, Any] | None = None,
        *,
        caller: str = "",
        store: str = "",
        clock: Clock | None = None,
        port: int = 0,
        wheel: bool = True,
        tls: Any = None,
    ) -> None:
        super().__init__("service")
        self.clock: Any = ManualClock(START_SECONDS) if clock is None else clock
        self.line = socket.create_server(("127.0.0.1", port))
        self.line.setblocking(False)
        self.port: int = self.line.getsockname()[1]
        if callers is None:
            callers = (rules.service or Terms()).callers
        listens = Port(f"{self.protocol}://127.0.0.1:0", caller=caller, tls=tls)
        self.hall = self.run(self.make_hall, rules, callers, store)
        self.wheel = self.run(Wheel, self.loop)
        self.listener = Listener(listens, self.line, self.hall, self.wheel if wheel else None)
        self.run(self.listener.open, self.loop)

    def make_hall(self, rules: Rules, callers: Any, store: str) -> Hall:
        keeper = AsyncGatekeeper(rules, store, self.clock)
        house = House()
        house.now = self.clock.now()
        house.body, house.head, house.lines = 65_536, 64_000, 200
        house.until_head = house.until_body = house.until_idle = house.until_sent = 10 * MILLION
        hall = Hall(keeper, Teller(keeper), Callers(callers, self.clock), house)
        hall.loop = self.loop
        hall.things["ready"] = Readiness(hall)
        return hall

    def tick(self, seconds: float = 0.0) -> None:
        """Moves the clock, and lets the service look at it."""
        self.clock.advance(seconds)
        self.run(self.sweep)
        self.turn()

    def sweep(self) -> None:
        now = self.hall.house.now = self.clock.now()
        self.hall.sweep(now)

    def change(self, rules: Rules) -> None:
        """Puts other rules into force."""
        self.run(self.hall.keeper.change, rules)

    def retire(self) -> None:
        """Lets the service ask its clients to leave."""
        self.run(self.hall.retire)
        self.turn()

    async def shut_down(self) -> None:
        self.listener.close()
        self.line.close()
        self.hall.close()
        await turns()
        await cancel_tasks()
        self.hall.things["ready"].close()
        await self.hall.teller.close()
        self.wheel.close()
        await self.hall.keeper.close()


def read_rules(*rules: Mapping[str, Any], **fields: Any) -> Rules:
    """Rules as a rule file spells them, with other fields of the file."""
    return Rules.read(json.dumps({"version": 1, "rules": rules, **fields}))
