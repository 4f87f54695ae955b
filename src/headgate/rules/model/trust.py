"""Trust: whom a rule file believes about who the client is."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from headgate.rules.clients.address import Networks
from headgate.rules.clients.client import Client
from headgate.rules.model.kinds import Listing, Misfit, Path, Plain, Report, Schema
from headgate.rules.model.scalars import text, whole
from headgate.rules.model.table import Table, blamed, strict, told


def _network(given: Any) -> str:
    if not isinstance(given, str):
        raise Misfit
    return Networks([given]).cidrs[0]


NETWORK = Plain(
    "a network such as 10.0.0.0/8",
    _network,
    {"type": "string", "pattern": "^[0-9A-Fa-f.:]+(/[0-9]+)?$"},
)


@strict
@dataclass(frozen=True, repr=False)
class Trust:
    """Which proxies are believed, and how much of an address is one client."""

    trusted_proxies: Any = told(Listing(NETWORK), "The networks of the proxies.", ())
    header: Any = told(
        text("the name of a header such as x-forwarded-for", 100),
        "In which header they say who the client is.",
        "x-forwarded-for",
    )
    trusted_hops: Any = told(
        whole("how many proxies", 0, 32), "How many proxies there are, if not where.", 0
    )
    ipv4: Any = told(
        whole("how many bits", 1, 32), "How many leading bits of an IPv4 address are a client.", 32
    )
    ipv6: Any = told(
        whole("how many bits", 1, 128), "How many leading bits of an IPv6 address are one.", 64
    )

    def client(self) -> Client:
        """What finds the client."""
        return Client(**{one.name: getattr(self, one.name) for one in fields(self)})

    def check(self, report: Report, at: Path) -> None:
        """Whether there is such a client."""
        try:
            self.client()
        except (TypeError, ValueError) as problem:
            words = [one.name for one in fields(self)]
            said = str(problem).removeprefix("client: ")
            field, colon, rest = said.partition(": ")
            plain = rest if colon and field in words else said
            report.add((*at, field) if plain is rest else blamed(problem, at, words), plain)


class Believing:
    """The kind of `client`: a mapping, or a `Client`."""

    says = "a mapping such as {trusted_proxies: [10.0.0.0/8]}"

    def __init__(self) -> None:
        self._table = Table(Trust, self.says)

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """A client finder."""
        if isinstance(given, Client):
            return given
        before = report.wrong
        found = self._table.read(given, at, report)
        return found.client() if report.wrong == before else None

    def spell(self, value: Any) -> Any:
        """A mapping."""
        return self._table.spell(
            Trust(**{one.name: getattr(value, one.name) for one in fields(Trust)})
        )

    def schema(self) -> Schema:
        """In JSON Schema."""
        return self._table.schema()


CLIENT = Believing()
