"""How permits are spoken of to a Headgate service, which lends places by name.

HG.LEND name key nonce verb limit ttl names
"""

from __future__ import annotations

from headgate.clock import Clock
from headgate.stores.redis.ledger import CLOSE, OPEN, number
from headgate.stores.redis.script import Script
from headgate.stores.redis.wire import Call, Question, bulk
from headgate.stores.remote.tongue import called

LEND = b"*%%d\r\n$7\r\nHG.LEND\r\n$%d\r\n%%b\r\n"
FULL = b"*%d\r\n$7\r\nHG.LEND\r\n$%d\r\n%b\r\n"
# What every call has after its nonce: the verb, limit, ttl and names.
ARGUMENTS = 4


class Lending:
    """`Tongue` for a service. It counts by leases alone, and by its own time."""

    def __init__(self, method: str, limit: int, ttl: int, name: str, clock: Clock | None) -> None:
        if method != "leases":
            raise ValueError(f'a service counts by "leases", not {method!r}')
        if clock is not None:
            raise ValueError("a service has a clock of its own; a bulkhead on it takes no other")
        title = name.encode()
        self.call = Call(Script(title, title), ARGUMENTS, LEND % len(title), FULL)
        self.limit = limit
        self.ttl = ttl
        self.clock = clock

    def ask(self, verb: bytes, key: str, word: str = "", more: str = "") -> Question:
        """A verb about a key."""
        place = bulk(called(key))
        rest = [bulk(verb), number(self.limit), number(self.ttl), bulk(word.encode())]
        return Question(self.call, place, self.call.quick + place + OPEN, CLOSE + b"".join(rest))
