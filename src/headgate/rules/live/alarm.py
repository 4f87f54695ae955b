"""Alarm: calls when a rule refuses too many, and again when it is over."""

from __future__ import annotations

from collections.abc import Callable

from headgate.clock import Clock, SystemClock
from headgate.latch import Latch
from headgate.measures import seconds, share, whole
from headgate.rules.live.entry import Entry
from headgate.window import REJECTED, SUCCESS, Window

Notice = Callable[[str, float, bool], object]
# A window is cut into so many parts.
BUCKETS = 20


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
        self._lock = Latch()

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


def refusals(window: Window, now: int) -> tuple[float, int]:
    """The share of refusals in a window, and of how many."""
    totals = window.totals(now)
    asked = totals.success + totals.rejected
    return (totals.rejected / asked if asked else 0.0), asked
