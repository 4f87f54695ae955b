"""Gateway: where it listens, what it bears, and where requests go that the rules let in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headgate.rate import Rate
from headgate.rules.model.bounds import BOUNDS, TIMEOUTS, Bounds, Timeouts
from headgate.rules.model.kinds import Named, Names, Path, Report, closest, shown
from headgate.rules.model.listen import ADMIN, LISTEN, Listen, apart, file, hushed
from headgate.rules.model.route import NAME, ROUTES, Route
from headgate.rules.model.scalars import RATE, choice, whole
from headgate.rules.model.table import Table, spelled, strict, told
from headgate.rules.model.upstream import UPSTREAM, Upstream

# Of many upstreams so many are told to who named another, and so many are compared with it.
FEW, MANY = 10, 200


@strict
@dataclass(frozen=True, repr=False)
class Audit:
    """A line for a request that was refused, but no more of them than anybody reads."""

    rate: Any = told(RATE, "How many lines at most.", Rate("10/s"))
    file: Any = told(
        file("a file, or - for the standard output"),
        "Where they are written; the logger has them unless said here.",
        "",
    )
    keys: Any = told(
        choice("hashed", "plain"),
        "Whether a key is written as it is, or as a digest that tells only which are the same.",
        "hashed",
    )


@strict
@dataclass(frozen=True, repr=False)
class Gateway:
    """What a gateway does with the requests that the rules let in."""

    listen: Any = told(LISTEN, "Where clients come in.", (Listen("127.0.0.1:8080"),))
    workers: Any = told(whole("how many", 1, 1000), "How many processes do the work.", 1)
    admin: Any = told(ADMIN, "Where one asks how it is; nowhere unless said here.", None)
    limits: Any = told(BOUNDS, "How much it takes.", Bounds())
    timeouts: Any = told(TIMEOUTS, "How long it waits.", Timeouts())
    upstreams: Any = told(
        Names("a mapping from names to servers", UPSTREAM), "Servers that answer alike.", Named()
    )
    routes: Any = told(ROUTES, "Where requests go, the first that fits.", ())
    audit: Any = told(
        Table(Audit, "a mapping such as {rate: 10/s, file: refused.log}"),
        "What is written of requests that were refused.",
        Audit(),
    )

    @property
    def groups(self) -> dict[str, Upstream]:
        """All upstreams there are, by what routes call them: a name, or an address at once."""
        lone = [route.upstream for route in self.routes if route.upstream not in self.upstreams]
        return {**self.upstreams, **{one: Upstream(one) for one in lone}}

    def hushed(self) -> dict[str, Any]:
        """As a rule file says it, in plain data, without its secrets."""
        plain = spelled(self)
        return {**plain, "admin": hushed(plain["admin"])} if "admin" in plain else plain

    def __repr__(self) -> str:
        said = [f"{name}={given!r}" for name, given in self.hushed().items()]
        return f"Gateway({', '.join(said)})"

    def check(self, report: Report, at: Path) -> None:
        """Whether listeners are apart, and routes lead somewhere."""
        apart(self.listen, self.admin, report, at)
        for name in self.upstreams:
            if NAME.fullmatch(name) is None:
                said = "a name is letters, digits and _ . -, at most 64 of them"
                report.stray((*at, "upstreams", name), f"{said}, not {shown(name)}")
        names: dict[str, int] = {}
        for number, route in enumerate(self.routes):
            if report.full:
                break
            here = (*at, "routes", number)
            lead(self, route, report, (*here, "upstream"))
            if route.name in names:
                said = f'"{route.name}" is the name of routes[{names[route.name]}]'
                report.add((*here, "name"), f"{said}; choose another")
            elif route.name:
                names[route.name] = number


def lead(gateway: Gateway, route: Route, report: Report, at: Path) -> None:
    """Whether there is such an upstream."""
    name = route.upstream
    if ":" in name or name in gateway.upstreams:
        return
    known = [*gateway.upstreams][:MANY]
    if not known:
        there = "; write an address such as http://127.0.0.1:9000"
    else:
        there = closest(name, known) or f"; there are {', '.join(known[:FEW])}"
    report.add(at, f"there is no upstream {shown(name)}{there}")


GATEWAY = Table(Gateway, "a mapping such as {routes: [{upstream: http://127.0.0.1:9000}]}")
