"""Track: what happened between readings, and how that went on over the last minutes."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

# So many intervals are remembered.
LENGTH = 120
# Which numbers of a rule are counted together.
ALLOWED = ("allowed", "delayed", "failed_open")
REFUSED = ("refused", "failed_closed")
SHADOWED = ("shadowed",)


class Pace(NamedTuple):
    """How many requests a second."""

    allowed: float = 0.0
    refused: float = 0.0
    shadowed: float = 0.0


class Glance(NamedTuple):
    """A reading, and how fast what is counted in it grows, rule by rule and in all.

    `seconds` is over how long that was; 0 if there is nothing to compare with. `past` are the last
    ones in all, the latest last, and `trends` the last refusals a second of each rule.
    """

    reading: Any
    seconds: float
    paces: Mapping[str, Pace]
    total: Pace
    past: tuple[Pace, ...]
    trends: Mapping[str, tuple[float, ...]]


class Track:
    """Compares each reading with the one before."""

    def __init__(self) -> None:
        self._before: Any = None
        self._past: deque[Pace] = deque(maxlen=LENGTH)
        self._trends: dict[str, deque[float]] = {}

    def note(self, reading: Any) -> Glance:
        """What there is to see with this reading."""
        before, self._before = self._before, reading
        seconds = 0.0 if before is None else max(0.0, reading["at"] - before["at"])
        if not seconds:
            return Glance(reading, 0.0, {}, Pace(), tuple(self._past), self._trend())
        paces = grown(reading["rules"], before["rules"], seconds)
        total = Pace(*map(sum, zip(*paces.values(), strict=True))) if paces else Pace()
        self._past.append(total)
        for name in self._trends.keys() - paces.keys():
            del self._trends[name]
        for name, pace in paces.items():
            self._trends.setdefault(name, deque(maxlen=LENGTH)).append(pace.refused)
        return Glance(reading, seconds, paces, total, tuple(self._past), self._trend())

    def _trend(self) -> dict[str, tuple[float, ...]]:
        return {name: tuple(found) for name, found in self._trends.items()}


def grown(rules: Any, before: Any, seconds: float) -> dict[str, Pace]:
    """How fast each rule counts. One that is new, or begins anew, is as one that stood still."""
    found = {}
    for name, rule in rules.items():
        old = before.get(name, rule)
        found[name] = Pace(*(
            max(0, together(rule, words) - together(old, words)) / seconds
            for words in (ALLOWED, REFUSED, SHADOWED)
        ))  # fmt: skip
    return found


def together(rule: Any, words: tuple[str, ...]) -> int:
    """Several numbers of a rule as one."""
    return int(sum(rule.get(word, 0) for word in words))


def told(glance: Glance) -> dict[str, Any]:
    """All of it as plain data: the reading, and how fast it grows."""
    rates = {name: rounded(pace) for name, pace in glance.paces.items()}
    return {
        "seconds": round(glance.seconds, 3),
        "total": rounded(glance.total),
        "rates": rates,
        "reading": glance.reading,
    }


def rounded(pace: Pace) -> dict[str, float]:
    """A pace in no more digits than it has."""
    return {word: round(number, 3) for word, number in pace._asdict().items()}
