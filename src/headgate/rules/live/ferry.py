"""Ferry: the way in of a request that meets one rule, which only counts, but on a server.

What it answers is what `visit.enter` answers. The journey to the server is what takes time; this
adds little to it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from headgate.decision import Decision
from headgate.rules.live.entry import Entry
from headgate.rules.live.turnstile import Turnstile
from headgate.stores.fallback import Fallback

logger = logging.getLogger("headgate.rules")


class Ferry:
    """Lets requests past one ruling that has to be awaited, under the rules of one version.

    `near` is as with a turnstile: then nothing but the key of its client has to be known of one.
    """

    __slots__ = ("_turnstile", "near")

    def __init__(self, ruling: Any, version: str, plan: Callable[[Any], str]) -> None:
        self._turnstile = Turnstile(ruling, version, plan)
        self.near = self._turnstile.near

    def send(self, key: str, exchange: Any, arrive: Callable[[Any, Any], Any]) -> Passage | None:
        """`cross` for who is near, without awaiting: `arrive` gets the exchange and its entry.

        Or the exception that there was. None if it has to be awaited; nothing is counted then.
        """
        past = self._turnstile
        lane = past.lane
        if lane is None or past.cost < 0 or (not key and past.key is not None):
            return None
        far = lane.limiter._far
        if type(far) is not Fallback or not far.direct or lane.limiter._limiter.listeners:
            return None
        now = lane.limiter._now()
        passage = Passage(past, lane, key, exchange, arrive, now)
        ledger: Fallback = far
        ledger.call(key, past.cost, now, passage.end)
        return passage

    def enter(self, request: Any) -> Awaitable[Entry]:
        """Decide about a request."""
        read = self._turnstile.key
        return self.cross("" if read is None else read(request), request)

    async def cross(self, key: str, request: Any) -> Entry:
        """Decide about a request whose key is known; if it is `near`, it need not be there."""
        gate = self._turnstile
        entry = Entry(gate.version)
        lane = gate.lead(entry, key, request)
        if lane is None:
            return entry
        units = gate.cost if gate.cost >= 0 else gate.ruling.fee.units(request)
        return gate.judge(entry, lane, key, units, await lane.limiter.take(key, units), 0)


class Passage:
    """A request on its way to a server that counts it and back; `over` says that it is back."""

    __slots__ = ("_arrive", "_exchange", "_gate", "_key", "_lane", "_since", "over")

    def __init__(
        self, gate: Turnstile, lane: Any, key: str, exchange: Any,
        arrive: Callable[[Any, Any], Any], since: int,
    ) -> None:  # fmt: skip
        self._gate = gate
        self._lane = lane
        self._key = key
        self._exchange = exchange
        self._arrive = arrive
        self._since = since
        self.over = False

    def end(self, found: Any) -> None:
        """It is decided, or it could not be."""
        exchange, self._exchange = self._exchange, None
        self.over = True
        if exchange is None:
            return
        gate = self._gate
        limiter = self._lane.limiter
        meter = limiter._far.watch.meter
        if meter is not None:
            meter.note(0, limiter._now() - self._since)
        try:
            if type(found) is Decision:
                fresh = Entry(gate.version)
                found = gate.judge(fresh, self._lane, self._key, gate.cost, found, 0)
            self._arrive(exchange, found)
        except Exception:
            # Others come back on the same line.
            logger.exception("a request could not go on")

    def cancel(self) -> None:
        """Nobody wants to go there any more."""
        self._exchange = None
