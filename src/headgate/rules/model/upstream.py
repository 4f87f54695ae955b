"""Upstreams: servers that answer alike, who of them is asked, and what is made of their faults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headgate.rules.matching.facts import Fact, template
from headgate.rules.model.bounds import LEAST
from headgate.rules.model.charge import STATUSES
from headgate.rules.model.gates import BREAKER, Break
from headgate.rules.model.kinds import Listing, Misfit, Path, Plain, Report, Schema, shown, truth
from headgate.rules.model.listen import file
from headgate.rules.model.place import SERVER, Place, address, known
from headgate.rules.model.rule import KEY
from headgate.rules.model.scalars import PERCENT, choice, flag, seconds, whole
from headgate.rules.model.table import Table, closed, spelled, strict, told

# How others call the two ways.
FOREIGN = {
    **dict.fromkeys(("round_robin", "roundrobin", "random", "least_conn", "leastconn"), "least"),
    **dict.fromkeys(("ip_hash", "consistent", "consistent_hash", "ring_hash", "sticky"), "hash"),
}
LONGEST = 1000
# Answers that tell of a server that cannot, and not of a request that it cannot bear.
UNFIT = (502, 503, 504)


def _asked(given: Any) -> str:
    if not isinstance(given, str) or not given.startswith("/"):
        raise Misfit
    clean = given.isascii() and given.isprintable() and " " not in given and "#" not in given
    if len(given) > LONGEST or not clean:
        raise Misfit(f"; at most {LONGEST:,} characters of ASCII, without blanks and #")
    return given


def _called(given: Any) -> str:
    if not isinstance(given, str) or not given:
        raise Misfit
    try:
        return known(given)
    except ValueError as problem:
        raise Misfit(f"; {problem}") from None


ASKED = Plain("a path such as /healthz", _asked, {"type": "string", "pattern": "^/[^ #]*$"})
CALLED = Plain(
    "the name of a host such as a.example", _called,
    {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,253}$"},
)  # fmt: skip


@strict
@dataclass(frozen=True, repr=False)
class Health:
    """Asks each server now and then whether it is well."""

    path: Any = told(ASKED, "What it is asked for.")
    every: Any = told(seconds("how often", 0.1), "How often.", 5.0)
    timeout: Any = told(seconds("how long", LEAST), "How long it may take to answer.", 1.0)
    up: Any = told(whole("how often", 1, 1000), "After how many good answers in a row it is in.", 2)
    down: Any = told(whole("how often", 1, 1000), "After how many bad ones in a row it is out.", 3)
    status: Any = told(STATUSES, "Which answers are good.", ("2xx",))


@strict
@dataclass(frozen=True, repr=False)
class Retries:
    """Which requests are sent again after a fault: those that nobody can tell from one.

    That is, of a method that may be repeated, with all of the body in hand, and before anything of
    an answer went to the client.
    """

    most: Any = told(whole("how often", 0, 10), "How often a request is sent again at most.", 1)
    budget: Any = told(PERCENT, "How many of all requests may be sent again.", 20.0)

    def check(self, report: Report, at: Path) -> None:
        """A budget of nothing is no budget."""
        if self.most and not self.budget:
            report.add((*at, "budget"), "lets nothing be sent again; write most: 0 for that")


@strict
@dataclass(frozen=True, repr=False)
class Assurance:
    """How sure it is that an https server is who it says."""

    ca: Any = told(
        file("a file of certificates in PEM"),
        "Who signs its certificate; whom the system trusts unless said here.",
        "",
    )
    verify: Any = told(
        flag("whether its certificate is checked"), "Whether its certificate is checked.", True
    )
    name: Any = told(CALLED, "Whom the certificate names, if not the host of its address.", "")

    def check(self, report: Report, at: Path) -> None:
        """What is not looked at is not said."""
        if self.ca and not self.verify:
            report.add((*at, "ca"), "is never asked, for verify is false; leave one of them out")


class Tripping:
    """The kind of a server's breaker: that of a rule, or `false` for none.

    Unless it says so, only what tells of a server that cannot is a failure.
    """

    says = "true, false, or a mapping such as {failures: 0.5}"

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """The terms of a breaker, or None, which code may say and a file may not."""
        if given is None or given is False:
            return None
        if given is True:
            return TRIP
        if isinstance(given, Mapping):
            return BREAKER.read({"status": [*UNFIT], **given}, at, report)
        if not isinstance(given, Break):
            report.add(at, f"is {self.says}, not {shown(given)}{truth(given)}")
        return given

    def spell(self, value: Any) -> Any:
        """A mapping, or a word."""
        if value is None or value == TRIP:
            return value is not None
        plain = {**spelled(value), "status": STATUSES.spell(value.status)}
        return {word: one for word, one in plain.items() if (word, one) != ("status", [*UNFIT])}

    def schema(self) -> Schema:
        """In JSON Schema."""
        return {"anyOf": [closed(Break), {"type": "boolean"}]}


TRIP = Break(status=UNFIT)
HEALTH = Table(Health, "a path such as /healthz, or a mapping with path", "path")
RETRIES = Table(Retries, "how often, or a mapping such as {most: 1, budget: 20%}", "most")
ASSURANCE = Table(Assurance, "a mapping such as {ca: ca.pem}")


@strict
@dataclass(frozen=True, repr=False)
class Upstream:
    """Servers of which each can answer: `Upstream(["http://10.0.0.1", "http://10.0.0.2"])`."""

    servers: Any = told(Listing(SERVER), "Where they are.")
    balance: Any = told(
        choice("least", "hash", foreign=FOREIGN),
        "Who is asked: whoever has least to do, or always the same for a key.",
        "least",
    )
    key: Any = told(KEY, "Which requests go to the same server, with balance: hash.", ())
    connections: Any = told(
        whole("how many", 0, 1_000_000),
        "How many connections to a server a worker may have; 0 for as many as it needs.",
        0,
    )
    idle: Any = told(
        seconds("how long"), "How long a connection nobody uses is kept; 0s for not at all.", 4.0
    )
    health: Any = told(HEALTH, "Whether they are asked how they are; not unless said here.", None)
    breaker: Any = told(Tripping(), "Ask no server that keeps failing, for a while.", TRIP)
    retries: Any = told(RETRIES, "What is sent again after a fault.", Retries())
    tls: Any = told(ASSURANCE, "How sure it is who an https server is.", Assurance())

    @property
    def places(self) -> tuple[Place, ...]:
        """Where each of the servers is."""
        return tuple(map(address, self.servers))

    def check(self, report: Report, at: Path) -> None:
        """Whether the fields go together."""
        seen: dict[Place, int] = {}
        for number, place in enumerate(self.places):
            if place in seen:
                said = f"is servers[{seen[place]}] again; leave it out"
                report.add((*at, "servers", number), said)
            seen.setdefault(place, number)
        if self.balance == "hash" and not self.key:
            report.add(at, 'lacks "key", by which hash chooses; write one such as client.ip')
        if self.key and self.balance != "hash":
            report.add((*at, "key"), "is for balance: hash, not for least")
        for fact in facts(self.key):
            if fact.family == "path" and fact.name:
                said = f"{fact} is known where a path is matched, and that is on a route"
                report.add((*at, "key"), f"{said}; write path, or another fact")
        if self.tls != Assurance() and not any(one.scheme == "https" for one in seen):
            report.add((*at, "tls"), "is about https, and there is no such server; leave it out")


def facts(key: tuple[str, ...]) -> list[Fact]:
    """The facts that a key is made of."""
    return [piece for part in key for piece in template(part) if isinstance(piece, Fact)]


class Grouping:
    """The kind of an upstream: a mapping, or the address of its only server."""

    says = "an address such as http://10.0.0.1:9000, or a mapping with servers"

    def __init__(self) -> None:
        self._table = Table(Upstream, self.says, "servers")

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """An upstream."""
        if isinstance(given, Mapping) and given.get("breaker", TRIP) is None:
            report.add((*at, "breaker"), f"is {Tripping.says}, not nothing")
        return self._table.read(given, at, report)

    def spell(self, value: Any) -> Any:
        """An address, or a mapping."""
        plain = spelled(value)
        alone = [*plain] == ["servers"] and isinstance(plain["servers"], str)
        return plain["servers"] if alone else plain

    def schema(self) -> Schema:
        """In JSON Schema."""
        return {"anyOf": [closed(Upstream), SERVER.schema()]}


UPSTREAM = Grouping()
