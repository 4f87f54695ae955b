"""MemoryStore: state in this process, nothing else needed."""

from __future__ import annotations

from headgate.algorithms.limit import Limit
from headgate.clock import Clock, SystemClock
from headgate.stores.flat.table import Table


class MemoryStore:
    """Keeps each limiter's keys in a table of its own, sized for `capacity` keys.

    Memory is fixed when a limiter is made, as an nginx zone is, and taken from the machine only
    as keys arrive. Limiters of one name in one store share their keys; limiters without a name
    share nothing.
    """

    def __init__(self, capacity: int = 100_000) -> None:
        if isinstance(capacity, bool) or not isinstance(capacity, int):
            raise TypeError(f"MemoryStore: capacity is a whole number of keys, not {capacity!r}")
        if not 1 <= capacity <= 1 << 30:
            raise ValueError(f"MemoryStore: capacity is from 1 to {1 << 30:,} keys, not {capacity}")
        self.capacity = capacity
        self._named: dict[str, Table] = {}
        self._clock = SystemClock()

    def open(
        self, limits: tuple[Limit, ...], name: str, clock: Clock | None = None,
        when_unavailable: str = "local",
    ) -> Table:  # fmt: skip
        """The table of `limits`; the same one for the same `name`, a new one without a name."""
        if not name:
            return Table(limits, self.capacity)
        table = self._named.get(name)
        if table is None:
            # Whoever comes second gets the first one's: setting a default is atomic.
            table = self._named.setdefault(name, Table(limits, self.capacity))
        if table.limits != limits:
            raise ValueError(
                f"limiter {name!r} is in this store already, with {list(table.limits)!r}; give one "
                "of them another name, or use change() on it"
            )
        return table

    def clock(self) -> Clock:
        """The system's clock, one for all limiters of the store."""
        return self._clock

    def __repr__(self) -> str:
        return f"MemoryStore(capacity={self.capacity})"
