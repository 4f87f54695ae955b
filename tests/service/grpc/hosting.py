"""A tiny service that speaks gRPC, in the loop of a test or in one of its own thread."""

from __future__ import annotations

import asyncio
import socket
import ssl
from types import SimpleNamespace
from typing import Any

from headgate.service.grpc.call import Call
from headgate.service.grpc.channel import Channel
from headgate.service.grpc.health import Health
from headgate.service.grpc.methods import Methods
from headgate.service.grpc.status import FAILED_PRECONDITION, RESOURCE_EXHAUSTED, Status
from headgate.service.hall import Hall
from headgate.wire.house import House
from headgate.wire.pipe import Pipe
from headgate.wire.wheel import Wheel
from tests.loop_thread import LoopThread

MILLION = 1_000_000
# The service's methods.
ECHO, SLOW, NEVER = "/tests.Echo/Echo", "/tests.Echo/Slow", "/tests.Echo/Never"
BREAK, REFUSE, CHAT, GROW = (f"/tests.Echo/{one}" for one in ("Break", "Refuse", "Chat", "Grow"))


class Caller:
    """Somebody who may call so many times."""

    def __init__(self, name: str, left: int = 1 << 30) -> None:
        self.name = name
        self.left = left

    def take(self, cost: int) -> bool:
        self.left -= cost
        return self.left >= 0


class Callers:
    """Those who may call."""

    def __init__(self, needed: bool = False, **tokens: Caller) -> None:
        self.needed = needed
        self.tokens = tokens

    def known(self, token: str) -> Caller | None:
        return self.tokens.get(token)

    def named(self, name: str) -> Caller:
        return next(one for one in self.tokens.values() if one.name == name)


class Parrot:
    """Says every message again, and how many there were at the end."""

    def __init__(self, talk: Chatter, call: Call) -> None:
        self.talk = talk
        self.call = call
        self.heard = 0
        talk.told.append("open")

    def receive(self, message: bytes) -> None:
        self.heard += 1
        if message == b"enough":
            self.call.finish(RESOURCE_EXHAUSTED, "that was enough")
        elif message == b"bad":
            raise Status(FAILED_PRECONDITION, "not like that")
        elif message == b"broken":
            raise KeyError("secret")
        self.call.send(message)

    def end(self) -> None:
        self.talk.told.append("end")
        self.call.send(b"%d" % self.heard)
        self.call.finish()

    def cancel(self) -> None:
        self.talk.told.append("cancel")


class Chatter:
    """What the methods are made of, and what they were told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.waiting: list[asyncio.Future[bytes]] = []
        self.calls: list[Call] = []

    def methods(self) -> Methods:
        made = Methods()
        made.unary(ECHO, self.echo)
        made.unary(SLOW, self.slow)
        made.unary(NEVER, self.never)
        made.unary(BREAK, self.shatter)
        made.unary(REFUSE, self.refuse)
        made.unary(GROW, self.grow)
        made.stream(CHAT, self.chat)
        return made

    def echo(self, message: bytes, call: Call) -> bytes:
        self.calls[:] = [call]
        return message

    async def slow(self, message: bytes, call: Call) -> bytes:
        await asyncio.sleep(0)
        if message == b"broken":
            raise KeyError("secret")
        if message == b"bad":
            raise Status(FAILED_PRECONDITION, "not like that")
        return message

    def never(self, message: bytes, call: Call) -> asyncio.Future[bytes]:
        self.calls[:] = [call]
        later: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.waiting.append(later)
        return later

    def shatter(self, message: bytes, call: Call) -> bytes:
        raise KeyError("secret")

    def refuse(self, message: bytes, call: Call) -> bytes:
        raise Status(FAILED_PRECONDITION, message.decode())

    def grow(self, message: bytes, call: Call) -> bytes:
        return bytes(int(message))

    def chat(self, call: Call) -> Parrot:
        self.calls[:] = [call]
        return Parrot(self, call)


class Place:
    """A hall with that service; its time stands still until it is moved."""

    def __init__(self, callers: Any = None, caller: str = "") -> None:
        self.house = House()
        self.house.now = 1_000 * MILLION
        self.house.until_head = 5 * MILLION
        self.house.until_body = 10 * MILLION
        self.house.until_idle = 60 * MILLION
        self.house.until_sent = 20 * MILLION
        self.ready = True
        self.hall = Hall(None, None, callers or Callers(), self.house)
        self.chatter = Chatter()
        self.methods = self.chatter.methods()
        self.hall.things["ready"] = lambda: self.ready
        self.hall.things["grpc"] = self.methods
        self.health = Health(self.hall)
        self.health.serve(self.methods)
        self.port = SimpleNamespace(caller=caller)

    def channel(self) -> Channel:
        """A connection that is to be made."""
        return Channel(self.hall, self.port, "127.0.0.1")

    def pass_(self, seconds: float) -> None:
        """Let time pass, and have the hall look at its guests."""
        self.house.now += round(seconds * MILLION)
        self.hall.sweep(self.house.now)


class Host(LoopThread):
    """A place that is listened for, in a thread of its own, over pipes or the loop's transports.

        with Host() as host:
            grpc.insecure_channel(host.address)

    What goes wrong in the loop and nobody catches is raised at the end, and so is what is left
    behind of any connection.
    """

    def __init__(
        self,
        place: Place | None = None,
        *,
        piped: bool = False,
        context: Any = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.place = place or Place()
        self.piped = piped
        self.context: ssl.SSLContext | None = context
        super().__init__("grpc", loop or asyncio.new_event_loop())
        self.channels: list[Channel] = []
        self.call(self.open())

    def __exit__(self, kind: object, *rest: object) -> None:
        super().__exit__(kind, *rest)
        if kind is None:
            assert all(clean(one) and not one.tasks for one in self.channels)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.number}"

    async def open(self) -> None:
        self.server: Any = None
        self.line = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.line.setblocking(False)
        self.number = self.line.getsockname()[1]
        if self.piped:
            self.wheel = Wheel(self.loop)
            self.loop.add_reader(self.line, self.accept)
        else:
            made: Any = self.make
            self.server = await self.loop.create_server(made, sock=self.line, ssl=self.context)

    def make(self) -> Channel:
        self.channels.append(self.place.channel())
        return self.channels[-1]

    def accept(self) -> None:
        line, _ = self.line.accept()
        line.setblocking(False)
        Pipe(self.wheel, line, self.make())

    async def shut_down(self) -> None:
        if self.piped:
            self.loop.remove_reader(self.line)
            self.line.close()
        else:
            self.server.close()
        self.place.hall.close()
        for _ in range(10):
            await asyncio.sleep(0)
        if self.piped:
            self.wheel.close()


def clean(channel: Channel) -> bool:
    """Whether nothing is left of what a connection had in hand."""
    held = channel.hoard + channel.owed
    return not (channel.calls or channel.blocked or held or channel.parts or channel.rest)
