"""Roads: where a request goes, and what is changed of it on the way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate.clock import Clock
from headgate.gateway.upstreams.group import Group, budget
from headgate.gateway.upstreams.server import Server
from headgate.measures import MILLION
from headgate.rules.matching.index import Condition, Index
from headgate.rules.matching.request import Request
from headgate.rules.model.bounds import Timeouts
from headgate.rules.model.place import Place
from headgate.rules.model.route import KEEP, UPSTREAM, Route
from headgate.telemetry.meter import ANSWERS, Meter
from headgate.wire.exchange import Exchange
from headgate.wire.heads import compose
from headgate.wire.scroll import Scroll

# What may be sent again without being done twice.
REPEATABLE = frozenset({b"GET", b"HEAD", b"OPTIONS", b"PUT", b"DELETE"})


class Road:
    """A route made ready. Times are microseconds, 0 for any time."""

    __slots__ = (
        "_direct", "add", "answer", "asked", "budget", "connect", "faults", "group", "host",
        "least", "mark", "meter", "most", "only", "route", "stall", "strip", "total", "upgrade",
    )  # fmt: skip

    def __init__(self, route: Route, group: Group, timeouts: Timeouts, clock: Clock) -> None:
        self.route = route
        # What tells it from others, whatever rules are in force meanwhile.
        self.mark = repr(route)
        self.group = group
        # The server that every request goes to, if there is but one.
        self.only: Server | None = group.servers[0] if len(group.servers) == 1 else None
        # Statuses that are failures; there is none below `least`.
        self.faults: frozenset[int] = group.faults
        self.least = min(self.faults, default=1000)
        waits = timeouts if route.timeouts is None else route.timeouts.over(timeouts)
        self.connect = round(waits.connect * MILLION)
        self.answer = round(waits.answer * MILLION)
        self.stall = round(waits.stall * MILLION)
        self.total = round(waits.total * MILLION)
        retries = route.retries or group.upstream.retries
        self.most: int = retries.most
        own = route.retries is not None and route.retries != group.upstream.retries
        self.budget = budget(retries, clock) if own else group.budget
        # What is counted of its requests.
        self.meter = Meter(ANSWERS)
        # Requests that the budget does not know of yet.
        self.asked = 0
        # The protocols that a connection may turn to.
        self.upgrade = frozenset(word.lower().encode("ascii") for word in route.upgrade)
        self.host = b"" if route.host in (KEEP, UPSTREAM) else route.host.encode("ascii")
        self.strip = b"" if route.path is None else route.path.strip.encode("ascii")
        self.add = b"" if route.path is None else route.path.add.encode("ascii")
        self._direct = route.host == KEEP and route.path is None

    @property
    def title(self) -> str:
        """What it is called where it is told of: its name, or which paths it is for."""
        route = self.route
        return str(route.name) or " ".join(map(str, route.match.paths)) or "*"

    def pick(self, request: Request, now: int, tried: list[Server] | None) -> Server | None:
        """The server that a request goes to; None if nobody can take it now."""
        found: Server | None = self.group.pick(request, now, tried or ())
        return found

    def repeats(self, exchange: Exchange) -> bool:
        """Whether a request may be sent again if it fails."""
        if self.most == 0 or exchange.upgrade:
            return False
        return exchange.method == b"GET" or exchange.method in REPEATABLE

    def fails(self, status: int) -> bool:
        """Whether a server that answers so has failed."""
        return status >= self.least and status in self.faults

    def compose(self, exchange: Exchange, scroll: Scroll) -> bytes:
        """The head of a request as this road's servers are told it."""
        host, target = exchange.host, exchange.target
        if not self._direct:
            target = self._rewrite(target)
            if self.route.host != KEEP:
                host = self.host or named(exchange.server.place)
        return compose(exchange, target, host, scroll)

    def _rewrite(self, target: bytes) -> bytes:
        if not target.startswith(b"/"):
            return target
        strip = self.strip
        if strip and target.startswith(strip) and target[len(strip) : len(strip) + 1] in b"/?":
            target = target[len(strip) :]
            if not target.startswith(b"/"):
                target = b"/" + target
        return self.add + target


class Roads:
    """All roads, in the order of the routes; a request takes the first that is meant for it."""

    def __init__(
        self, routes: tuple[Route, ...], groups: Mapping[str, Group], timeouts: Any, clock: Any
    ) -> None:
        self.roads = [Road(route, groups[route.upstream], timeouts, clock) for route in routes]
        conditions = [
            Condition.of(one.match.conditions, one.match.exceptions, None) for one in routes
        ]
        self._index = Index(conditions)
        said = {fact for one in routes for fact in (*one.match.conditions, *one.match.exceptions)}
        # Where one road is for everybody, or only method and path matter, little has to be asked.
        self._only = self.roads[0] if self.roads and not said else None
        self._plain = said <= {"method", "path"}

    def count(self) -> None:
        """Let budgets for retries know how many requests there were."""
        for road in self.roads:
            asked, road.asked = road.asked, 0
            if asked and road.budget is not None:
                road.budget.count(asked)

    def find(self, request: Request) -> Road | None:
        """The road that a request takes; None if there is none."""
        if self._only is not None:
            return self._only
        return self._look(request)

    def meant(self, method: str, path: str) -> Road | None:
        """The road of all requests with this method and path, if they are all that matters."""
        if self._only is not None or not self._plain:
            return self._only
        return self._look(Request(method, path))

    def _look(self, request: Request) -> Road | None:
        positions = self._index.find(request)
        return self.roads[positions[0]] if positions else None


def named(place: Place) -> bytes:
    """The host of a server, as a request to it names it."""
    if place.scheme == "unix":
        return b"localhost"
    host = f"[{place.host}]" if ":" in place.host else place.host
    usual = place.port == (443 if place.scheme == "https" else 80)
    return host.encode("ascii") if usual else f"{host}:{place.port}".encode("ascii")
