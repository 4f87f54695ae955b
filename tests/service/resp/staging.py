"""The service over RESP, in a loop of its own thread, on a clock that is moved by hand.

with Stage(plan()) as stage:
    assert stage.ask("PING") == "PONG"
"""

from __future__ import annotations

import asyncio
import json
import socket
import traceback
from collections.abc import Coroutine
from threading import Thread
from types import SimpleNamespace
from typing import Any, TypeVar

import uvloop

from headgate import ManualClock
from headgate.clock import Clock
from headgate.measures import MILLION
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.model.port import Port
from headgate.rules.model.rules import Rules
from headgate.service.callers import Callers
from headgate.service.hall import Hall
from headgate.service.listening import Listener
from headgate.service.teller import Teller
from headgate.wire.house import House
from headgate.wire.wheel import Wheel
from tests.servers.resp import encode, parse

T = TypeVar("T")

API = {"name": "api", "key": "client.ip", "limit": "5/min"}
BEGIN = 1_000_000.0


def plan(*rules: dict[str, Any], **said: Any) -> Rules:
    """Rules, as a file would say them; one of five a minute unless others are given."""
    return Rules.read(json.dumps({"version": 1, "rules": [*(rules or (API,))], **said}))


def known(*tokens: str, rules: tuple[str, ...] = (), limit: Any = None) -> SimpleNamespace:
    """What rules say of a caller."""
    return SimpleNamespace(token=tokens, rules=rules, limit=limit)


class Stage:
    """A service at a port of this machine; its `clock` moves when it is told to."""

    def __init__(
        self,
        rules: Rules | None = None,
        callers: dict[str, Any] | None = None,
        caller: str = "",
        store: str = "",
        clock: Clock | None = None,
        port: int = 0,
        wheel: bool = True,
        tls: Any = None,
    ) -> None:
        self.clock: Any = ManualClock(BEGIN) if clock is None else clock
        self.troubles: list[str] = []
        self.loop = uvloop.new_event_loop()
        self.loop.set_exception_handler(self.note)
        self.thread = Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        where = Port("resp://127.0.0.1:0", caller=caller, tls=tls)
        self.hall = self.call(self.open(rules or plan(), callers or {}, store, where, port, wheel))

    async def open(
        self, rules: Rules, callers: dict[str, Any], store: str, where: Port, port: int, wheel: bool
    ) -> Hall:
        keeper = AsyncGatekeeper(rules, store, self.clock)
        house = House()
        house.now = self.clock.now()
        house.until_head = house.until_body = house.until_idle = house.until_sent = 10 * MILLION
        hall = Hall(keeper, Teller(keeper), Callers(callers, self.clock), house)
        hall.loop = asyncio.get_running_loop()
        line = socket.create_server(("127.0.0.1", port))
        line.setblocking(False)
        self.wheel = Wheel(hall.loop)
        self.listener = Listener(where, line, hall, self.wheel if wheel else None)
        self.listener.open(hall.loop)
        self.port: int = line.getsockname()[1]
        self.line = line
        return hall

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close()
        if kind is None and self.troubles:
            raise AssertionError("\n".join(["the service stumbled:", *self.troubles]))

    @property
    def url(self) -> str:
        """Where a store finds it."""
        return f"headgate://127.0.0.1:{self.port}"

    def close(self) -> None:
        """End it."""
        if self.loop.is_closed():
            return
        self.call(self.shut())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    async def shut(self) -> None:
        self.listener.close()
        self.line.close()
        self.hall.close()
        await turns()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        self.wheel.close()
        await self.hall.teller.close()
        await self.hall.keeper.close()

    def call(self, errand: Coroutine[Any, Any, T]) -> T:
        """Do `errand` where the service lives."""
        return asyncio.run_coroutine_threadsafe(errand, self.loop).result(20)

    def tick(self, seconds: float = 0.0) -> None:
        """Let time pass, and have the service look at its clock."""
        self.clock.advance(seconds)

        async def sweep() -> None:
            now = self.hall.house.now = self.clock.now()
            self.hall.sweep(now)
            await turns()

        self.call(sweep())

    def retire(self) -> None:
        """Have the service take its leave."""

        async def leave() -> None:
            self.hall.retire()
            await turns()

        self.call(leave())

    def talk(self) -> Talk:
        """Somebody who is connected."""
        return Talk(self.port)

    def ask(self, *words: str | bytes | float) -> Any:
        """The answer to one command."""
        with self.talk() as talk:
            return talk.ask(*words)

    def note(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        trace = traceback.format_exception(problem) if problem is not None else []
        self.troubles.append("".join([context["message"], "\n", *trace]))


async def turns() -> None:
    # The loop looks at the wheel once in every turn, the wheel turns in the next, and what that
    # calls for comes in the one after it; a connection that ends takes as many again.
    for _ in range(6):
        await asyncio.sleep(0)


class Talk:
    """A connection to a service, byte by byte."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 20)
        self.unread = b""

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Say these bytes."""
        self.socket.sendall(data)

    def hear(self) -> Any:
        """The next answer; `None` is one, and the end of all answers is an EOFError."""
        while (found := parse(self.unread)) is None:
            data = self.socket.recv(65_536)
            if not data:
                raise EOFError(self.unread)
            self.unread += data
        said, end = found
        self.unread = self.unread[end:]
        return said

    def rest(self) -> bytes:
        """All that is said until it is hung up."""
        data = bytearray(self.unread)
        while True:
            try:
                more = self.socket.recv(65_536)
            except ConnectionResetError:
                return bytes(data)
            if not more:
                return bytes(data)
            data += more

    def ask(self, *words: str | bytes | float) -> Any:
        """The answer to a command."""
        self.send(encode(*words))
        return self.hear()
