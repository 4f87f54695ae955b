"""RemoteStore: state kept by a Headgate service, for programs that share its limits.

It is asked over the lines that a Redis is asked over, so what holds for them holds here: a call has
a budget of time, a line on which anything went wrong is hung up, a service that does not answer is
left alone for a while, and `when_unavailable` says what to answer meanwhile.
"""

from __future__ import annotations

from typing import Any

from headgate.algorithms.limit import Limit
from headgate.clock import Clock
from headgate.stores.fallback import Fallback
from headgate.stores.redis.async_store import AsyncRedisStore
from headgate.stores.redis.store import BUDGET, RedisStore, backed, given, shown
from headgate.stores.remote.address import way
from headgate.stores.remote.ledger import RemoteLedger
from headgate.stores.remote.tongue import Pulse, Tongue


class RemoteStore:
    """Keeps state where the service at `url` does; its ledgers' verbs are awaited, if `awaited`.

    A call takes `budget` seconds at most, or as many as the URL says with `?budget=0.2`.
    """

    def __init__(self, url: str, awaited: bool = False, budget: float = BUDGET) -> None:
        kind = AsyncRedisStore if awaited else RedisStore
        self.lines: Any = kind(way(url), budget)
        self.awaited = awaited
        self.watch = self.lines.watch
        self.budget: float = self.lines.budget
        self._pulse = Pulse()

    def open(
        self, limits: tuple[Limit, ...], name: str, clock: Clock | None = None,
        when_unavailable: str = "raise",
    ) -> RemoteLedger | Fallback:  # fmt: skip
        """The ledger of `limits` under `name`; without a name, the limits are its name."""
        tongue = Tongue(limits, name, given(clock))
        call = self.lines._run if self.awaited else None
        return backed(RemoteLedger(tongue, self.lines.put, call), self, when_unavailable)

    def clock(self) -> Clock:
        """The clock that limiters wait by; decisions go by the service's."""
        return self.lines.clock()  # type: ignore[no-any-return]

    def beat(self) -> Any:
        """Give a sign of life; answers how many processes have given one lately."""
        return self.lines.put(self._pulse.sign(), self._pulse.read)

    def close(self) -> Any:
        """Hang up; the next call dials again."""
        return self.lines.close()

    def __repr__(self) -> str:
        awaited = ", awaited=True" if self.awaited else ""
        return f"RemoteStore({shown(self.lines.route)!r}{awaited})"
