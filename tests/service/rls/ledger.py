"""A limit of a file, asked in Envoy's protocol over a real connection; and what it has no word for.

A call tells how many hits, and a descriptor that brings hits of its own looks (0), gives back (less
than 0), or tells what was spent where somebody has looked before. Nobody can book, give back what
was booked, forget a key, or ask whether more than nothing would go in: all of that is done to the
limiter that the service asks.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc

from headgate.measures import MILLION
from headgate.service.grpc.methods import Methods
from headgate.service.rls.domains import SECONDS
from headgate.service.rls.messages import UNITS, Response
from headgate.service.staff import RATE_LIMIT
from headgate.testing.cases import NEVER
from headgate.testing.conformance import act
from tests.conformance.engines import Surface, window
from tests.service.grpc.hosting import Host, Place
from tests.service.rls.calls import Desk, call, codes, priced
from tests.service.spelling import spelled

if TYPE_CHECKING:
    from headgate import Limit
    from headgate.testing import Case
    from headgate.testing.cases import Answer, Row

DOMAIN = "edge"
# A net for what should never take so long.
LONG = 20


class Told(NamedTuple):
    """All that a status tells: the code, the limit it is about, what is left of it, and seconds."""

    code: str
    limit: tuple[int, str, str]
    remaining: int
    seconds: int


class Edge:
    """A service that goes by one file, and a client of it."""

    def __init__(self) -> None:
        self.desk = Desk()
        self.stack = ExitStack()

    def __enter__(self) -> Edge:
        place, methods = Place(), Methods()
        methods.unary(RATE_LIMIT, self.desk.limit.answer)
        place.hall.things["grpc"] = methods
        self.host = self.stack.enter_context(Host(place, piped=True))
        channel = self.stack.enter_context(grpc.insecure_channel(self.host.address))
        self.method = channel.unary_unary(RATE_LIMIT)
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def open(self, name: str, limits: tuple[Limit, ...]) -> None:
        """Go by a file that has these limits, for descriptors with an entry of that name."""
        descriptor = {"key": name, "rate_limit": {"limit": spelled(limits)}}
        self.host.run(self.desk.change, json.dumps({"domain": DOMAIN, "descriptors": [descriptor]}))

    def ask(self, *descriptors: Any, hits: int = 0) -> Told:
        """What is answered to a call about one descriptor."""
        response = Response.FromString(
            self.method(call(DOMAIN, *descriptors, hits=hits), timeout=LONG)
        )
        overall, code = codes(response)
        one = response.statuses[0]
        limit, wait = one.current_limit, one.duration_until_reset
        assert (overall, wait.nanos) == (code, 0)
        about = (limit.requests_per_unit, UNITS[limit.unit], limit.name)
        return Told(code, about, one.limit_remaining, wait.seconds)


class Keys:
    """The keys of one case."""

    def __init__(self, edge: Edge, name: str, limits: tuple[Limit, ...]) -> None:
        edge.open(name, limits)
        self.edge = edge
        self.name = name
        self.limits = limits
        self.clock = edge.desk.clock
        self.ratelimit = edge.desk.limit
        leaf, _ = self.ratelimit.find(DOMAIN, [(name, "")])
        limiter = self.ratelimit.limiter(leaf)
        self.behind = Surface(limits, lambda *_, **__: limiter)
        self.behind.clock = self.clock

    def play(self, row: Row) -> tuple[Told | Answer | None, Told | Answer | None]:
        """What is answered to a row, and what should be."""
        self.clock.set(row.at / MILLION)
        if carried(row):
            return self.ask(row), expected(row, self.limits)
        _, key = self.ratelimit.find(DOMAIN, [(self.name, row.key)])
        found = self.edge.host.run(act, row._replace(key=key), self.behind, self.limits)
        if found is not None and row.answer is not None and row.answer.rule is None:
            found = found._replace(rule=None)
        return found, row.answer

    def ask(self, row: Row) -> Told:
        entries = {self.name: row.key}
        if row.do == "refund":
            return self.edge.ask(priced(-row.cost, **entries))
        look = priced(0, **entries)
        if row.do == "peek" or row.cost == 0:
            return self.edge.ask(look)
        if row.do == "debit":
            self.edge.ask(look)
            return self.edge.ask(priced(row.cost, **entries))
        return self.edge.ask(entries, hits=row.cost)


def carried(row: Row) -> bool:
    """Whether the protocol has words for what a row does."""
    if row.do == "peek":
        # Where it would go in, it is answered as nothing is.
        return row.cost == 0 or (row.answer is not None and row.answer.allowed)
    return row.do in ("take", "debit", "refund")


def expected(row: Row, limits: tuple[Limit, ...]) -> Told:
    """What a status can tell of the answer that a table has."""
    answer = row.answer
    assert answer is not None
    barred = [limit for limit in limits if limit.most < 0]
    # What is given back is never refused, nor is who only looks at what nobody may.
    kind = row.do == "refund" or (bool(barred) and row.cost == 0)
    wait = answer.reset if answer.allowed else answer.retry
    if wait in (0, NEVER):
        wait = rest(row.at, limits)
    code = "OK" if answer.allowed or kind else "OVER_LIMIT"
    return Told(code, about(row, limits), answer.remaining, -(-wait // MILLION))


def about(row: Row, limits: tuple[Limit, ...]) -> tuple[int, str, str]:
    """How much of which unit, and the name, of the limit that a table speaks of."""
    rule = None if row.answer is None else row.answer.rule
    (limit,) = [one for one in limits if rule in (None, one.name)]
    seconds = {length * MILLION: unit.upper() for unit, length in SECONDS.items()}
    unit = seconds.get(limit.rate.period, UNITS[0])
    return limit.rate.count, unit, limit.options.get("name", "")


def rest(at: int, limits: tuple[Limit, ...]) -> int:
    """How long it is until the windows of clock and calendar end, where nothing else is told."""
    spans = [0]
    for limit in limits:
        if getattr(limit, "calendar", ""):
            spans.append(window(at, limit.calendar, limit.zone)[2] - at)
        elif getattr(limit, "anchor", "") == "clock":
            spans.append(limit.rate.period - at % limit.rate.period)
    return max(spans)


def differences(case: Case, edge: Edge, name: str) -> list[str]:
    """What is answered otherwise than a case says, a line each."""
    keys = Keys(edge, name, case.limits)
    played = [(row, *keys.play(row)) for row in case.rows]
    return [
        f"{row.place}: {row.do} {row.cost}: expected {wanted}; answered {found}"
        for row, found, wanted in played
        if found != wanted
    ]
