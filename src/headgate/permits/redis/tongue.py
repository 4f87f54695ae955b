"""How permits are spoken of to a server: one script for each method, one question for each verb."""

from __future__ import annotations

from pathlib import Path

from headgate.clock import Clock
from headgate.stores.redis.ledger import CLOSE, OPEN, number
from headgate.stores.redis.names import heading, tag
from headgate.stores.redis.script import MOMENT, NAMES, sealed
from headgate.stores.redis.wire import Call, Question, bulk

HERE = Path(__file__).parent
# What every call has: the nonce, verb, limit, ttl, the time, and two words that a verb may want.
ARGUMENTS = 7


class Tongue:
    """Writes the questions of one method about at most `limit` places lent for `ttl` microseconds.

    Permits with a name are told apart by it, their method and their ttl; those without one by
    their limit as well. With a `clock`, time is what it shows, else what the server's does.
    """

    def __init__(self, method: str, limit: int, ttl: int, name: str, clock: Clock | None) -> None:
        text = (HERE / f"{method}.lua").read_text("utf-8")
        self.call = Call(sealed([NAMES, MOMENT, text]), ARGUMENTS)
        # Who is inside is inside under any limit: while one is being changed, all count together.
        spelled = f"permits {method} {ttl}" + ("" if name else f" {limit}")
        self.prefix = heading(name, spelled)
        self.limit = limit
        self.ttl = ttl
        self.clock = clock

    def place(self, key: str) -> bytes:
        """What the server calls a key, or what all it calls so begin with."""
        return self.prefix + tag(key)

    def ask(self, verb: bytes, key: str, word: str = "", more: str = "") -> Question:
        """A verb about a key."""
        place = self.place(key)
        now = b"" if self.clock is None else b"%d" % self.clock.now()
        rest = [bulk(verb), number(self.limit), number(self.ttl), bulk(now)]
        rest += [bulk(word.encode()), bulk(more.encode())]
        return Question(
            self.call, place, self.call.quick + bulk(place) + OPEN, CLOSE + b"".join(rest)
        )
