"""Ledgers on a service. They answer as the service's own store does, at once or awaited.

Time is the service's, unless the limiter has a clock of its own making: then the clock's time goes
along with every question, so that tests move it as they move any other. Limits that are asked so
have keys of their own there. A service that keeps its state on another server does not let others
say what time it is, and refuses.

Nothing is remembered here: a refusal is asked about again. Who wants refusals, and units, without
a journey puts leases in front (`leased+headgate://host`), which remember both, and forget them
where something is given back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headgate.algorithms.limit import Limit
from headgate.stores.remote.tongue import Memo, Tongue


class RemoteLedger:
    """A ledger on a service.

    `put` carries a question, or a list of them, to the service and reads the answers; it is all
    that has a colour. `call`, if there is one, does the same for somebody who is told as a future.
    """

    def __init__(self, tongue: Tongue, put: Callable[..., Any], call: Any = None) -> None:
        self.tongue = tongue
        self._put = put
        self._call = call
        self.direct = call is not None

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The limits it goes by."""
        return self.tongue.limits

    def take(self, key: str, cost: int, now: int, patience: int) -> Any:
        """Spend `cost` if it may enter within `patience` microseconds; all limits or none."""
        tongue = self.tongue
        return self._put(tongue.take(key, cost, now, patience), tongue.decision)

    def call(self, key: str, cost: int, now: int, reply: Any) -> None:
        """`take`, and `reply` is told as a future is."""
        self._call(self.tongue.take(key, cost, now, 0), self.tongue.decision, reply)

    def take_many(self, keys: Sequence[str], cost: int, now: int) -> Any:
        """Decide for each key in turn, all in one journey."""
        tongue = self.tongue
        return self._put([tongue.take(key, cost, now, 0) for key in keys], tongue.decision)

    def peek(self, key: str, cost: int, now: int) -> Any:
        """What `take` would answer; nothing is spent."""
        return self._verb(self.tongue.decision, "peek", key, cost, now)

    def charge(self, key: str, cost: int, now: int, due: int) -> Any:
        """Spend `cost` whatever is left, or give it back if negative."""
        return self._verb(self.tongue.decision, "charge", key, cost, now, 0, due)

    def book(self, key: str, cost: int, now: int, patience: int) -> Any:
        """`take`, and a memo by which `release` can undo it."""
        return self._verb(self.tongue.booking, "book", key, cost, now, patience)

    def release(self, key: str, cost: int, now: int, due: int, memo: Memo) -> Any:
        """Undo a booking: to the letter if nothing came after it and the service still knows it."""
        when = due if self.tongue.told else memo.due
        return self._verb(self.tongue.nothing, "release", key, cost, now, 0, when, memo.ticket)

    def lease(
        self, key: str, cost: int, now: int, want: int, least: int, back: int = 0, moment: int = 0
    ) -> Any:
        """Take up to `want` units, at least `least`, to be spent elsewhere.

        `back` units of a lease taken at `moment` are given back first.
        """
        more = (b"%d" % back, b"%d" % moment) if back else ()
        return self._verb(self.tongue.lease, "lease", key, cost, now, want, least, *more)

    def forget(self, key: str) -> Any:
        """Make `key` as if it had never been seen."""
        return self._verb(self.tongue.nothing, "forget", key, 0, 0)

    def _verb(self, read: Callable[[bytes], Any], *said: Any) -> Any:
        return self._put(self.tongue.verb(*said), read)
