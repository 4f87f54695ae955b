"""Tallies: how many requests each rule let in and refused, and an alarm when it is too many."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from headgate.clock import Clock, SystemClock
from headgate.fork import follow
from headgate.measures import seconds, share, whole
from headgate.rules.live.entry import Entry
from headgate.window import REJECTED, SUCCESS, Window

logger = logging.getLogger("headgate")

Notice = Callable[[str, float, bool], object]
# A window is cut into so many parts.
BUCKETS = 20


class Tally:
    """How many requests a rule let in, refused, and would have refused were it enforced."""

    __slots__ = ("passed", "refused", "shadowed")

    def __init__(self) -> None:
        self.passed = 0
        self.refused = 0
        self.shadowed = 0

    @property
    def share(self) -> float:
        """The share that was refused of all it was asked about."""
        # Compiled, these are C's numbers, and it divides whole ones without a rest.
        return float(self.refused) / (self.passed + self.refused) if self.refused else 0.0

    def __repr__(self) -> str:
        return f"Tally(passed={self.passed}, refused={self.refused}, shadowed={self.shadowed})"


def count(entry: Entry, rulings: Sequence[Any]) -> None:
    """Count what became of a request with every rule that had a say in it."""
    shadowed = [rule.name for rule in entry.shadowed]
    for ruling in rulings:
        tally = ruling.tally
        if entry.refusal is not None and entry.refusal.rule is ruling.rule:
            tally.refused += 1
            # Those after it were not asked.
            return
        tally.passed += 1
        tally.shadowed += ruling.name in shadowed


class Alarm:
    """Calls when a rule refuses too much, and again when it is over: `keeper.listen(Alarm(call))`.

    `notice(rule, share, raised)` is called once the share of refusals of a rule in the last
    `window` seconds is `refused` or more, among at least `least` requests; and with `raised` false
    once it is below half of that.
    """

    def __init__(
        self,
        notice: Notice,
        refused: float = 0.1,
        window: float = 60.0,
        least: int = 100,
        clock: Clock | None = None,
    ) -> None:
        self._notice = notice
        self._share = share("Alarm", "refused", refused) / 1e6
        self._span = seconds("Alarm", "window", window, 0.001)
        self._least = whole("Alarm", "least", least, 1)
        self._clock = SystemClock() if clock is None else clock
        self._windows: dict[str, Window] = {}
        self._raised: set[str] = set()
        self._begin()
        follow(self, Alarm._begin)

    def __call__(self, entry: Entry) -> None:
        now = self._clock.now()
        refused = entry.rule
        names = {one.ruling.name for one in entry.passes} | ({refused} if refused else set())
        for name in names:
            with self._lock:
                told = self._turn(name, name == refused, now)
            if told is not None:
                self._notice(name, *told)

    def shares(self) -> dict[str, float]:
        """The share of refusals of each rule in the last seconds."""
        now = self._clock.now()
        with self._lock:
            return {name: refusals(window, now)[0] for name, window in self._windows.items()}

    def _turn(self, name: str, refused: bool, now: int) -> tuple[float, bool] | None:
        window = self._windows.setdefault(name, Window(self._span, BUCKETS))
        window.add(REJECTED if refused else SUCCESS, now, 0, 0)
        found, asked = refusals(window, now)
        if name not in self._raised and asked >= self._least and found >= self._share:
            self._raised.add(name)
            return found, True
        if name in self._raised and found < self._share / 2:
            self._raised.discard(name)
            return found, False
        return None

    def _begin(self) -> None:
        # In a forked child nobody holds the lock.
        self._lock = threading.Lock()


def refusals(window: Window, now: int) -> tuple[float, int]:
    """The share of refusals in a window, and of how many."""
    totals = window.totals(now)
    asked = totals.success + totals.rejected
    return (totals.rejected / asked if asked else 0.0), asked
