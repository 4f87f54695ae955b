"""RedisPermits: how many at once, for a fleet. Permits are lent, and kept up while held."""

from __future__ import annotations

from typing import Any

from headgate.clock import Clock
from headgate.drive import drive
from headgate.errors import StoreUnavailable
from headgate.permits.redis.book import Put
from headgate.permits.redis.desk import Desk, checked
from headgate.stores.redis.store import BUDGET, RedisStore

# What is said of a call that was broken off.
UNHEARD = StoreUnavailable("nobody waited for the answer", "interrupted")


class RedisPermits(Desk):
    """At most `limit` at once for each key, among all processes that ask the same server.

    `server` is what `RedisStore` takes, or a store. A permit is lent for `ttl` seconds and kept up
    by a thread while it is held, for hours if need be; when its process dies it is free again
    within one ttl. It is counted by `method`:

    - `leases`: by name. Exact, also after an answer was lost or the server was emptied.
    - `counters`: a number for each process. What is uncertain is counted as held for one ttl.
    - `windows`: a number for each window of half a ttl. Costs the same however many are inside,
      and in however many processes; what is uncertain is held for up to one and a half ttl.

    Whoever is held up for longer than the ttl is counted in `zombies`, and there is a warning in
    the log. A call takes `budget` seconds at most. A `clock` moved by hand is the time: for tests.
    """

    def __init__(
        self, server: Any, limit: int, method: str = "leases", ttl: float = 30.0, name: str = "",
        budget: float = BUDGET, clock: Clock | None = None,
    ) -> None:  # fmt: skip
        store = server if isinstance(server, RedisStore) else RedisStore(server, budget)
        super().__init__(store, limit, method, ttl, name, clock)

    def enter(self, key: str) -> str | None:
        """A ticket, or None if all places are taken; raises `StoreUnavailable`."""
        return drive(self._book.enter(checked(key)), self._put)

    def leave(self, key: str, ticket: str) -> bool:
        """Give a place back; False if it had been lost meanwhile, or was given back before.

        If the server cannot be asked, it is given back as soon as it can be.
        """
        return drive(self._book.leave(checked(key), ticket), self._put)

    def inside(self, key: str) -> int:
        """How many places are held now, by everybody; raises `StoreUnavailable`."""
        return drive(self._book.inside(checked(key)), self._put)

    def close(self) -> None:
        """Give back what is still held, and hang up."""
        self.surrender()
        self.store.close()

    def _put(self, put: Put) -> Any:
        try:
            return self.store.put(put.question, put.read)
        except StoreUnavailable:
            raise
        except BaseException:
            put.late(UNHEARD)
            raise
