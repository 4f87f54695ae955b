"""Health: whether the service is ready, for balancers that ask as grpc.health.v1 has it.

Who watches is told when `look` sees that it has changed; somebody has to look now and then.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    """Answers by what `hall.things["ready"]` says."""

    def __init__(self, hall: Any) -> None:
        self._hall = hall
        self._watching: dict[Watching, None] = {}

    def serve(self, methods: Methods) -> None:
        """Be asked; by anybody, since who asks has no token to show."""
        methods.unary(CHECK, self._check)
        methods.stream(WATCH, self._watch)
        methods.spare(CHECK)
        methods.spare(WATCH)

    def look(self) -> None:
        """Tell those who watch, if anything has changed."""
        for one in [*self._watching]:
            one.tell(self._state(one.name))

    def _check(self, message: bytes, call: Call) -> bytes:
        name = asked(message)
        if name not in NAMES:
            raise Status(NOT_FOUND, f"nothing here is called {name!r}")
        return self._state(name)

    def _watch(self, call: Call) -> Watching:
        return Watching(self, call)

    def _state(self, name: str) -> bytes:
        if name not in NAMES:
            return SERVICE_UNKNOWN
        return SERVING if self._hall.things["ready"]() else NOT_SERVING


class Watching:
    """Somebody who wants to know whenever it changes."""

    def __init__(self, health: Health, call: Call) -> None:
        self._health = health
        self._call = call
        self._told = b""
        self.name = ""

    def receive(self, message: bytes) -> None:
        """What is to be watched."""
        if self._told:
            raise Status(INTERNAL, "one service is watched in a call")
        self.name = asked(message)
        self._health._watching[self] = None
        self.tell(self._health._state(self.name))

    def tell(self, state: bytes) -> None:
        """Tell it, if it was told something else before."""
        if state != self._told:
            self._told = state
            self._call.send(state)

    def end(self) -> None:
        """It says nothing more, and listens on."""

    def cancel(self) -> None:
        """It listens no more."""
        self._health._watching.pop(self, None)


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
