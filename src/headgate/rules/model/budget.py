"""Budget: what a request may cost in all the services that it passes through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headgate.algorithms.limit import Limit
from headgate.budgets.mint import MOST as MOST_KEYS
from headgate.budgets.mint import SHORTEST
from headgate.budgets.note import LONGEST_LIFE
from headgate.budgets.terms import HEADER, NAME, UNLIMITED
from headgate.measures import MILLION
from headgate.rules.matching.facts import Fact, template
from headgate.rules.model.allowance import BY, LIMITS
from headgate.rules.model.kinds import (
    Listing,
    Misfit,
    Named,
    Names,
    Path,
    Plain,
    Report,
)
from headgate.rules.model.rule import KEY
from headgate.rules.model.scalars import RULE_NAME, choice, seconds, whole
from headgate.rules.model.secret import HIDDEN, Secret
from headgate.rules.model.sense import prove
from headgate.rules.model.table import Table, spelled, strict, told

HOUR = LONGEST_LIFE / MILLION
UNITS = whole("how many units", 1)


def _amount(given: Any) -> int | str:
    if given == UNLIMITED:
        return UNLIMITED
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= 1 << 50:
        raise Misfit
    return given


def _header(given: Any) -> str:
    if not isinstance(given, str) or NAME.fullmatch(given) is None:
        raise Misfit
    return given


AMOUNT = Plain(
    "unlimited, or how many units, a whole number of 1 or more", _amount,
    {"anyOf": [{"const": UNLIMITED}, UNITS.schema()]},
)  # fmt: skip


@strict
@dataclass(frozen=True, repr=False)
class Budget:
    """What a request is granted, which travels with it and is spent service by service."""

    limit: Any = told(LIMITS, "Out of which a request is granted what it may cost.")
    grant: Any = told(UNITS, "How much a request is granted.")
    keys: Any = told(
        Listing(Secret(SHORTEST, "; make one with openssl rand -hex 32")),
        "What signs the header: the first does, and all of them are believed.",
    )
    key: Any = told(KEY, "Whose budget it is.", ("client.ip",))
    plans: Any = told(
        Names("a mapping from plans to unlimited or so many units", AMOUNT),
        "How much the requests of a plan are granted.",
        Named(),
    )
    most: Any = told(
        whole("how many units", 0),
        "Find out what requests to each route cost, and grant as much, up to so much; 0 does not.",
        0,
    )
    by: Any = told(BY, "Which algorithm counts.", "token_bucket")
    ttl: Any = told(seconds("how long", 0.001), "For how long a header counts.", 30.0)
    skew: Any = told(seconds("how long"), "By how much clocks of machines may differ.", 1.0)
    header: Any = told(
        Plain(f"the name of a header in lower case, such as {HEADER}", _header,
              {"type": "string", "pattern": f"^{NAME.pattern}$"}),
        "The header in which it travels.",
        HEADER,
    )  # fmt: skip
    name: Any = told(RULE_NAME, "What it is called: by all who share it, in one way.", "budget")
    when_unavailable: Any = told(
        choice("local", "allow", "deny"), "What to answer when the store cannot be asked.", "local"
    )

    def limits(self) -> tuple[Limit, ...]:
        """The limits meant; none if it is unlimited."""
        several = len(self.limit) > 1
        return tuple(
            one.limit(self.by, f"{self.name}:{number}" if several else self.name)
            for number, one in enumerate(self.limit, 1)
            if not one.unlimited
        )

    def hushed(self) -> dict[str, Any]:
        """As a rule file says it, in plain data, without its secrets."""
        return {**spelled(self), "keys": HIDDEN}

    def __repr__(self) -> str:
        said = [f"{name}={given!r}" for name, given in self.hushed().items()]
        return f"Budget({', '.join(said)})"

    def check(self, report: Report, at: Path) -> None:
        """Whether the limit could ever grant as much."""
        facts = [one for part in self.key for one in template(part) if isinstance(one, Fact)]
        if any(fact.family == "path" and fact.name for fact in facts):
            said = "no path is matched here that could have parameters; name another fact"
            report.add((*at, "key"), said)
        if len(self.keys) > MOST_KEYS:
            report.add((*at, "keys"), f"are at most {MOST_KEYS}, not {len(self.keys)}")
        for word in ("ttl", "skew"):
            if getattr(self, word) > HOUR:
                report.add((*at, word), "is at most 1h")
        before = report.wrong
        prove(self.limit, self.by, report, (*at, "limit"))
        if report.wrong == before:
            self._fit(report, at)

    def _fit(self, report: Report, at: Path) -> None:
        most = min([limit.limit for limit in self.limits()], default=1 << 50)
        amounts: dict[Path, Any] = {("grant",): self.grant, ("most",): self.most}
        amounts |= {("plans", plan): amount for plan, amount in self.plans.items()}
        for way, amount in amounts.items():
            if amount != UNLIMITED and amount > most:
                said = f"is at most {most:,}, which is all that the limit holds, not {amount:,}"
                report.add((*at, *way), said)


BUDGET = Table(Budget, "a mapping such as {limit: 1000/min, grant: 20, keys: ${BUDGET_KEY}}")
