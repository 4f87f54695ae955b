"""Service: where it is asked and by whom, and how much it bears."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headgate.rules.model.bounds import CONNECTIONS, LEAST, volume
from headgate.rules.model.callers import CALLERS, present
from headgate.rules.model.callers import hushed as unnamed
from headgate.rules.model.kinds import Listing, Named, Path, Report
from headgate.rules.model.listen import ADMIN, apart, file, hushed
from headgate.rules.model.port import PORTS, Port
from headgate.rules.model.scalars import flag, seconds, whole
from headgate.rules.model.secret import HIDDEN, SPARE
from headgate.rules.model.table import Table, spelled, strict, told

# Bodies are kept until they are whole; this many bytes and no more.
BODY = 65_536


@strict
@dataclass(frozen=True, repr=False)
class Capacity:
    """How much a service takes; 0 is no bound where that is said."""

    connections: Any = told(
        whole("how many", 1, CONNECTIONS), "How many connections a worker may have.", 10_000
    )
    per_client: Any = told(
        whole("how many", 0, CONNECTIONS),
        "How many of them may come from one address; 0 for any number.",
        0,
    )
    body: Any = told(
        volume("how much", 1000, BODY), "How many bytes of a body, or of a message.", BODY
    )
    sets: Any = told(
        whole("how many", 1, 100_000),
        "How many different limits callers may bring along; the longest unused goes first.",
        1000,
    )


@strict
@dataclass(frozen=True, repr=False)
class Waits:
    """How long a service waits for those who ask it, in seconds."""

    head: Any = told(
        seconds("how long", LEAST), "How long one may take for the first word, or a head.", 10.0
    )
    body: Any = told(seconds("how long", LEAST), "How long one may pause within a message.", 30.0)
    idle: Any = told(
        seconds("how long", LEAST), "How long a connection is kept on which nothing comes.", 600.0
    )
    send: Any = told(
        seconds("how long", LEAST), "How long one may take in nothing of the answers.", 60.0
    )
    drain: Any = told(
        seconds("how long"), "How long what is under way may take at the end; 0s cuts it.", 30.0
    )


@strict
@dataclass(frozen=True, repr=False)
class RateLimit:
    """How Envoy's calls are answered, and by which of envoyproxy/ratelimit's files."""

    files: Any = told(
        Listing(file("a file of envoyproxy/ratelimit's configuration")),
        "What those files say holds for their domains; for others the rules do.",
        (),
    )
    headers: Any = told(
        flag("whether answers carry RateLimit headers"),
        "Whether Envoy is given headers for the client.",
        False,
    )
    metadata: Any = told(
        flag("whether answers carry dynamic metadata"),
        "Whether Envoy is told of the descriptors in its metadata.",
        False,
    )
    shadow: Any = told(
        flag("whether nobody is refused"), "Whether all is counted and nobody is refused.", False
    )


WAITS = Table(Waits, "a mapping such as {idle: 10min, drain: 5s}")
CAPACITY = Table(Capacity, "a mapping such as {connections: 1000}")
RATE_LIMIT = Table(RateLimit, "a file, or a mapping such as {files: domains.yaml}", "files")
USUAL = tuple(
    Port(f"{speaks}://127.0.0.1:{8081 + number}")
    for number, speaks in enumerate(("http", "grpc", "resp", "spop"))
)


@strict
@dataclass(frozen=True, repr=False)
class Service:
    """What a service does for those who ask it."""

    listen: Any = told(PORTS, "Where it is asked.", USUAL)
    workers: Any = told(whole("how many", 1, 1000), "How many processes do the work.", 1)
    admin: Any = told(ADMIN, "Where one asks how it is; nowhere unless said here.", None)
    limits: Any = told(CAPACITY, "How much it takes.", Capacity())
    timeouts: Any = told(WAITS, "How long it waits.", Waits())
    ratelimit: Any = told(RATE_LIMIT, "How Envoy's calls are answered.", RateLimit())
    callers: Any = told(CALLERS, "Who may ask; anybody unless said here.", Named())
    secret: Any = told(
        SPARE,
        "Signs what callers give back later; one is made at the start unless said here.",
        "",
    )

    def hushed(self) -> dict[str, Any]:
        """As a rule file says it, in plain data, without its secrets."""
        plain = spelled(self)
        if "admin" in plain:
            plain["admin"] = hushed(plain["admin"])
        if "callers" in plain:
            plain["callers"] = unnamed(plain["callers"])
        return {**plain, "secret": HIDDEN} if self.secret else plain

    def __repr__(self) -> str:
        said = [f"{name}={given!r}" for name, given in self.hushed().items()]
        return f"Service({', '.join(said)})"

    def check(self, report: Report, at: Path) -> None:
        """Whether each port has a place to itself, and those are callers whom it names."""
        apart(self.listen, self.admin, report, at)
        present(self.callers, self.listen, report, (*at, "listen"))


SERVICE = Table(Service, "a mapping such as {listen: http://127.0.0.1:8081}")
