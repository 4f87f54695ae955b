"""AsyncRedisPermits: how many at once, for a fleet, from event loops."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from headgate.clock import Clock
from headgate.drive import adrive
from headgate.errors import StoreUnavailable
from headgate.permits.redis.book import Put
from headgate.permits.redis.desk import Desk, checked
from headgate.permits.redis.permits import UNHEARD
from headgate.stores.redis.async_store import AsyncRedisStore
from headgate.stores.redis.store import BUDGET


class AsyncRedisPermits(Desk):
    """`RedisPermits` for event loops: the same verbs, awaited.

    Permits are kept up by a thread also here: a loop that is busy does not lose them. Who is
    cancelled on the way in gives back what it gets.
    """

    awaited = True

    def __init__(
        self, server: Any, limit: int, method: str = "leases", ttl: float = 30.0, name: str = "",
        budget: float = BUDGET, clock: Clock | None = None,
    ) -> None:  # fmt: skip
        store = server if isinstance(server, AsyncRedisStore) else AsyncRedisStore(server, budget)
        super().__init__(store, limit, method, ttl, name, clock)

    async def enter(self, key: str) -> str | None:
        """A ticket, or None if all places are taken; raises `StoreUnavailable`."""
        return await adrive(self._book.enter(checked(key)), self._put)

    async def leave(self, key: str, ticket: str) -> bool:
        """Give a place back; False if it had been lost meanwhile, or was given back before."""
        return await adrive(self._book.leave(checked(key), ticket), self._put)

    async def inside(self, key: str) -> int:
        """How many places are held now, by everybody; raises `StoreUnavailable`."""
        return await adrive(self._book.inside(checked(key)), self._put)

    async def close(self) -> None:
        """Give back what is still held, and hang up."""
        await asyncio.to_thread(self.surrender)
        await self.store.close()

    async def _put(self, put: Put) -> Any:
        future = asyncio.ensure_future(self.store.put(put.question, put.read))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            put.gone()
            future.add_done_callback(partial(heard, put))
            raise


def heard(put: Put, future: asyncio.Future[Any]) -> None:
    """An answer has come, after whoever asked has gone."""
    failed = UNHEARD if future.cancelled() else future.exception()
    if failed is None:
        put.late(future.result())
    else:
        put.late(failed if isinstance(failed, StoreUnavailable) else UNHEARD)
