"""Patrol: readings looked at again and again, and bells rung for what is found in them.

patrol = Patrol(telemetry.reading, rules.alerts)
patrol.look()              asked by hand, as often as one likes
with patrol:               or once a second, by a thread
    serve()
patrol.raised              what is raised, as it stands
patrol.reading()           a reading that has it, too
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from headgate.clock import Clock, SystemClock
from headgate.rules.model.alerts import Alerts
from headgate.telemetry.alerts import Alert, Watchman
from headgate.telemetry.bells import Bells
from headgate.telemetry.reading import AlertReading, Reading

logger = logging.getLogger("headgate.alerts")

ROUND = 1.0


class Patrol:
    """Looks at what `source` answers, and tells of it as the terms have it.

    The terms are those of a rule file, `keeper.rules.alerts`. Whoever wants to hear of alerts
    in Python says so with `listen`.
    """

    def __init__(
        self, source: Callable[[], Reading], terms: Alerts, clock: Clock | None = None,
        bells: Bells | None = None,
    ) -> None:  # fmt: skip
        self._source = source
        self._clock: Clock = SystemClock() if clock is None else clock
        self._watchman = Watchman(terms.watched)
        self._bells = Bells(terms, clock=self._clock) if bells is None else bells
        self._terms = terms
        self._listeners: tuple[Callable[[Alert], object], ...] = ()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def raised(self) -> list[Alert]:
        """What is raised, as it stands."""
        return self._watchman.raised

    def reading(self) -> Reading:
        """What the source answers, with what is raised in it."""
        return {**self._source(), "alerts": self.told}

    @property
    def told(self) -> list[AlertReading]:
        """The same as readings have it."""
        return [alert.told for alert in self.raised]

    def listen(self, listener: Callable[[Alert], object]) -> Callable[[Alert], object]:
        """Call `listener(alert)` for each that is raised or cleared; what it raises is logged."""
        self._listeners = (*self._listeners, listener)
        return listener

    def change(self, terms: Alerts) -> None:
        """Go by other terms from now on."""
        if terms != self._terms:
            self._watchman.change(terms.watched)
            self._bells.change(terms)
            self._terms = terms

    def look(self) -> list[Alert]:
        """Look now, and tell all who want to know; what was raised by that, or cleared."""
        return self.judge(self._source())

    def judge(self, reading: Reading) -> list[Alert]:
        """The same for a reading that somebody has already."""
        source = self._bells.source
        source.serves, source.rules = reading["serves"], reading["version"]
        found = self._watchman.look(reading, self._clock.now() / 1e6)
        self._bells.ring(found)
        for alert in found:
            self._tell(alert)
        return found

    def start(self) -> Patrol:
        """Look once a second from now on, in a thread."""
        if self._thread is None:
            self._over.clear()
            self._thread = threading.Thread(target=self._run, name="headgate-patrol", daemon=True)
            self._thread.start()
        return self

    def close(self) -> None:
        """Look no more, and tell nobody."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._bells.close()

    def __enter__(self) -> Patrol:
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _run(self) -> None:
        while not self._over.wait(ROUND):
            try:
                self.look()
            except Exception:
                logger.exception("alerts could not be judged; they are looked at again")

    def _tell(self, alert: Alert) -> None:
        for listener in self._listeners:
            try:
                listener(alert)
            except Exception:
                logger.exception("a listener failed; the alerts go on")
