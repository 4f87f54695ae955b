"""Group: the servers of one upstream, and which of them a request goes to.

Two things can speak against a server, and they are not believed alike. An open breaker has seen
requests fail, and lets one in by itself after a while to see whether they still do: it is always
believed, and where all are open there is nowhere to go. A check only asks a question beside the
requests, and when every server fails it, it is more likely the question that is wrong: a path that
moved, a login, a status nobody listed. A refusal of our own would then be the outage. So where no
server is well, none is taken for down, and requests go to all of them until one is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from headgate.clock import Clock, microseconds
from headgate.gateway.upstreams.pulse import Pulse
from headgate.gateway.upstreams.ring import Ring
from headgate.gateway.upstreams.server import Server
from headgate.guards.retry import RetryBudget
from headgate.measures import FOREVER
from headgate.rules.matching.facts import composer
from headgate.rules.matching.request import Request
from headgate.rules.model.charge import statuses
from headgate.rules.model.place import Place
from headgate.rules.model.upstream import Retries, Upstream


class Group:
    """The servers of the upstream of this name, on the terms that the rules have for it.

    `faults` are the statuses that speak against the server that answers with them, `budget` says
    how many requests may be sent again, and is None if none may.
    """

    def __init__(self, name: str, upstream: Upstream, clock: Clock) -> None:
        self.name = name
        self.upstream = upstream
        breaker = upstream.breaker
        self.faults = frozenset() if breaker is None else statuses(breaker.status)
        self.budget = budget(upstream.retries, clock)
        self._fill([self._build(place, clock) for place in upstream.places])
        self._key: Callable[[Request], str] | None = None
        if upstream.balance == "hash":
            self._key = composer(upstream.key)
            self._ring = Ring([server.name for server in self.servers])

    def pick(self, request: Request, now: int, tried: Collection[Server] = ()) -> Server | None:
        """The server that a request goes to; None if nobody can take it now.

        That is the one with the least to do, those with as little in turn; or the one that the
        request's key belongs to, and while it cannot, the next on the ring. A request without a
        key goes to whoever has least to do. Who was `tried` is asked again only if nobody else can.
        """
        only = self._only
        if only is not None:
            return only if only.fit(now) else None
        key = self._key(request) if self._key is not None else ""
        found = self._along(key, now, tried) if key else self._least(now, tried)
        return self.pick(request, now) if found is None and tried else found

    def wait(self, now: int) -> int:
        """Microseconds until a breaker lets a request in; 0 if it is not they who keep it out."""
        return min(server.wait(now) for server in self.servers if not server.down)

    def sweep(self, now: int) -> None:
        """Close the connections that nobody has used for long."""
        for server in self.servers:
            if server.idle:
                server.sweep(now)

    def settle(self) -> None:
        """Take those servers for down that are not well; none, if none is well."""
        ill = [server for server in self.servers if server.pulse and not server.pulse.well]
        for server in self.servers:
            server.down = server in ill and len(ill) < len(self.servers)

    def follow(self, old: Group) -> None:
        """Take over the servers that `old` has too; the others of `old` are closed.

        They keep their connections, their health and their counts, and go on under new terms. What
        was connected under other terms of TLS is not taken over.
        """
        alike = self.upstream.tls == old.upstream.tls
        known = {
            server.place: server
            for server in old.servers
            if alike or server.place.scheme != "https"
        }
        tripping = self.upstream.breaker != old.upstream.breaker
        for fresh in self.servers:
            if fresh.place in known:
                renew(known[fresh.place], fresh, tripping)
        self._fill([known.pop(fresh.place, fresh) for fresh in self.servers])
        for server in old.servers:
            if server not in self.servers:
                server.close()
        if self.upstream.retries == old.upstream.retries:
            self.budget = old.budget
        self.settle()

    def close(self) -> None:
        """Close all connections that are idle, and those in use as soon as they come back."""
        for server in self.servers:
            server.close()

    def status(self) -> dict[str, Any]:
        """What there is to know of each server, for JSON."""
        return {server.name: server.status() for server in self.servers}

    def __repr__(self) -> str:
        return f"<Group {self.name!r}: {len(self.servers)} servers>"

    def _build(self, place: Place, clock: Clock) -> Server:
        terms = self.upstream
        server = Server(place, terms.connections, microseconds(terms.idle))
        if terms.breaker is not None:
            server.guard(terms.breaker.breaker(f"{self.name} {server.name}", clock))
        if terms.health is not None:
            server.pulse = Pulse(terms.health.up, terms.health.down)
        return server

    def _fill(self, servers: list[Server]) -> None:
        self.servers = servers
        # One alone needs no choice.
        self._only = servers[0] if len(servers) == 1 else None
        # Whose turn it is among those who have as little to do.
        self._turn = 0

    def _least(self, now: int, tried: Collection[Server]) -> Server | None:
        found, least = None, FOREVER
        turn, size = self._turn, len(self.servers)
        for at in range(turn - size, turn):
            server = self.servers[at]
            if server.busy < least and server.fit(now) and server not in tried:
                found, least = server, server.busy
                self._turn = (at + 1) % size
                if least == 0:
                    break
        return found

    def _along(self, key: str, now: int, tried: Collection[Server]) -> Server | None:
        server = self.servers[self._ring.first(key)]
        if server.fit(now) and server not in tried:
            return server
        for at in self._ring.find(key):
            server = self.servers[at]
            if server.fit(now) and server not in tried:
                return server
        return None


def budget(retries: Retries, clock: Clock) -> RetryBudget | None:
    """How many requests may be sent again on these terms; None if none may."""
    return RetryBudget(retries.budget / 100, clock=clock) if retries.most else None


def renew(server: Server, fresh: Server, tripping: bool) -> None:
    """Let a server go on as the other was built; with its breaker, if the terms of that changed."""
    server.limit, server.span = fresh.limit, fresh.span
    if not server.span:
        server.clear()
    if tripping:
        server.guard(fresh.breaker)
    if server.pulse is None or fresh.pulse is None:
        server.pulse = fresh.pulse
    else:
        server.pulse = Pulse(fresh.pulse.up, fresh.pulse.down, server.pulse.well)
