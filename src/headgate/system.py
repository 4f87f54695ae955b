"""System: rules for the whole of a service, whatever it is asked. The last line of defence.

Limits by key and by dependency can all be kept and the machine be busy beyond what it can bear all
the same. A system refuses what would make that worse: where there are too many calls a second or at
once, where they take too long on average, or where CPU, load or memory are beyond their bounds.
Load rises late and falls late, so by itself it refuses only what is more than the service has shown
to be able to do: the best second times the least latency, by Little's law.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import inf
from typing import Any, ParamSpec, TypeVar

from headgate.adaptive.signals import cpu, load, memory
from headgate.clock import Clock, SystemClock
from headgate.errors import SystemBusy
from headgate.fork import follow
from headgate.measures import MILLION, number, seconds
from headgate.window import FAILURE, SUCCESS, Totals, Window
from headgate.wrapper import around, refuse

P = ParamSpec("P")
R = TypeVar("R")
Signal = Callable[[], float]

# The window: ten seconds by a half, of which two are a second.
WIDTH, BUCKETS, SECOND = 500_000, 20, 2


class System:
    """Refuses calls while any of its bounds is reached; without bounds it only counts.

    `cpu` and `memory` are shares such as 0.9, `load` is the kernel's for each CPU; `latency` is the
    mean of the last ten seconds, in seconds; `inside` how many may be at work at once, `rate` how
    many may come in by the second, so up to twice as many within one that is counted from another
    moment. `signals` replaces where the first three are read.
    """

    def __init__(
        self,
        *,
        cpu: float = inf,
        load: float = inf,
        memory: float = inf,
        latency: float = inf,
        inside: float = inf,
        rate: float = inf,
        signals: dict[str, Signal] | None = None,
        clock: Clock | None = None,
    ) -> None:
        read = {**SIGNALS, **(signals or {})}
        for word in read:
            if word not in SIGNALS:
                raise ValueError(f"System: a signal is cpu, load or memory, not {word!r}")
        bounds = {"cpu": cpu, "memory": memory, "load": load}
        # Only what has a bound is read.
        self.bounds = {
            word: (read[word], number("System", word, bound, 0.0))
            for word, bound in bounds.items()
            if bound != inf
        }
        self.latency = seconds("System", "latency", latency)
        self.most = number("System", "inside", inside, 1)
        self.rate = number("System", "rate", rate, 1)
        self.clock = SystemClock() if clock is None else clock
        self._window = Window(WIDTH * BUCKETS, BUCKETS)
        # How many came in by the second, when that second began, and in which process.
        self._came = self._since = self._era = 0
        self._begin()
        follow(self, System._begin)

    def hold(self) -> Task:
        """One call, as a context manager for `with` or `async with`; raises `SystemBusy`."""
        return Task(self)

    def guard(self) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Decorate a `def` or an `async def`: each call is refused while the system is busy."""

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            refuse("System", function)
            return around(function, "", lambda _: self.hold())

        return decorate

    def busy(self) -> tuple[str, float, float] | None:
        """What is beyond its bound now, what it is and what it may be; None if nothing is."""
        with self._lock:
            return self._beyond(self.clock.now())

    def totals(self) -> Totals:
        """What came of the calls of the last ten seconds."""
        with self._lock:
            return self._window.totals(self.clock.now())

    def enter(self) -> tuple[int, int]:
        """Come in, to the process and at the moment that are answered; raises `SystemBusy`."""
        now = self.clock.now()
        with self._lock:
            beyond = self._beyond(now)
            if beyond is None:
                self.inside += 1
                self._came += 1
                return self._era, now
        raise SystemBusy(*beyond)

    def leave(self, era: int, start: int, outcome: int) -> None:
        """Go, having come in there and then; who came in before a fork leaves the parent."""
        now = self.clock.now()
        with self._lock:
            if era == self._era:
                self.inside -= 1
                self._window.add(outcome, now, now - start, 0)

    def _begin(self) -> None:
        # With nobody inside: at first, and in a forked child, where those inside are its parent's.
        self._era += 1
        self._lock = threading.Lock()
        self.inside = 0

    def _beyond(self, now: int) -> tuple[str, float, float] | None:
        if not 0 <= now - self._since < MILLION:
            self._came, self._since = 0, now
        if self._came >= self.rate:
            return "rate", float(self._came), self.rate
        if self.inside >= self.most:
            return "inside", float(self.inside), self.most
        self._window.turn(now)
        mean = self._window.mean()
        if mean > self.latency and self.inside > 1:
            return "latency", mean / MILLION, self.latency / MILLION
        for word, (read, bound) in self.bounds.items():
            if (value := read()) > bound and (word != "load" or self._crowded()):
                return word, value, bound
        return None

    def _crowded(self) -> bool:
        # Whether more are at work than the best second needed.
        best, least = self._window.peak(SECOND), self._window.best()
        return self.inside > 1 and self.inside > best * least / MILLION

    def __repr__(self) -> str:
        return f"<System: {self.inside} inside>"


class Task:
    """One call through a system: `with system.hold()`."""

    __slots__ = ("_era", "_start", "_system")

    def __init__(self, system: System) -> None:
        self._system = system
        self._era = self._start = 0

    def __enter__(self) -> Task:
        self._era, self._start = self._system.enter()
        return self

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        self._system.leave(self._era, self._start, SUCCESS if problem is None else FAILURE)

    async def __aenter__(self) -> Task:
        return self.__enter__()

    async def __aexit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        self.__exit__(kind, problem, trace)


SIGNALS: dict[str, Any] = {"cpu": cpu, "load": load, "memory": memory}
