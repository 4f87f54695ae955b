"""Alerts: what somebody has to be told of, judged from readings, and no clock is asked.

    watchman = Watchman(rules.alerts.watched)
    for alert in watchman.look(reading, now):
        ...  # raised just now, or cleared
    watchman.raised

A condition is raised once its number reaches `above`, and stays so for `after`; it is cleared once
the number is less than `below`, and stays so for `calm`. Between the two it stays as it is, so that
a number which goes up and down around one of them does not raise it again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from headgate.rules.model.condition import COUNTED, SHARES, STATES, TIMES, Condition
from headgate.telemetry.reading import AlertReading, Reading
from headgate.telemetry.signs import Sign, quantile, signs
from headgate.telemetry.span import Span

RAISED, CLEARED = "raised", "cleared"


@dataclass(frozen=True)
class Alert:
    """Something that somebody is told of. `level` is raised or cleared, and `since` when it was
    raised; `value` is the number as it is now, and `threshold` the one that it was raised at.
    """

    name: str
    kind: str
    rule: str
    severity: str
    level: str
    since: float
    value: float
    threshold: float

    @property
    def told(self) -> AlertReading:
        """As readings have it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "rule": self.rule,
            "level": self.level,
            "since": self.since,
            "value": self.value,
            "threshold": self.threshold,
        }

    def __str__(self) -> str:
        whom = f"{self.name} ({self.rule})" if self.rule else self.name
        over = "" if self.level == RAISED else " is over"
        if self.kind in STATES:
            return f"{whom}{over}" if over else f"{whom}: {SAID[self.kind]}"
        found = SAID[self.kind].format(shown(self.kind, self.value))
        return f"{whom}{over}: {found} (raised at {shown(self.kind, self.threshold)})"


SAID = {
    "refused": "{} of the requests are refused",
    "near": "{} of the requests find most of the limit used",
    "shadowed": "{} of the requests would be refused",
    "failed": "{} of the requests are decided without the store",
    "queue": "{} are waiting",
    "breaker": "the breaker is open",
    "degraded": "the store cannot be asked",
    "checks": "the store takes {} to answer",
    "latency": "answers take {}",
    "errors": "{} of the answers are errors",
    "funds": "{} of the requests run out of their budget midway",
    "reload": "newer rules are bad, or cannot be read",
    "restarts": "workers that fell: {}",
}


def shown(kind: str, value: float) -> str:
    """A number as people read it."""
    if kind in SHARES:
        return f"{value * 100:.3g}%"
    if kind in TIMES:
        return f"{value * 1000:.3g}ms" if value < 1 else f"{value:.3g}s"
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


class Watch:
    """One condition about one rule: its number, and whether it is raised."""

    def __init__(self, condition: Condition, rule: str) -> None:
        self.condition = condition
        self.rule = rule
        self.alert: Alert | None = None
        # By which rules it was seen last.
        self.version = ""
        self._span: Span | None = None
        # Since when it is otherwise than it was told.
        self._turned: float | None = None
        # The number that is so at the moment, times the seconds it was so.
        self._area, self._seen = 0.0, 0.0

    def look(self, sign: Sign, now: float) -> Alert | None:
        """Judge by what is to be seen now; an alert, if it was raised just now, or cleared."""
        value, enough = self._value(sign, now)
        one = self.condition
        if self.alert is None:
            turned, patience = enough and value >= one.high, one.after
        else:
            self.alert = replace(self.alert, value=value)
            turned, patience = value < one.low, one.calm
        if not turned:
            self._turned = None
            return None
        self._turned = now if self._turned is None else min(self._turned, now)
        if now - self._turned < patience:
            return None
        self._turned = None
        return self.ring(value, now) if self.alert is None else self.clear(value)

    def ring(self, value: float, now: float) -> Alert:
        """Raise it."""
        one = self.condition
        self.alert = Alert(
            one.name, one.when, self.rule, one.severity, RAISED, now, value, one.high
        )
        return self.alert

    def clear(self, value: float) -> Alert | None:
        """Clear it; nothing if it was not raised."""
        alert, self.alert = self.alert, None
        return None if alert is None else replace(alert, level=CLEARED, value=value)

    def _value(self, sign: Sign, now: float) -> tuple[float, bool]:
        # The number, and whether it is one of enough requests to go by.
        when = self.condition.when
        if when in STATES:
            return float(sign.level or 0.0), True
        span = self._note(sign, now)
        gains = span.gains
        if when == "queue":
            # Just begun, it is what it is.
            return (gains[0] / span.length if span.length else float(sign.level or 0.0)), True
        if when not in COUNTED:
            return gains[0], True
        if when in TIMES:
            found = quantile(self.condition.share, gains, sign.bounds)
            return found, sum(gains) >= self.condition.least
        part, whole = gains
        # Counters that were read while they grew may say more of one than there were of all.
        return (min(1.0, part / whole) if whole else 0.0), whole >= self.condition.least

    def _note(self, sign: Sign, now: float) -> Span:
        counted = sign.counted
        if sign.level is not None:
            self._area += sign.level * max(0.0, now - self._seen) if self._span else 0.0
            self._seen = max(now, self._seen)
            counted = (self._area,)
        span = self._span
        if span is None or span.width != len(counted):
            span = self._span = Span(self.condition.window, now, counted)
        else:
            span.add(now, counted)
        return span


class Watchman:
    """Looks at readings, and says what has to be told. Readings come about once a second."""

    def __init__(self, conditions: Iterable[Condition]) -> None:
        self.conditions = tuple(conditions)
        self._watches: dict[tuple[str, str], Watch] = {}
        # What is over because nobody asks for it any more.
        self._gone: list[Alert] = []

    @property
    def raised(self) -> list[Alert]:
        """What is raised, as it stands."""
        return [one.alert for one in self._watches.values() if one.alert is not None]

    def change(self, conditions: Iterable[Condition]) -> None:
        """Look for other things from now on; what is asked for as before stays as it is."""
        self.conditions = tuple(conditions)
        kept = set(self.conditions)
        for place, watch in [*self._watches.items()]:
            if watch.condition not in kept:
                self._forget(place)

    def look(self, reading: Reading, now: float) -> list[Alert]:
        """What was raised by this reading, and what was cleared."""
        # Where nobody serves there is nothing to be seen but that.
        blind = not any(one["up"] for one in reading["workers"])
        found: list[Alert] = []
        for condition in self.conditions:
            if not blind or condition.when == "restarts":
                found += self._judge(condition, reading, now)
        gone, self._gone = self._gone, []
        return [*gone, *found]

    def _judge(self, condition: Condition, reading: Reading, now: float) -> Iterator[Alert]:
        seen, version = signs(condition, reading), reading["version"]
        for name, sign in seen.items():
            watch = self._watches.setdefault((condition.name, name), Watch(condition, name))
            watch.version = version
            alert = watch.look(sign, now)
            if alert is not None:
                yield alert
        for place, watch in [*self._watches.items()]:
            # By the same rules it is still there, and only nobody answered.
            if place[0] == condition.name and place[1] not in seen and watch.version != version:
                self._forget(place)

    def _forget(self, place: tuple[str, str]) -> None:
        watch: Any = self._watches.pop(place)
        cleared = watch.clear(0.0)
        if cleared is not None:
            self._gone.append(cleared)
