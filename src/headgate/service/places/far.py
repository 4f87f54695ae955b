"""Places on Redis or Valkey: those of a fleet, in a sorted set for each key."""

from __future__ import annotations

import struct
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from headgate.clock import Clock
from headgate.stores.redis.ledger import CLOSE, OPEN, number
from headgate.stores.redis.names import heading, tag
from headgate.stores.redis.script import MOMENT, NAMES, sealed
from headgate.stores.redis.wire import NONCE, Call, Question, bulk

TEXT = Path(__file__).with_name("far.lua")
# What every call has: the nonce, verb, limit, ttl, the time, a name, and the longest of all ttls.
ARGUMENTS = 7
NUMBER = struct.Struct("<q").unpack_from


class Far:
    """Who holds which places, as a server has it that `store` asks.

    With a `clock`, time is what it shows, else what the server's does. No place is lent for longer
    than `longest` microseconds.
    """

    def __init__(self, store: Any, clock: Clock | None, longest: int) -> None:
        self._store = store
        self._clock = clock
        self._longest = longest
        self._call = Call(sealed([NAMES, MOMENT, TEXT.read_text("utf-8")]), ARGUMENTS)

    def enter(self, title: str, key: str, name: str, limit: int, ttl: int) -> Awaitable[int]:
        """How many hold a place then, or 0."""
        return self._ask(b"enter", title, key, name, limit, ttl)

    async def renew(self, title: str, key: str, name: str, ttl: int) -> bool:
        """Hold it from now on; whether it was held."""
        return bool(await self._ask(b"renew", title, key, name, 0, ttl))

    async def leave(self, title: str, key: str, name: str) -> bool:
        """Give it back; whether it was held."""
        return bool(await self._ask(b"leave", title, key, name))

    def inside(self, title: str, key: str) -> Awaitable[int]:
        """How many hold a place."""
        return self._ask(b"inside", title, key)

    def close(self) -> None:
        """The store is not its own."""

    def _ask(
        self, verb: bytes, title: str, key: str, name: str = "", limit: int = 0, ttl: int = 0
    ) -> Awaitable[int]:
        place = heading(title, "places") + tag(key)
        now = b"" if self._clock is None else b"%d" % self._clock.now()
        rest = [bulk(verb), number(limit), number(ttl), bulk(now)]
        rest += [bulk(name.encode()), number(self._longest)]
        opened = self._call.quick + bulk(place) + OPEN
        question = Question(self._call, place, opened, CLOSE + b"".join(rest))
        return self._store.put(question, told)  # type: ignore[no-any-return]


def told(reply: bytes) -> int:
    """The number in a reply."""
    return int(NUMBER(reply, NONCE)[0])
