"""Rules: everything a rule file says, as one frozen value.

`Rules([Rule(...), ...])` in code equals `Rules.load("rules.yaml")`, and `repr` prints what one
would type. Names and plans are checked against one another; nothing here is alive.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headgate.errors import Problem, RulesError
from headgate.rules.clients.client import Client
from headgate.rules.documents.document import Document, format_of, read
from headgate.rules.documents.environment import expand
from headgate.rules.documents.page import MOST_BYTES
from headgate.rules.matching.facts import Fact
from headgate.rules.model.alerts import ALERTS
from headgate.rules.model.budget import BUDGET
from headgate.rules.model.callers import heard
from headgate.rules.model.gateway import GATEWAY
from headgate.rules.model.kinds import (
    Listing,
    Misfit,
    Named,
    Names,
    Path,
    Plain,
    Report,
    Series,
    closest,
)
from headgate.rules.model.match import FACTS
from headgate.rules.model.rule import Rule
from headgate.rules.model.scalars import choice
from headgate.rules.model.sense import agree
from headgate.rules.model.service import SERVICE
from headgate.rules.model.store import STORE, masked
from headgate.rules.model.table import Table, spelled, strict, told
from headgate.rules.model.terms import PLAN, UNLIMITED
from headgate.rules.model.trust import CLIENT

DIALECTS = ("draft-11", "draft-06", "x-epoch", "x-delta", "none")


def _version(given: Any) -> int:
    if given != 1 or not isinstance(given, int) or isinstance(given, bool):
        raise Misfit
    return 1


def _fact(given: Any) -> str:
    if not isinstance(given, str):
        raise Misfit
    fact = Fact.parse(given)
    if fact.family == "path" and fact.name:
        raise Misfit("; no path is matched here that could have parameters")
    return str(fact)


VERSION = Plain("1, the version of this form", _version, {"const": 1})
FACT = Plain("a fact such as header.x-plan", _fact, {"type": "string", "pattern": FACTS})
RULES = Series(Table(Rule, "a rule, which is a mapping"), "a list of rules")


@strict
@dataclass(frozen=True, repr=False)
class Rules:
    """All rules, in order: `Rules([Rule("api", limit="100/min")], store="shared://web")`."""

    rules: Any = told(RULES, "The rules.", ())
    version: Any = told(VERSION, "The version of this form.", 1)
    store: Any = told(STORE, "Where what was counted is kept.", "memory://")
    client: Any = told(CLIENT, "Whom to believe about who the client is.", Client())
    headers: Any = told(
        Listing(choice(*DIALECTS)), "In which dialects headers tell of limits.", ("draft-11",)
    )
    plan: Any = told(FACT, "Where the plan of a request stands; without it, the app says it.", "")
    plans: Any = told(Names("a mapping from plans to terms", PLAN), "What each plan may.", Named())
    budget: Any = told(BUDGET, "What a request may cost in all services it passes through.", None)
    gateway: Any = told(GATEWAY, "What the gateway listens to and forwards to.", None)
    service: Any = told(SERVICE, "Where the service is asked, and by whom.", None)
    alerts: Any = told(ALERTS, "Of what somebody is told.", None)

    @classmethod
    def load(
        cls, file: str | os.PathLike[str], environment: Mapping[str, str] = os.environ
    ) -> Rules:
        """The rules of a YAML, TOML or JSON file; raises `RulesError` with all that is wrong."""
        name = os.fspath(file)
        form = format_of(name)
        try:
            with open(name, "rb") as opened:
                text = opened.read(MOST_BYTES + 1)
        except (OSError, ValueError) as problem:
            said = f"cannot be read: {getattr(problem, 'strerror', None) or problem}"
            raise RulesError((Problem(said, file=name),)) from None
        return cls.read(text, form, name, environment)

    @classmethod
    def read(
        cls,
        text: str | bytes,
        form: str = "yaml",
        file: str = "",
        environment: Mapping[str, str] = os.environ,
    ) -> Rules:
        """The rules of a text in `form`: yaml, toml or json."""
        written = read(text, form, file)
        document = expand(written, environment)
        report = Report()
        if isinstance(document.data, dict) and "version" not in document.data:
            report.add((), 'lacks "version"; write version: 1')
        found = WHOLE.read(document.data, (), report)
        if report.wrong:
            raise RulesError(placed(report, written, document))
        return found  # type: ignore[no-any-return]

    @property
    def digest(self) -> str:
        """A short name for exactly these rules; where they are kept and secrets do not count."""
        plain = {word: given for word, given in self._hushed().items() if word != "store"}
        found = json.dumps(plain, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(found, digest_size=6).hexdigest()

    def spelled(self) -> dict[str, Any]:
        """As a rule file says it, in plain data, with the secrets there are."""
        return {"version": self.version, **spelled(self)}

    def __repr__(self) -> str:
        said = [f"{word}={given!r}" for word, given in self._hushed().items() if word != "rules"]
        return f"Rules({', '.join([repr(list(self.rules)), *said])})"

    def _hushed(self) -> dict[str, Any]:
        # What is typed where a password stands ends in logs: it is left out.
        plain = spelled(self)
        if "store" in plain:
            plain["store"] = masked(self.store)
        if self.budget is not None:
            plain["budget"] = self.budget.hushed()
        if self.gateway is not None:
            plain["gateway"] = self.gateway.hushed()
        if self.service is not None:
            plain["service"] = self.service.hushed()
        if self.alerts is not None:
            plain["alerts"] = self.alerts.hushed()
        return plain

    def check(self, report: Report, at: Path) -> None:
        """Whether rules, policies and plans go together."""
        distinct(self.rules, report, (*at, "rules"))
        known = {rule.name: rule for rule in self.rules}
        for plan, terms in self.plans.items():
            for name in terms if terms != UNLIMITED else ():
                here = (*at, "plans", plan, name)
                if name in known:
                    agree(known[name], terms[name], report, here)
                    continue
                there = closest(name, [*known]) or f"; there are {', '.join(known) or 'none'}"
                report.stray(here, f"there is no such rule{there}")
        if self.service is not None:
            heard(self.service.callers, known, report, (*at, "service", "callers"))
        if self.alerts is not None:
            self.alerts.aim(known, report, (*at, "alerts"))
        if "none" in self.headers and len(self.headers) > 1:
            report.add((*at, "headers"), "none stands alone; leave it out, or the others")
        if {"x-epoch", "x-delta"} <= {*self.headers}:
            report.add((*at, "headers"), "x-epoch and x-delta write the same header; choose one")
        if len({*self.headers}) < len(self.headers):
            report.add((*at, "headers"), "names a dialect twice; keep one of them")


def distinct(rules: tuple[Rule, ...], report: Report, at: Path) -> None:
    """Whether all names that headers and metrics tell apart are different."""
    seen: dict[str, int] = {}
    for number, rule in enumerate(rules):
        mine: set[str] = set()
        for name, where in named(rule):
            if name in mine:
                report.add((*at, number, *where), f'"{name}" is the name of another of its limits')
            elif name in seen:
                said = f'"{name}" is the name of rules[{seen[name]}] or of a limit there'
                report.add((*at, number, *where), f"{said}; choose another")
            mine.add(name)
        seen |= dict.fromkeys(mine - {*seen}, number)


def named(rule: Rule) -> list[tuple[str, Path]]:
    """The names that a rule takes, its own and those of its limits, and where they stand."""
    several = len(rule.limit) > 1
    found: list[tuple[str, Path]] = []
    for number, one in enumerate(rule.limit):
        where: Path = ("limit", number, "name") if several else ("limit", "name")
        usual = f"{rule.name}:{number + 1}" if several else rule.name
        found.append((one.name, where) if one.name else (usual, ("name",)))
    if rule.name not in [name for name, _ in found]:
        found.insert(0, (rule.name, ("name",)))
    return found


def placed(report: Report, written: Document, filled: Document) -> tuple[Problem, ...]:
    """The problems with their places in the text, in its order; what a variable held is hidden."""
    placed = []
    for problem in report.errors:
        at = problem.path
        line, column = (written.key if at in report.strays else written.place)(at)
        message = problem.message
        said, held = found(written.data, at), found(filled.data, at)
        if isinstance(said, str) and isinstance(held, str) and said != held:
            message = message.replace(held, said)
        placed.append(Problem(message, at, written.file, line, column))
    placed.sort(key=lambda problem: (problem.line, problem.column))
    rest = [Problem("and perhaps more; this is enough for now", file=written.file)]
    return (*placed, *(rest if report.full else []))


def found(data: Any, at: Path) -> Any:
    """What stands at the end of a path, or None."""
    for part in at:
        try:
            data = data[part]
        except (LookupError, TypeError):
            return None
    return data


WHOLE = Table(Rules, "a mapping with version and rules")
