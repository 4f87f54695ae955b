"""Gates: the other things a rule can do than count: deny, break, and find a limit by itself."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from headgate.adaptive.aimd import AIMD
from headgate.adaptive.bbr import BBR
from headgate.adaptive.gradient import Gradient
from headgate.adaptive.vegas import Vegas
from headgate.breakers.breaker import Breaker
from headgate.clock import Clock
from headgate.rules.model.charge import STATUSES
from headgate.rules.model.kinds import Path, Report
from headgate.rules.model.over import BODY
from headgate.rules.model.scalars import STATUS, choice, seconds, share, whole
from headgate.rules.model.table import Table, blamed, strict, told

KINDS: dict[str, Any] = {"bbr": BBR, "vegas": Vegas, "gradient": Gradient, "aimd": AIMD}
# Which limit knows which option.
OPTIONS = {
    "initial": ("vegas", "gradient", "aimd"),
    "floor": tuple(KINDS),
    "ceiling": tuple(KINDS),
    "probe_every": tuple(KINDS),
    "busy": ("bbr",),
    "window": ("bbr",),
    "cool": ("bbr",),
}


@strict
@dataclass(frozen=True, repr=False)
class Deny:
    """Nobody whom the rule is about gets in."""

    status: Any = told(STATUS, "The status of the answer.", 403)
    body: Any = told(BODY, "A body to answer with, instead of a problem.", "")


@strict
@dataclass(frozen=True, repr=False)
class Adaptive:
    """A number of requests at once that finds itself; above it the answer is 503."""

    by: Any = told(choice(*KINDS), "How it is found.")
    initial: Any = told(whole("the first limit", 1), "The first limit.", None)
    floor: Any = told(whole("the least limit", 1), "The least limit.", None)
    ceiling: Any = told(whole("the highest limit", 1), "The highest limit.", None)
    probe_every: Any = told(seconds("how often", 0.1), "How often the latency is probed.", None)
    busy: Any = told(share("a share of the CPU"), "From how busy a CPU on it limits.", None)
    window: Any = told(seconds("how far", 0.01), "How far back it looks.", None)
    cool: Any = told(seconds("how long"), "How long it stays busy after a refusal.", None)

    def limit(self) -> Any:
        """What a bulkhead is made with."""
        chosen = {word: getattr(self, word) for word in OPTIONS}
        return KINDS[self.by](**{word: one for word, one in chosen.items() if one is not None})

    def check(self, report: Report, at: Path) -> None:
        """Whether the options go with the kind, and with one another."""
        for word, known in OPTIONS.items():
            if getattr(self, word) is not None and self.by not in known:
                report.add((*at, word), f"is for {' and '.join(known)}, not for {self.by}")
                return
        try:
            self.limit()
        except (TypeError, ValueError) as problem:
            report.add(blamed(problem, at, [*OPTIONS]), str(problem))


@strict
@dataclass(frozen=True, repr=False)
class Break:
    """Lets nothing in while what stands behind it fails; the answer is 503 then."""

    failures: Any = told(share("a share of calls"), "The share of failures it opens at.", 0.5)
    calls: Any = told(whole("how many calls", 1), "How many calls it needs to judge.", 20)
    window: Any = told(seconds("how far", 0.001), "How far back it looks.", 10.0)
    last: Any = told(whole("how many calls", 1, 100_000), "Look at so many last calls instead.", 0)
    slow: Any = told(share("a share of calls"), "The share of slow calls it opens at.", 1.0)
    slow_after: Any = told(seconds("how long", 0.001), "From when on a call is slow.", None)
    pause: Any = told(seconds("how long", 0.001), "How long it lets nothing in.", 5.0)
    longest: Any = told(seconds("how long", 0.001), "The longest pause.", 60.0)
    probes: Any = told(whole("how many calls", 1), "How many calls try whether it works again.", 1)
    status: Any = told(STATUSES, "Which answers are failures.", ("5xx",))

    def breaker(self, name: str, clock: Clock | None) -> Breaker:
        """The breaker that is meant."""
        options = {one.name: getattr(self, one.name) for one in fields(self)}
        del options["status"]
        if options["slow_after"] is None:
            del options["slow_after"]
        return Breaker(name=name, clock=clock, **options)

    def check(self, report: Report, at: Path) -> None:
        """Whether the numbers go together."""
        if self.last and self.last < self.calls:
            said = f"is {self.calls} or more, for that many calls are needed to judge"
            report.add((*at, "last"), f"{said}, not {self.last}")
            return
        try:
            self.breaker("", None)
        except (TypeError, ValueError) as problem:
            words = [one.name for one in fields(self)]
            report.add(blamed(problem, at, words), str(problem))


DENY = Table(Deny, "true, a status such as 410, or a mapping", "status", (True,))
ADAPTIVE = Table(Adaptive, "bbr, vegas, gradient or aimd, or a mapping with by", "by")
BREAKER = Table(Break, "true, or a mapping such as {failures: 0.5}", "", (True,))
