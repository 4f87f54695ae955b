"""Routes: which requests go where, and what is changed of them on the way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from headgate.rules.model.bounds import PATIENCE
from headgate.rules.model.kinds import Misfit, Path, Plain, Report, Schema, Series, shown, truth
from headgate.rules.model.match import MATCH, Match
from headgate.rules.model.place import SERVER, SERVER_PATTERN, parted
from headgate.rules.model.scalars import RULE_NAME, flag
from headgate.rules.model.sense import ask
from headgate.rules.model.table import Table, strict, told
from headgate.rules.model.upstream import RETRIES

NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
LONGEST = 1000
# What a path is made of in a request, unless it is escaped.
PLAIN = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*")
KEEP, UPSTREAM = "keep", "upstream"
TARGET_SAYS = "the name of an upstream, or an address such as http://127.0.0.1:9000"


def _target(given: Any) -> str:
    if not isinstance(given, str) or not given:
        raise Misfit
    if not {":", "/"}.isdisjoint(given):
        return located(given)
    if NAME.fullmatch(given) is None:
        raise Misfit("; a name is letters, digits and _ . -")
    return given


def located(given: str) -> str:
    """The address, if it is one."""
    report = Report()
    SERVER.read(given, (), report)
    for problem in report.errors:
        raise ValueError(problem.message.replace(SERVER.says, TARGET_SAYS, 1))
    return given


def _host(given: Any) -> str:
    if not isinstance(given, str) or not given:
        raise Misfit
    if given.lower() in (KEEP, UPSTREAM):
        return given.lower()
    if "/" in given:
        raise Misfit("; only a host and a port stand there")
    try:
        host, _ = parted(given)
    except ValueError as problem:
        raise Misfit(f"; {problem}") from None
    if not host:
        raise Misfit
    return given


def _prefix(given: Any) -> str:
    if not isinstance(given, str) or not given.startswith("/"):
        raise Misfit
    if len(given) > LONGEST or PLAIN.fullmatch(given) is None:
        raise Misfit(f"; at most {LONGEST:,} characters, and what is no letter is escaped as %20")
    if not {"", ".", ".."}.isdisjoint(given[1:].split("/")):
        plain = "/".join(one for one in given.split("/") if one not in {"", ".", ".."})
        raise Misfit(f"; write /{plain}" if plain else "; write one such as /api")
    return given


TARGET = Plain(
    TARGET_SAYS, _target,
    {"type": "string", "pattern": f"^{NAME.pattern}$|{SERVER_PATTERN}"},
)  # fmt: skip
HOST = Plain(
    "keep, upstream, or a host such as a.example", _host,
    {"type": "string", "pattern": r"^[A-Za-z0-9_.:\[\]-]{1,300}$"},
)  # fmt: skip
PREFIX = Plain(
    "the beginning of a path such as /api", _prefix,
    {"type": "string", "pattern": r"^(/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)+$", "maxLength": LONGEST},
)  # fmt: skip


PROTOCOL = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~/-]{1,64}")
# These are HTTP again, or hide it: whoever turned to them could not be asked about any more.
SAME = ("h2c", "http/", "tls/")
SOCKETS = ("websocket",)


class Turning:
    """The kind of protocols to turn to: names, or `true` for WebSockets and `false` for none."""

    says = "true, false, or names such as [websocket, tcp]"

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """The names."""
        if isinstance(given, bool):
            return SOCKETS if given else ()
        if not isinstance(given, (list, tuple)):
            report.add(at, f"is {self.says}, not {shown(given)}{truth(given)}")
            return given
        if isinstance(given, list) and not given:
            report.add(at, f"is {self.says}, not an empty list; write false")
        for number, name in enumerate(given):
            if not isinstance(name, str) or PROTOCOL.fullmatch(name) is None:
                report.add((*at, number), f"is the name of a protocol, not {shown(name)}")
            elif name.lower().startswith(SAME):
                said = "is HTTP again, past all rules; leave it out"
                report.add((*at, number), said)
        return tuple(given)

    def spell(self, value: Any) -> Any:
        """A list, or a word."""
        return value == SOCKETS if value in (SOCKETS, ()) else [*value]

    def schema(self) -> Schema:
        """In JSON Schema."""
        name = {"type": "string", "pattern": f"^{PROTOCOL.pattern}$"}
        names = {"type": "array", "items": name, "minItems": 1}
        return {"anyOf": [{"type": "boolean"}, names]}


@strict
@dataclass(frozen=True, repr=False)
class Rewrite:
    """What becomes of a path: what it begins with is taken away, then something put before it."""

    strip: Any = told(PREFIX, "What is taken away, if it begins with it.", "")
    add: Any = told(PREFIX, "What is put before it.", "")

    def check(self, report: Report, at: Path) -> None:
        """One of them is said."""
        if not self.strip and not self.add:
            report.add(at, "changes nothing; say strip, or add, or leave it out")


@strict
@dataclass(frozen=True, repr=False)
class Route:
    """Which requests go to which servers: `Route("http://127.0.0.1:9000", {"path": "/v1/**"})`."""

    upstream: Any = told(TARGET, "Where they go.")
    match: Any = told(MATCH, "Which requests; all unless said here.", Match())
    name: Any = told(RULE_NAME, "What it is called in logs and metrics.", "")
    host: Any = told(
        HOST, "Which Host the server is told: what the client said, its own, or this.", KEEP
    )
    path: Any = told(
        Table(Rewrite, "a mapping such as {strip: /api, add: /v2}"),
        "What becomes of the path; it stays as it is unless said here.",
        None,
    )
    timeouts: Any = told(PATIENCE, "What is waited for here, if not as everywhere.", None)
    retries: Any = told(RETRIES, "What is sent again here, if not as the upstream says.", None)
    upgrade: Any = told(
        Turning(), "Which protocols a connection may turn to: WebSockets unless said here.", SOCKETS
    )

    budget: Any = told(
        flag("whether requests take one along"),
        "Whether requests take a budget along, where the rules have one: not to those of others.",
        True,
    )

    def check(self, report: Report, at: Path) -> None:
        """Whether the match can be held against requests."""
        ask(self.match, report, (*at, "match"))


ROUTES = Series(
    Table(Route, "a mapping such as {upstream: http://127.0.0.1:9000}"), "a list of routes"
)
