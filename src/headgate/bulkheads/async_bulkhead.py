"""AsyncBulkhead: how many at once, for event loops whose places are kept on a server."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isawaitable, iscoroutinefunction
from math import inf
from typing import Any, ParamSpec, TypeVar

from headgate.bulkheads.bulkhead import Bulkhead
from headgate.bulkheads.fleet_slot import FleetSlot
from headgate.bulkheads.slot import Slot
from headgate.errors import BulkheadFull
from headgate.permits.reach import reach
from headgate.wrapper import title

P = ParamSpec("P")
R = TypeVar("R")


class AsyncBulkhead:
    """A `Bulkhead` whose store is awaited: the same settings, the same line, `async with` alone."""

    def __init__(
        self,
        limit: Any,
        *,
        store: Any = "memory://",
        method: str = "leases",
        ttl: float = 30.0,
        name: str = "",
        **settings: Any,
    ) -> None:
        permits = reach(store, limit, name, method, ttl, True)
        self._bulkhead = Bulkhead(
            limit, store="memory://" if permits is None else permits, name=name, **settings
        )

    def hold(
        self, key: str = "", timeout: float = inf, priority: float = 0, partition: str = ""
    ) -> Slot | FleetSlot:
        """A place, to be entered by `async with` or awaited. See `Bulkhead.hold`."""
        return self._bulkhead.hold(key, timeout, priority, partition)

    async def take(self, key: str = "", partition: str = "") -> Slot | FleetSlot:
        """A place now, or a slot that is false. See `Bulkhead.take`."""
        slot = self._bulkhead.hold(key, 0.0, 0, partition)
        try:
            return await slot
        except BulkheadFull:
            return slot

    def guard(
        self,
        key: str | Callable[..., str] = "",
        timeout: float = inf,
        priority: float = 0,
        partition: str = "",
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Decorate an `async def`: each call holds a place while it runs. See `Bulkhead.guard`."""
        decorate = self._bulkhead.guard(key, timeout, priority, partition)

        def only(function: Callable[P, R]) -> Callable[P, R]:
            if not iscoroutinefunction(function):
                raise TypeError(
                    f"AsyncBulkhead.guard: {title(function)} is not an async def; use "
                    "Bulkhead.guard"
                )
            return decorate(function)  # type: ignore[arg-type]

        return only

    def change(self, limit: int, queue: float | None = None) -> None:
        """Have so many places from now on. See `Bulkhead.change`."""
        self._bulkhead.change(limit, queue)

    async def inside(self, key: str = "") -> int:
        """How many places are held now."""
        count: Any = self._bulkhead.inside(key)
        return await count if isawaitable(count) else count  # type: ignore[no-any-return]

    def waiting(self, key: str = "") -> int:
        """How many wait for one, in this process."""
        return self._bulkhead.waiting(key)

    def __repr__(self) -> str:
        return repr(self._bulkhead).replace("<", "<Async", 1)
