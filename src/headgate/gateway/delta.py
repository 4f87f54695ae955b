"""Delta: where requests branch out: all roads, the groups they lead to, and their health checks."""

from __future__ import annotations

import asyncio
from typing import Any

from headgate.clock import Clock
from headgate.gateway.dialer import Dialer
from headgate.gateway.road import Roads
from headgate.gateway.upstreams.group import Group
from headgate.gateway.upstreams.probe import Probe
from headgate.gateway.upstreams.prober import Prober
from headgate.rules.model.gateway import Gateway


class Delta:
    """The roads and groups of the rules in force; what stays the same outlives a change of them."""

    def __init__(self, clock: Clock, dialer: Dialer) -> None:
        self._clock = clock
        self._dialer = dialer
        self._probers: dict[str, Prober] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self.groups: dict[str, Group] = {}
        self.roads = Roads((), {}, None, clock)

    def settle(self, gateway: Gateway) -> None:
        """Go by these terms from now on."""
        self.check(gateway)
        known = self.groups
        groups = {name: Group(name, one, self._clock) for name, one in gateway.groups.items()}
        for name, group in groups.items():
            if name in known:
                group.follow(known[name])
        for name, group in known.items():
            if name not in groups:
                group.close()
        self.groups = groups
        self.roads = Roads(gateway.routes, groups, gateway.timeouts, self._clock)
        self._watch()

    def check(self, gateway: Gateway) -> None:
        """Raise what would go wrong with these terms; nothing changes."""
        for upstream in gateway.groups.values():
            if any(place.scheme == "https" for place in upstream.places):
                self._dialer.context(upstream.tls)

    def sweep(self, now: int) -> None:
        """Close connections that nobody uses, and count what was asked."""
        self.roads.count()
        for group in self.groups.values():
            group.sweep(now)

    def status(self) -> dict[str, Any]:
        """What there is to know of the servers, for JSON."""
        return {name: group.status() for name, group in self.groups.items()}

    async def close(self) -> None:
        """Ask no server any more, and hang up."""
        for prober in self._probers.values():
            await prober.close()
        for group in self.groups.values():
            group.close()
        if self._closing:
            await asyncio.wait(self._closing)

    def _watch(self) -> None:
        # Each group that is to be asked has a prober of its own, which ends with its group.
        for prober in self._probers.values():
            task = asyncio.ensure_future(prober.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        self._probers = {}
        for name, group in self.groups.items():
            terms = group.upstream
            if terms.health is None:
                continue
            secure = any(place.scheme == "https" for place in terms.places)
            context = self._dialer.context(terms.tls) if secure else None
            ask = Probe(terms.health, context, terms.tls.name if secure else "").ask
            self._probers[name] = Prober(group, ask, self._clock)
            self._probers[name].start()
