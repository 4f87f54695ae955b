"""Gateway in rules: where requests go that come in from outside. Nothing forwards them yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headgate.rules.model.kinds import Path, Report, Series, shown
from headgate.rules.model.match import MATCH, Match
from headgate.rules.model.scalars import text
from headgate.rules.model.table import Table, strict, told


@strict
@dataclass(frozen=True, repr=False)
class Route:
    """Which requests go to which service."""

    upstream: Any = told(text("an address such as http://127.0.0.1:9000"), "Where they go.")
    match: Any = told(MATCH, "Which requests; all unless said here.", Match())

    def check(self, report: Report, at: Path) -> None:
        """An address that a connection can be made to."""
        clean = self.upstream.isascii() and self.upstream.isprintable() and " " not in self.upstream
        if not clean or not self.upstream.startswith(("http://", "https://")):
            said = f"is an http address, not {shown(self.upstream)}"
            report.add((*at, "upstream"), f"{said}; write one such as http://127.0.0.1:9000")


ROUTES = Series(Table(Route, "a mapping such as {upstream: http://127.0.0.1:9000}"), "a list")


@strict
@dataclass(frozen=True, repr=False)
class Gateway:
    """What a gateway does with the requests that the rules let in."""

    routes: Any = told(ROUTES, "Where requests go, the first that fits.", ())


GATEWAY = Table(Gateway, "a mapping such as {routes: [{upstream: http://127.0.0.1:9000}]}")
