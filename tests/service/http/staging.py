"""The service over HTTP on a clock that stands still, in a loop of its own thread."""

from __future__ import annotations

import asyncio
import json
import socket
import traceback
from collections.abc import Coroutine
from threading import Thread
from typing import Any, TypeVar

import uvloop

from headgate import ManualClock
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
from tests.gateway.talking import Answer, Talk

T = TypeVar("T")

API = {"name": "api", "key": "header.x-user", "limit": "100/min"}
TRUST = {"trusted_proxies": ["127.0.0.0/8"]}


def plan(*rules: dict[str, Any], **said: Any) -> Rules:
    """Rules, as a file would say them; one that counts users unless others are given."""
    return Rules.read(json.dumps({"version": 1, "rules": [*(rules or (API,))], **said}))


class Stage:
    """A service at a port of this machine; its `clock` moves when it is told to.

    with Stage(plan()) as stage:
        assert stage.post("/v1/take", {"rule": "api", "key": "a"}).status == 200
    """

    def __init__(self, rules: Rules, caller: str = "", **options: Any) -> None:
        self.clock = ManualClock(1_000_000.0)
        self.troubles: list[str] = []
        self.loop = uvloop.new_event_loop()
        self.loop.set_exception_handler(self.note)
        self.thread = Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.hall = self.call(self.open(rules, caller, options))

    async def open(self, rules: Rules, caller: str, options: Any) -> Hall:
        keeper = AsyncGatekeeper(rules, clock=self.clock, **options)
        house = House()
        house.now = self.clock.now()
        house.body, house.head, house.lines = 65_536, 64_000, 200
        house.until_head = house.until_body = house.until_idle = house.until_sent = 10 * MILLION
        terms = Terms() if rules.service is None else rules.service
        hall = Hall(keeper, Teller(keeper), Callers(terms.callers, self.clock), house)
        hall.loop = asyncio.get_running_loop()
        hall.things["ready"] = Readiness(hall)
        line = self.line = socket.create_server(("127.0.0.1", 0))
        line.setblocking(False)
        self.wheel = Wheel(hall.loop)
        self.listener = Listener(Port("http://127.0.0.1:0", caller=caller), line, hall, self.wheel)
        self.listener.open(hall.loop)
        self.port = line.getsockname()[1]
        return hall

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close()
        if kind is None and self.troubles:
            raise AssertionError("\n".join(["the service stumbled:", *self.troubles]))

    def close(self) -> None:
        """End it."""
        self.call(self.shut())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    async def shut(self) -> None:
        self.listener.close()
        self.hall.close()
        await turns()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        self.hall.things["ready"].close()
        await self.hall.teller.close()
        self.wheel.close()
        await self.hall.keeper.close()

    def call(self, errand: Coroutine[Any, Any, T]) -> T:
        """Do `errand` where the service lives."""
        return asyncio.run_coroutine_threadsafe(errand, self.loop).result(20)

    def turn(self) -> None:
        """Come back when the service has read what was in its sockets before this was said."""
        self.call(turns())

    def tick(self, seconds: float = 0.0) -> None:
        """Let time pass, and have the service look at its clock."""
        self.clock.advance(seconds)
        self.call(self.sweep())

    async def sweep(self) -> None:
        now = self.hall.house.now = self.clock.now()
        self.hall.sweep(now)
        await turns()

    def change(self, rules: Rules) -> None:
        """Put other rules into force."""

        async def change() -> None:
            self.hall.keeper.change(rules)

        self.call(change())

    def retire(self) -> None:
        """Have the service take its leave."""

        async def leave() -> None:
            self.hall.retire()

        self.call(leave())

    def talk(self) -> Talk:
        """Somebody who is connected."""
        return Talk(self.port, self.turn)

    def send(self, data: bytes, method: str = "GET") -> Answer:
        """The answer to these bytes."""
        with self.talk() as talk:
            talk.send(data)
            answer = talk.hear(method)
            assert answer is not None
            return answer

    def get(self, target: str, **headers: str) -> Answer:
        """The answer to a question without a body."""
        return self.ask("GET", target, **headers)

    def ask(self, method: str, target: str, **headers: str) -> Answer:
        """The answer to a method, with headers whose hyphens are written as underscores."""
        return self.send(asked(method, target, **headers), method)

    def post(self, target: str, said: Any, **headers: str) -> Answer:
        """The answer to JSON."""
        return self.send(posted(target, said, **headers))

    def note(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        trace = traceback.format_exception(problem) if problem is not None else []
        self.troubles.append("".join([context["message"], "\n", *trace]))


async def turns() -> None:
    # The loop looks at the wheel once in every turn, the wheel turns in the next, and what that
    # calls for comes in the one after it; a connection that ends takes as many again.
    for _ in range(6):
        await asyncio.sleep(0)


def asked(method: str, target: str, **headers: str) -> bytes:
    """A request without a body."""
    lines = {"host": "here", **{name.replace("_", "-"): value for name, value in headers.items()}}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode("latin-1")


def posted(target: str, said: Any, **headers: str) -> bytes:
    """A request with JSON, or with bytes that may be none."""
    body = said if isinstance(said, bytes) else json.dumps(said).encode()
    kept = {"content_type": "application/json", "content_length": str(len(body)), **headers}
    return asked("POST", target, **kept) + body


def told(answer: Answer) -> Any:
    """What an answer says in JSON."""
    return json.loads(answer.body)


def problem(status: int, title: str, detail: str, **more: Any) -> dict[str, Any]:
    """What is said of what is wrong."""
    said = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return {**said, **more}
