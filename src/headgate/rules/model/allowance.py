"""Allowance: one limit as a rule spells it, and the algorithm that counts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headgate.algorithms.fixed_window import FixedWindow
from headgate.algorithms.gcra import GCRA
from headgate.algorithms.leaky_bucket import LeakyBucket
from headgate.algorithms.limit import Limit
from headgate.algorithms.sliding_log import SlidingLog
from headgate.algorithms.sliding_window import SlidingWindow
from headgate.algorithms.token_bucket import TokenBucket
from headgate.algorithms.warm_up import WarmUp
from headgate.rate import Rate
from headgate.rules.model.kinds import Listing, Path, Report, Schema, shown
from headgate.rules.model.scalars import RATE, RULE_NAME, choice, flag, seconds, text, whole
from headgate.rules.model.table import Table, blamed, strict, told

ALGORITHMS: dict[str, type[Limit]] = {
    "token_bucket": TokenBucket,
    "gcra": GCRA,
    "leaky_bucket": LeakyBucket,
    "fixed_window": FixedWindow,
    "sliding_window": SlidingWindow,
    "sliding_log": SlidingLog,
    "warm_up": WarmUp,
}
# Which algorithm knows which option.
OPTIONS = {
    "burst": ("token_bucket", "gcra", "leaky_bucket"),
    "initial": ("token_bucket",),
    "refill": ("token_bucket",),
    "borrow": ("token_bucket",),
    "anchor": ("fixed_window",),
    "calendar": ("fixed_window",),
    "zone": ("fixed_window",),
    "parts": ("sliding_window",),
    "oldest": ("sliding_window",),
    "period": ("warm_up",),
    "penalty": tuple(ALGORITHMS),
}
# What other libraries call them.
FOREIGN = {
    "moving_window": "sliding_log",
    "sliding_window_log": "sliding_log",
    "sliding_window_counter": "sliding_window",
    "leaky_bucket_as_meter": "gcra",
}
BY = choice(*ALGORITHMS, foreign=FOREIGN)


@strict
@dataclass(frozen=True, repr=False)
class Allowance:
    """One limit: so much per so long, and who counts it."""

    rate: Any = told(RATE, "How much per how long, or `unlimited`.")
    by: Any = told(BY, "Which algorithm counts; the rule's own unless said here.", "")
    name: Any = told(RULE_NAME, "The policy's name in headers; the rule's unless said here.", "")
    burst: Any = told(whole("how much may go in at once", 1), "The bucket's capacity.", None)
    initial: Any = told(whole("what a fresh key has", 0), "What a fresh key has.", None)
    refill: Any = told(choice("greedy", "interval"), "Bit by bit, or all at once.", None)
    borrow: Any = told(flag("whether the next one pays"), "Let the next caller pay.", None)
    anchor: Any = told(choice("clock", "first"), "Where windows begin.", None)
    calendar: Any = told(choice("day", "week", "month"), "Windows of the calendar.", None)
    zone: Any = told(text("a time zone such as Europe/Paris", 64), "The calendar's zone.", None)
    parts: Any = told(whole("how many parts", 1, 10_000), "Parts of a sliding window.", None)
    oldest: Any = told(choice("weighted", "whole"), "How the oldest part counts.", None)
    period: Any = told(seconds("how long it takes", 0.001), "How long warming up takes.", None)
    penalty: Any = told(whole("what a refusal costs", 0), "What a refused request costs.", None)

    @property
    def unlimited(self) -> bool:
        """Whether it lets everything in."""
        return bool(self.rate.unlimited)

    def limit(self, by: str, name: str) -> Limit:
        """The limit meant, counted `by` that algorithm and named so unless it says otherwise."""
        kind = ALGORITHMS[self.by or by]
        chosen = {word: getattr(self, word) for word in OPTIONS}
        options = {word: value for word, value in chosen.items() if value is not None}
        return kind(self.rate, name=self.name or name, **options)

    def check(self, report: Report, at: Path) -> None:
        """Whether the options are the algorithm's; without one, that is seen with the rule."""
        if self.by:
            self.prove(self.by, report, at)

    def prove(self, by: str, report: Report, at: Path) -> None:
        """Whether there is such a limit."""
        by = self.by or by
        given = [word for word in OPTIONS if getattr(self, word) is not None]
        for word in given:
            if by not in OPTIONS[word]:
                report.add((*at, word), f"is for {' and '.join(OPTIONS[word])}, not for {by}")
                return
            if self.unlimited:
                report.add((*at, word), "says nothing of what is unlimited; leave it out")
                return
        if "burst" in given and self.rate.burst != self.rate.count:
            report.add((*at, "burst"), "stands in the rate too; say it once")
        elif "zone" in given and self.calendar is None:
            report.add(
                (*at, "zone"), "is the zone of a calendar; say calendar: day, or leave it out"
            )
        elif not self.unlimited:
            self._make(by, given, report, at)

    def _make(self, by: str, given: list[str], report: Report, at: Path) -> None:
        try:
            self.limit(by, "limit")
        except (TypeError, ValueError) as problem:
            where = blamed(problem, at, given)
            # What stands alone is the rate itself.
            plain = where != at or not (given or self.by or self.name)
            report.add(where if plain else (*at, "rate"), plainly(str(problem)))


def plainly(message: str) -> str:
    """The message with algorithms called as in a rule file."""
    for word, kind in ALGORITHMS.items():
        message = message.replace(kind.__name__, word)
    return message


class Allowances:
    """The kind of a limit: a rate, a mapping, a limit object, or a list of these."""

    says = "a rate such as 100/min, a mapping with a rate, or a list of these"

    def __init__(self) -> None:
        self._listing = Listing(Table(Allowance, "a rate such as 100/min, or a mapping", "rate"))

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """A tuple of allowances."""
        if isinstance(given, (list, tuple)) and given:
            return self._listing.read([described(one) for one in given], at, report)
        if isinstance(given, list) or given is None:
            report.add(at, f"is {self.says}, not {shown(given)}")
            return ()
        return self._listing.read(described(given), at, report)

    def spell(self, value: Any) -> Any:
        """A rate, a mapping, or a list."""
        return self._listing.spell(value)

    def schema(self) -> Schema:
        """In JSON Schema."""
        return self._listing.schema()


def described(given: Any) -> Any:
    """A limit object in the words of a rule file; all else as it is."""
    if not isinstance(given, Limit):
        return given
    by = next((word for word, kind in ALGORITHMS.items() if kind is type(given)), "")
    rate = given.rate
    if "burst" in given.options:
        # Said beside the rate, it is what counts.
        rate = Rate.of(rate.count, rate.period)
    return {"rate": rate, "by": by, **given.options}


LIMITS = Allowances()
