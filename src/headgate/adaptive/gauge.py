"""Gauge: one adaptive limit at work. Samples go in, the number that is right now comes out.

Latencies are looked at a round at a time, as many calls as there are places, because a single one
says little. After each round the rule says what the limit should be next, from what it is, what a
call takes when nobody waits, and what it took on average. A limit that nobody comes close to is not
raised: nobody knows whether it would hold.

Everything is told the time, in microseconds. Whoever shares a gauge sees to it that one at a time
comes in.
"""

from __future__ import annotations

import threading
from typing import Any, Protocol

from headgate.adaptive.baseline import Baseline
from headgate.adaptive.bounds import Bounds

# What may come of a call: it went as it should, says nothing, or took too long.
SUCCESS, IGNORE, DROPPED = range(3)
# The least calls of a round.
ROUND = 30
# So many may wait under any limit: without them, whoever is served finds nobody behind it, and a
# small limit leaves a service idle that could work.
WAITERS = 4


class Rule(Protocol):
    """How a limit moves, and how far it may."""

    bounds: Bounds

    def next(self, limit: float, least: float, took: float, dropped: bool) -> float:
        """The limit after a round in which calls took so long, and `least` when nobody waits."""


class Gauge:
    """A limit that moves by a `rule`."""

    __slots__ = ("baseline", "before", "count", "most", "places", "rule", "since", "spent")

    most: int
    count: int
    spent: int

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.places = float(rule.bounds.initial)
        # The places there were when one measured last.
        self.before = self.places
        self.baseline = Baseline(rule.bounds.probe_every, rule.bounds.floor)
        # Since when all places are given out.
        self.since = 0
        self.clear()

    def limit(self, now: int, inside: int) -> int:
        """How many may be inside now."""
        places = int(self.places)
        return self.baseline.few(places) if self.baseline.probing else places

    def refused(self, now: int) -> None:
        """Somebody was not let in: all places are wanted."""
        self.most = max(self.most, int(self.places))

    def ended(self, now: int, took: int, inside: int, outcome: int) -> None:
        """A call ended; `inside` are left."""
        if outcome == IGNORE:
            return
        if outcome == SUCCESS:
            self.measure(now, took, inside)
        # Calls that began while few were inside, or before the limit fell, say nothing about now.
        if now - took < self.since:
            return
        if outcome == DROPPED:
            self.move(took, True)
            self.since = now
        elif not self.baseline.probing:
            self.count += 1
            self.spent += took
            self.most = max(self.most, inside + 1)
            if self.count >= max(ROUND, int(self.places)):
                self.move(self.spent / self.count, False)

    def measure(self, now: int, took: int, inside: int) -> None:
        # What was taken for waiting may have been the service itself: then nothing was wrong with
        # the limit that there was.
        probing = self.baseline.probing
        self.baseline.add(now, took, inside, int(self.places))
        if probing and not self.baseline.probing:
            if self.baseline.slower:
                self.places = max(self.places, self.before)
            self.before = self.places
            self.since = now
            self.clear()

    def move(self, took: float, dropped: bool) -> None:
        # The end of a round.
        wanted = self.rule.next(self.places, self.baseline.took, took, dropped)
        if wanted < self.places or self.most * 5 >= int(self.places) * 4:
            self.places = self.rule.bounds.keep(wanted)
        self.clear()

    def clear(self) -> None:
        # The next round: the most that were inside, how many calls ended, and what they took.
        self.most = self.count = self.spent = 0


class Adaptive(Protocol):
    """A limit that finds itself."""

    def open(self) -> Any:
        """What finds it, for one key: `limit`, `refused` and `ended`, as `Gauge` has them."""


class Watched:
    """A gauge that one at a time may ask."""

    __slots__ = ("gauge", "lock")

    def __init__(self, gauge: Any) -> None:
        self.gauge = gauge
        self.renew()

    def renew(self) -> None:
        """Have a lock that nobody holds: in a forked child, too."""
        self.lock = threading.Lock()

    def limit(self, now: int, inside: int) -> int:
        """How many may be inside now."""
        with self.lock:
            return self.gauge.limit(now, inside)  # type: ignore[no-any-return]

    def refused(self, now: int) -> None:
        """Somebody was not let in."""
        with self.lock:
            self.gauge.refused(now)

    def ended(self, now: int, took: int, inside: int, outcome: int) -> None:
        """A call ended; `inside` are left."""
        with self.lock:
            self.gauge.ended(now, took, inside, outcome)


def adaptive(limit: Any) -> Adaptive:
    """The limit that finds itself, if it is one."""
    if not callable(getattr(limit, "open", None)):
        raise TypeError(
            f"Bulkhead: limit is a whole number or a limit such as BBR(), not {limit!r}"
        )
    return limit  # type: ignore[no-any-return]
