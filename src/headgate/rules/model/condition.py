"""Conditions: what somebody is to be told of, and from which number on.

when: refused     a share of requests, and so are near, shadowed, failed, errors and funds
when: latency     how long the slowest but few take, and so are checks
when: queue       a number, and so are restarts
when: breaker     something that is so or not, and so are degraded and reload
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from headgate.measures import real
from headgate.rate import UNITS
from headgate.rules.model.kinds import (
    Listing,
    Misfit,
    Path,
    Plain,
    Report,
    Schema,
    Series,
    closest,
    shown,
)
from headgate.rules.model.scalars import (
    RULE_NAME,
    SHARE,
    choice,
    lasting,
    measured,
    seconds,
    text,
    whole,
)
from headgate.rules.model.table import Table, strict, told

# What a condition is about, with the number it is raised at unless it says another.
SHARES = {
    "refused": "20%", "near": "50%", "shadowed": "20%", "failed": "1%", "errors": "5%",
    "funds": "1%",
}  # fmt: skip
TIMES = {"checks": "10ms", "latency": "1s"}
NUMBERS = {"queue": 100, "restarts": 1}
STATES = ("breaker", "degraded", "reload")
LEVELS: dict[str, Any] = {**SHARES, **TIMES, **NUMBERS}
WHEN = (
    "refused", "near", "shadowed", "failed", "queue", "breaker", "degraded", "checks", "latency",
    "errors", "funds", "reload", "restarts",
)  # fmt: skip
# Which of them are told of each rule, of each route, and for enough requests alone.
RULED = ("refused", "near", "shadowed", "failed", "queue", "breaker")
ROUTED = ("latency", "errors")
COUNTED = (*SHARES, *TIMES)
# What a field says nothing to, with the reason.
ABOUT: dict[str, tuple[tuple[str, ...], str]] = {
    "rule": (RULED, "is not told of each rule"),
    "route": (ROUTED, "is not told of each route"),
    "above": (tuple(LEVELS), "is so or not"),
    "below": (tuple(LEVELS), "is so or not"),
    "window": (tuple(LEVELS), "is so or not"),
    "least": (COUNTED, "is not about requests"),
    "quantile": (tuple(TIMES), "is not about how long something takes"),
}
FOREIGN = {
    "rate_limited": "refused", "rejected": "refused", "throttled": "refused", "shadow": "shadowed",
    "near_limit": "near", "store": "degraded", "circuit": "breaker", "open": "breaker",
    "budget": "funds", "exhausted": "funds", "workers": "restarts", "slow": "latency",
}  # fmt: skip


def _level(given: Any) -> str | float:
    """A share, a duration or a number, as one would type it."""
    if real(given):
        if not 0 < given <= 1 << 50:
            raise Misfit("; more than 0")
        return given
    if not isinstance(given, str):
        raise Misfit
    share = SHARE.fullmatch(given)
    if share is None:
        return lasting(_positive(measured(given, UNITS)) / 1e6)
    if not 0 < float(share[1]) <= 100:
        raise Misfit("; more than 0% and at most 100%")
    return f"{float(share[1]):.9f}".rstrip("0").rstrip(".") + "%"


def _positive(found: float) -> float:
    if not found > 0:
        raise Misfit("; more than 0")
    return found


LEVEL = Plain(
    "a share such as 20%, a duration such as 250ms, or a number", _level,
    {"anyOf": [
        {"type": "number", "exclusiveMinimum": 0, "maximum": 1 << 50},
        {"type": "string", "pattern": f"^({SHARE.pattern.replace('(?:', '(')}"
         rf"|[0-9]{{1,15}}(\.[0-9]{{1,9}})? ?({'|'.join(UNITS)}))$"},
    ]},
)  # fmt: skip


def _quantile(given: Any) -> str:
    found = _level(given) if isinstance(given, str) else ""
    if not isinstance(found, str) or not found.endswith("%") or found == "100%":
        raise Misfit
    return found


QUANTILE = Plain(
    "a share below 100% such as 99%", _quantile,
    {"type": "string", "pattern": f"^{SHARE.pattern.replace('(?:', '(')}$"},
)  # fmt: skip


@strict
@dataclass(frozen=True, repr=False)
class Condition:
    """When somebody is told: raised at `above`, and cleared once it is less than `below`."""

    name: Any = told(RULE_NAME, "What it is called.")
    when: Any = told(choice(*WHEN, foreign=FOREIGN), "What is looked at.")
    rule: Any = told(Listing(RULE_NAME), "Of which rules; each by itself, all unless said.", ())
    route: Any = told(
        Listing(text("the name of a route")),
        "Of which routes, or of which protocols of a service; each by itself, all unless said.",
        (),
    )
    above: Any = told(LEVEL, "From what on it is raised; see below unless said.", "")
    below: Any = told(LEVEL, "Below what it is cleared; half of `above` unless said.", "")
    window: Any = told(seconds("how long", 1.0), "Over how long that is looked at.", 60.0)
    least: Any = told(
        whole("how many", 1), "Among fewer requests in the window it is not raised.", 100
    )
    quantile: Any = told(
        QUANTILE, "How many of the requests are as quick as `above`, or it is raised.", "99%"
    )
    after: Any = told(seconds("how long"), "For how long it has to be so before it is raised.", 0.0)
    calm: Any = told(
        seconds("how long"), "For how long it has to be over before it is cleared.", 0.0
    )
    severity: Any = told(
        choice("info", "warning", "critical"), "How bad it is, for whoever is told.", "warning"
    )

    foreign: ClassVar[dict[str, str]] = {
        "for": "after", "threshold": "above", "expr": "when and above", "rules": "rule",
        "keep_firing_for": "calm", "min": "least",
    }  # fmt: skip

    @property
    def high(self) -> float:
        """From what on it is raised, as a number: shares up to 1, durations in seconds."""
        return 1.0 if self.when in STATES else number(self.above or LEVELS[self.when])

    @property
    def low(self) -> float:
        """Below what it is cleared."""
        return number(self.below) if self.below else self.high / 2

    @property
    def share(self) -> float:
        """The quantile, up to 1."""
        return number(self.quantile)

    def check(self, report: Report, at: Path) -> None:
        """Whether its fields go together."""
        for word, (kinds, why) in ABOUT.items():
            if getattr(self, word) != getattr(type(self), word) and self.when not in kinds:
                report.add((*at, word), f"says nothing here, for {self.when} {why}; leave it out")
                return
        for word in ("above", "below"):
            if getattr(self, word) and not self._fits(getattr(self, word)):
                said = f"is {self._meant}, for when is {self.when}"
                report.add((*at, word), f"{said}, not {shown(getattr(self, word))}")
                return
        if self.low > self.high:
            usual = "" if self.above else ", which it is unless said"
            most = self.above or LEVELS[self.when]
            report.add((*at, "below"), f"is at most above, {most}{usual}, not {self.below}")

    @property
    def _meant(self) -> str:
        if self.when in SHARES:
            return "a share such as 20%"
        return "a duration such as 250ms" if self.when in TIMES else "a number such as 100"

    def _fits(self, level: Any) -> bool:
        if self.when in SHARES:
            return isinstance(level, str) and level.endswith("%")
        if self.when in NUMBERS:
            return not isinstance(level, str)
        return not (isinstance(level, str) and level.endswith("%"))


def number(level: Any) -> float:
    """A level as a number: shares up to 1, durations in seconds."""
    if not isinstance(level, str):
        return float(level)
    if level.endswith("%"):
        return float(level[:-1]) / 100
    return measured(level, UNITS) / 1e6


class Conditions:
    """The kind of a list of conditions, each of which has a name of its own."""

    says = "a list of conditions such as {name: many-refused, when: refused, above: 20%}"

    def __init__(self) -> None:
        self._series = Series(Table(Condition, "a mapping with name and when"), self.says)

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """A tuple of them."""
        before = report.wrong
        found = self._series.read(given, at, report)
        if report.wrong == before:
            for place, one in twice(found):
                report.add((*at, place, "name"), f'"{one.name}" is there twice; choose another')
        return found

    def spell(self, value: Any) -> Any:
        """A list."""
        return self._series.spell(value)

    def schema(self) -> Schema:
        """An array."""
        return self._series.schema()


def twice(conditions: Iterable[Condition]) -> Iterator[tuple[int, Condition]]:
    """Those whose name another has that comes before."""
    seen: set[str] = set()
    for place, one in enumerate(conditions):
        if one.name in seen:
            yield place, one
        seen.add(one.name)


def aimed(conditions: Iterable[Condition], rules: Iterable[str], report: Report, at: Path) -> None:
    """Whether the rules are there that conditions are about."""
    known = [*rules]
    for place, one in enumerate(conditions):
        for which, rule in enumerate(one.rule):
            if rule not in known:
                hint = closest(rule, known) or f"; there are {', '.join(known) or 'none'}"
                where = ("rule", which) if len(one.rule) > 1 else ("rule",)
                report.add((*at, place, *where), f'there is no rule "{rule}"{hint}')
