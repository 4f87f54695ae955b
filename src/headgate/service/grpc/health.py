"""Health: whether the service is ready, for balancers that ask as grpc.health.v1 has it.

Who watches is told when `look` sees that it has changed; somebody has to look now and then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from inspect import isawaitable
from typing import Any

from headgate.service.grpc.call import Call
from headgate.service.grpc.methods import Methods
from headgate.service.grpc.status import INTERNAL, INVALID_ARGUMENT, NOT_FOUND, Status

CHECK = "/grpc.health.v1.Health/Check"
WATCH = "/grpc.health.v1.Health/Watch"
# What is asked after: the whole, and limits as Envoy's own service and its protocol call them.
NAMES = {"", "ratelimit", "envoy.service.ratelimit.v3.RateLimitService"}

# Answers, each a field and its value.
SERVING = b"\x08\x01"
NOT_SERVING = b"\x08\x02"
SERVICE_UNKNOWN = b"\x08\x03"

# Where the value of a field ends: after a byte below 128, 8 bytes, as many as it says, 4 bytes.
VARINT, EIGHT, SIZED, FOUR = 0, 1, 2, 5


class Health:
    """Answers by what `hall.things["ready"]()` says, or what it says when it is awaited."""

    def __init__(self, hall: Any) -> None:
        self._hall = hall
        self._watching: dict[Watching, None] = {}
        self._asking: asyncio.Future[Any] | None = None

    def serve(self, methods: Methods) -> None:
        """Be asked; by anybody, since who asks has no token to show."""
        methods.unary(CHECK, self._check)
        methods.stream(WATCH, self._watch)
        methods.spare(CHECK)
        methods.spare(WATCH)

    def look(self) -> None:
        """Tell those who watch, if anything has changed."""
        self._ask([*self._watching])

    def watch(self, one: Watching) -> None:
        """Tell somebody how it is, and from then on whenever it changes."""
        self._watching[one] = None
        self._ask([one])

    def leave(self, one: Watching) -> None:
        """Somebody watches no more."""
        self._watching.pop(one, None)

    def _ask(self, listeners: list[Watching]) -> None:
        if not listeners or self._asking is not None:
            return
        ready = self._hall.things["ready"]()
        if isawaitable(ready):
            # When it is known, all hear of it.
            self._asking = asyncio.ensure_future(ready)
            self._asking.add_done_callback(self._hear)
        else:
            tell(listeners, ready)

    def _hear(self, asking: asyncio.Future[Any]) -> None:
        self._asking = None
        if not asking.cancelled() and asking.exception() is None:
            tell([*self._watching], asking.result())

    def _check(self, message: bytes, call: Call) -> bytes | Awaitable[bytes]:
        name = asked(message)
        if name not in NAMES:
            raise Status(NOT_FOUND, f"nothing here is called {name!r}")
        ready = self._hall.things["ready"]()
        return later(ready) if isawaitable(ready) else state(ready)

    def _watch(self, call: Call) -> Watching:
        return Watching(self, call)


class Watching:
    """Somebody who wants to know whenever it changes."""

    def __init__(self, health: Health, call: Call) -> None:
        self._health = health
        self._call = call
        self._told = b""
        self._begun = False
        # Whether there is such a service; it may be called anything, however long.
        self.known = False

    def receive(self, message: bytes) -> None:
        """What is to be watched."""
        if self._begun:
            raise Status(INTERNAL, "one service is watched in a call")
        self.known = asked(message) in NAMES
        self._begun = True
        self._health.watch(self)

    def tell(self, said: bytes) -> None:
        """Tell it, if it was told something else before."""
        if said != self._told:
            self._told = said
            self._call.send(said)

    def end(self) -> None:
        """It says nothing more, and listens on."""

    def cancel(self) -> None:
        """It listens no more."""
        self._health.leave(self)


def tell(listeners: list[Watching], ready: Any) -> None:
    """Tell each of them how it is with what it asks after."""
    for one in listeners:
        one.tell(state(ready) if one.known else SERVICE_UNKNOWN)


def state(ready: Any) -> bytes:
    """What is answered."""
    return SERVING if ready else NOT_SERVING


async def later(ready: Awaitable[Any]) -> bytes:
    """What is answered when it is known."""
    return state(await ready)


def asked(message: bytes) -> str:
    """The service that is asked after."""
    try:
        return dict(fields(message)).get(1, b"").decode()
    except (ValueError, IndexError):
        raise Status(INVALID_ARGUMENT, "the message is no HealthCheckRequest") from None


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message that are strings or the like, by their numbers."""
    place = 0
    while place < len(message):
        key, place = varint(message, place)
        kind = key & 7
        size = {EIGHT: 8, FOUR: 4}.get(kind, 0)
        if kind in (VARINT, SIZED):
            value, place = varint(message, place)
            size = value if kind == SIZED else 0
        elif not size:
            raise ValueError(kind)
        if place + size > len(message):
            raise ValueError(size)
        if kind == SIZED:
            yield key >> 3, message[place : place + size]
        place += size


def varint(message: bytes, place: int) -> tuple[int, int]:
    """A number of as many bytes as it takes, and where the next one is."""
    value = shift = 0
    while True:
        byte = message[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7
        if shift > 63:
            raise ValueError(shift)
