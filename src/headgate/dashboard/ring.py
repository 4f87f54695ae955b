"""Ring: what happened in each of the last seconds, so that a page that is opened has a past.

A point is what has changed between two readings, about a second apart. What did not change is not
in it, so that a thousand rules of which ten are busy take the room of ten.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# A quarter of an hour, and as many rules of one second as anybody could tell apart in a picture.
LONGEST = 900
BUSIEST = 100
# Of a rule, in this order; what failed open or closed is one.
COUNTED = ("allowed", "delayed", "refused", "shadowed", "failed_open", "failed_closed")
# What lies between two readings, in seconds.
PACE = 1.0
# One second has too few requests to say what the hundredth of them took.
RECENT = 5

Point = dict[str, Any]


class Ring:
    """The last points; `mark` tells the ring of one process from that of another."""

    def __init__(self, longest: int = LONGEST) -> None:
        self.mark = secrets.token_hex(4)
        self._points: deque[Point] = deque(maxlen=longest)
        self._number = 0
        self._last: Mapping[str, Any] | None = None
        # What each rule had counted when it was last heard of.
        self._counts: dict[str, list[float]] = {}
        self._routes: deque[list[float]] = deque(maxlen=RECENT)
        self._checks: deque[list[float]] = deque(maxlen=RECENT)

    def add(self, reading: Mapping[str, Any]) -> Point | None:
        """Note a reading; the point it makes with the one before, or None if it is the first."""
        last, self._last = self._last, reading
        before, after = self._counts, counted(reading)
        # Where no worker answers there are no rules: they did not begin anew.
        self._counts = after if reading["rules"] else before
        if last is None:
            return None
        self._number += 1
        self._rewind(reading["at"])
        point: Point = {
            "n": self._number,
            "at": reading["at"],
            "span": lapse(last["at"], reading["at"]),
            "rules": moved(before, after),
            # Not one of those in force, so no part of what they do together.
            "trial": "" if reading["trial"] is None else reading["trial"]["name"],
            "limits": limits(reading["rules"]),
            "requests": _requests(reading) - _requests(last),
            "latency": self._slow(self._routes, _answers(last), _answers(reading)),
            "checks": self._slow(self._checks, [last["checks"]], [reading["checks"]]),
            "degraded": bool(reading["store"]["degraded"]),
        }
        # A worker that was not heard this time has not taken back what it did.
        point["requests"] = max(0, point["requests"])
        self._points.append(point)
        return point

    def since(self, name: str) -> list[Point]:
        """The points after the one of this name; all, if it is not known here."""
        mark, _, number = name.partition("-")
        known = int(number) if mark == self.mark and number.isdecimal() else 0
        return [point for point in self._points if point["n"] > known]

    @property
    def name(self) -> str:
        """What the latest point is called."""
        return f"{self.mark}-{self._number}"

    def _rewind(self, at: float) -> None:
        # Where the clock was put back, what it once called later is not the latest for ever.
        while self._points and self._points[-1]["at"] > at:
            self._points.pop()

    def _slow(
        self, recent: deque[list[float]], before: Iterable[Any], after: Iterable[Any]
    ) -> list[float] | None:
        bounds, old = together(before)
        borders, new = together(after)
        recent.append(new if bounds != borders else less(new, old))
        counts = [sum(some) for some in zip(*recent, strict=False)]
        if sum(counts) <= 0:
            return None
        return [quantile(borders, counts, 0.5), quantile(borders, counts, 0.99)]


def lapse(before: float, now: float) -> float:
    """The seconds between two readings; as many as there should be, if the clock was put back."""
    return max(0.001, now - before) if now > before else PACE


def counted(reading: Mapping[str, Any]) -> dict[str, list[float]]:
    """What each rule has counted so far, the one that is only tried too."""
    found = {name: [rule[word] for word in COUNTED] for name, rule in reading["rules"].items()}
    trial = reading["trial"]
    if trial is not None:
        # What it would have cut was let in, as with any rule in shadow.
        found[trial["name"]] = [trial["allowed"] + trial["shadowed"], 0, 0, trial["shadowed"], 0, 0]
    return found


def moved(
    before: Mapping[str, list[float]], after: Mapping[str, list[float]]
) -> dict[str, list[float]]:
    """By how much each rule has moved on, if it did; of very many, the busiest."""
    found: dict[str, list[float]] = {}
    for name, counts in after.items():
        steps = less(counts, before.get(name, [0] * len(counts)))
        if any(steps):
            found[name] = [*steps[:4], steps[4] + steps[5]]
    if len(found) > BUSIEST:
        found = dict(sorted(found.items(), key=lambda one: -sum(one[1]))[:BUSIEST])
    return found


def limits(rules: Mapping[str, Any]) -> dict[str, list[float]]:
    """The limits in force of those who let in so many at once, who is in, and who waits."""
    told = {name: rule for name, rule in rules.items() if rule["limit"] is not None}
    return {
        name: [rule["limit"], rule["inside"], rule["waiting"]]
        for name, rule in [*told.items()][:BUSIEST]
    }


def less(after: Sequence[float], before: Sequence[float]) -> list[float]:
    """What was added. Who counts less than before has begun anew."""
    if len(after) != len(before):
        return [*after]
    return [new if new < old else new - old for new, old in zip(after, before, strict=True)]


def together(several: Iterable[Any]) -> tuple[list[float], list[float]]:
    """Histograms of the same bounds as one."""
    bounds: list[float] = []
    counts: list[float] = []
    for one in several:
        if not bounds:
            bounds, counts = [*one["bounds"]], [*one["counts"]]
        elif one["bounds"] == bounds:
            counts = [mine + more for mine, more in zip(counts, one["counts"], strict=True)]
    return bounds, counts


def quantile(bounds: Sequence[float], counts: Sequence[float], share: float) -> float:
    """The moment below which that share lies, as if each part of a histogram were even."""
    rest = share * sum(counts)
    for number, count in enumerate(counts):
        if count >= rest and count > 0:
            if number >= len(bounds):
                # Nobody knows how far beyond the last bound it is.
                return bounds[-1] if bounds else 0.0
            low = bounds[number - 1] if number else 0.0
            return float(low + (bounds[number] - low) * rest / count)
        rest -= count
    return bounds[-1] if bounds else 0.0


def _answers(reading: Mapping[str, Any]) -> list[Any]:
    return [route["latency"] for route in reading["routes"].values()]


def _requests(reading: Mapping[str, Any]) -> int:
    several = reading["routes"].values() or reading["workers"]
    return sum(one["requests"] for one in several)
