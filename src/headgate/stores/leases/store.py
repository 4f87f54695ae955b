"""LeasedStore: an allowance fetched in bulk, spent without a journey; for hot keys on a fleet.

A process takes units out of the shared limit in one call and spends them here. How many follows
the key: one at first, twice as many whenever they were used up quickly, fewer when they were not.
Of what is left, at most half is taken; where little is left, none until a fair number is there, so
that a saturated limit does not come down to a journey for each unit.

A lease lives `ttl` seconds; what is unspent then is given back, less what has come in meanwhile,
and so is what is unspent at exit. Units are only ever spent after they were taken, so in total no
more goes in than the limit allows; in any span, no more than in that span and a `ttl` before it.

A refusal is remembered until the moment the store named: until then, the store would refuse too.
"""

from __future__ import annotations

from typing import Any

from headgate.algorithms.limit import Limit
from headgate.clock import Clock, SystemClock
from headgate.stores.leases.ledger import Leased

# Seconds that a lease lives at least: shorter than a journey it would be over before it is here.
SHORTEST = 0.001


class LeasedStore:
    """Puts leases in front of `store`, a `RedisStore` or an `AsyncRedisStore`.

    A lease lives `ttl` seconds and has `most` units at most.
    """

    def __init__(self, store: Any, ttl: float = 1.0, most: int = 1000) -> None:
        if not callable(getattr(store, "open", None)) or not hasattr(store, "awaited"):
            raise TypeError(f"LeasedStore stands in front of a RedisStore, not {store!r}")
        if isinstance(ttl, bool) or not isinstance(ttl, (int, float)) or not SHORTEST <= ttl <= 60:
            raise ValueError(f"LeasedStore: ttl is from {SHORTEST} to 60 seconds, not {ttl!r}")
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise ValueError(f"LeasedStore: most is a whole number of units, not {most!r}")
        self.store = store
        self.ttl = float(ttl)
        self.most = most
        self.awaited: bool = store.awaited
        self._ledgers: list[Leased] = []

    def open(
        self, limits: tuple[Limit, ...], name: str, clock: Clock | None = None,
        when_unavailable: str = "local",
    ) -> Leased:  # fmt: skip
        """The ledger of `limits`, with leases in front of it."""
        inner = self.store.open(limits, name, clock, when_unavailable)
        ledger = Leased(inner, clock or SystemClock(), self.ttl, self.most, self.awaited)
        self._ledgers.append(ledger)
        return ledger

    def clock(self) -> Clock:
        """The clock that limiters on this store go by."""
        return self.store.clock()  # type: ignore[no-any-return]

    def close(self) -> Any:
        """Give back what is unspent, then close the store; awaited if the store is."""
        if self.awaited:
            return self._aclose()
        for ledger in self._ledgers:
            ledger.surrender()
        return self.store.close()

    async def _aclose(self) -> None:
        for ledger in self._ledgers:
            await ledger.asurrender()
        await self.store.close()

    def __repr__(self) -> str:
        return f"LeasedStore({self.store!r}, ttl={self.ttl!r}, most={self.most!r})"
