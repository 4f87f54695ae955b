"""Ferry: the way in of a request that meets one rule, which only counts, but on a server.

What it answers is what `visit.enter` answers. The journey to the server is what takes time; this
adds little to it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from headgate.rules.live.entry import Entry
from headgate.rules.live.turnstile import Turnstile


class Ferry:
    """Lets requests past one ruling that has to be awaited, under the rules of one version.

    `near` is as with a turnstile: then nothing but the key of its client has to be known of one.
    """

    __slots__ = ("_turnstile", "near")

    def __init__(self, ruling: Any, version: str, plan: Callable[[Any], str]) -> None:
        self._turnstile = Turnstile(ruling, version, plan)
        self.near = self._turnstile.near

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
        return gate.judge(entry, lane, key, units, await lane.limiter.take(key, units))
