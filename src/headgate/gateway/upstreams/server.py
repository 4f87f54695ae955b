"""Server: one address behind the gateway, the connections to it, and what is known of its health.

A connection is lent to one request at a time and is kept afterwards, or dropped. Those that are
kept wait in a stack: the latest is lent first, so few stay in use and the others grow old and are
closed. Nothing here opens a connection or reads a clock.

    server = group.pick(request, now)
    ticket = server.enter(now)
    outlet = server.lend() or open_one()
    ...
    server.leave(ticket, SUCCESS, now, took)
    server.keep(outlet)                         # or drop(outlet)
"""

from __future__ import annotations

from typing import Any, Protocol

from headgate.breakers.breaker import Breaker
from headgate.breakers.circuit import STATES, Circuit
from headgate.gateway.upstreams.pulse import Pulse
from headgate.measures import FOREVER
from headgate.rules.model.place import Place
from headgate.window import FAILURE, TIMEOUT

CLOSED = STATES.index("closed")


class Outlet(Protocol):
    """A connection; `expires` is the server's to write while nobody uses it."""

    expires: int

    def ready(self) -> bool: ...

    def close(self) -> None: ...


class Server:
    """One server: at most `most` connections at once (0: any number).

    A connection that nobody uses is kept for `span` microseconds, or not at all if that is 0.
    `busy` are in use, `idle` are not. `down` says that its checks fail; the `breaker`, if there is
    one, goes by what requests came to. `requests` and `failures` count what was sent there.
    """

    __slots__ = (
        "breaker", "busy", "circuit", "down", "failures", "idle", "limit", "name", "place",
        "pulse", "requests", "span",
    )  # fmt: skip

    def __init__(
        self, place: Place, most: int = 0, span: int = FOREVER, breaker: Breaker | None = None
    ) -> None:
        self.place = place
        self.name = str(place) if place.scheme == "unix" else f"{place.scheme}://{place}"
        self.span = span
        self.idle: list[Any] = []
        self.busy = self.requests = self.failures = 0
        self.down = False
        self.pulse: Pulse | None = None
        self.limit = most or FOREVER
        self.guard(breaker)

    def guard(self, breaker: Breaker | None) -> None:
        """Go by that breaker from now on."""
        self.breaker = breaker
        self.circuit: Circuit | None = None if breaker is None else breaker.circuit("")

    def fit(self, now: int) -> bool:
        """Whether a request may go there: it is not down or full, and its breaker lets one in."""
        if self.down or self.busy >= self.limit:
            return False
        circuit = self.circuit
        return circuit is None or circuit.state == CLOSED or circuit.wait(now) == 0

    @property
    def full(self) -> bool:
        """Whether all connections that it may have are in use."""
        return self.busy >= self.limit

    def wait(self, now: int) -> int:
        """Microseconds until its breaker lets a request in, as far as one knows."""
        return 0 if self.circuit is None else self.circuit.wait(now)

    def enter(self, now: int) -> int:
        """A ticket for one request, to be shown when it leaves; -1 if the breaker lets none in."""
        circuit = self.circuit
        ticket = 0 if circuit is None else circuit.enter(now)
        if ticket >= 0:
            self.requests += 1
        if circuit is not None and circuit.story:
            self._tell(circuit)
        return ticket

    def leave(self, ticket: int, outcome: int, now: int, took: int) -> None:
        """Count what came of a request: an outcome of `headgate.window`, or IGNORED."""
        if outcome in (FAILURE, TIMEOUT):
            self.failures += 1
        circuit = self.circuit
        if circuit is None:
            return
        circuit.leave(ticket, outcome, now, took)
        if circuit.story:
            self._tell(circuit)

    def lend(self) -> Any:
        """The connection that was used last, or None: then one has to be opened.

        Either way one more is in use, until it is kept or dropped.
        """
        self.busy += 1
        idle = self.idle
        while idle:
            outlet = idle.pop()
            if outlet.ready():
                return outlet
        return None

    def keep(self, outlet: Outlet) -> None:
        """Take a connection back, for the next request."""
        self.busy -= 1
        if self.down or not self.span:
            outlet.close()
            return
        # How old it is shows when the next sweep finds it.
        outlet.expires = 0
        self.idle.append(outlet)

    def drop(self, outlet: Outlet | None = None) -> None:
        """Close a connection that was lent; without one, none could be opened."""
        self.busy -= 1
        if outlet is not None:
            outlet.close()

    def forget(self, outlet: Outlet) -> None:
        """Lend it no more: it was closed by the other side, idle or not."""
        if outlet in self.idle:
            self.idle.remove(outlet)

    def sweep(self, now: int) -> None:
        """Close what nobody has used for `span`, counted from the sweep that first found it so."""
        idle = self.idle
        fresh = len(idle)
        while fresh and idle[fresh - 1].expires == 0:
            fresh -= 1
            idle[fresh].expires = now + self.span
        # Those kept first stand first: the rest of the stack is younger.
        old = 0
        while old < fresh and idle[old].expires <= now:
            old += 1
        stale = idle[:old]
        del idle[:old]
        for outlet in stale:
            outlet.close()

    def clear(self) -> None:
        """Close all that is idle."""
        stale, self.idle = self.idle, []
        for outlet in stale:
            outlet.close()

    def close(self) -> None:
        """Close all that is idle, and what is in use as soon as it comes back."""
        self.span = 0
        self.clear()

    def status(self) -> dict[str, Any]:
        """What there is to know of it, for JSON."""
        return {
            "busy": self.busy,
            "idle": len(self.idle),
            "requests": self.requests,
            "failures": self.failures,
            "well": self.pulse is None or self.pulse.well,
            "breaker": "" if self.breaker is None else self.breaker.state(),
        }

    def __repr__(self) -> str:
        return f"<Server {self.name}: {self.busy} busy, {len(self.idle)} idle>"

    def _tell(self, circuit: Circuit) -> None:
        if self.breaker is not None:
            self.breaker.tell(circuit)
