"""Circuit: the state of one breaker, told the time. Closed, open, half open, and back.

Closed, every call goes in and its outcome is counted. Once enough calls were made, and the share of
those that failed or were slow has reached its threshold, the circuit opens: nothing goes in for a
pause. Then it is half open: a few probes go in, and what comes of them closes it or opens it again,
for a longer pause. A probe that says nothing for as long as the pause was is given up, and another
goes in: a circuit never stays half open because a caller was lost.

Whoever goes in gets a ticket and shows it when the call is over. With every change of state tickets
change too, so the outcome of a call that began before it says nothing about what is true now.

Compiled, each verb touches no Python object that could give up control, so the interpreter's lock
makes it atomic; on builds without that lock a critical section does. Interpreted, a lock does.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from headgate.breakers.judge import IGNORED
from headgate.window import REJECTED, SUCCESS, Totals, Window

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

STATES = ("closed", "open", "half_open", "forced_open", "forced_closed", "metrics_only")
CLOSED, OPEN, HALF, SHUT, FREE, WATCH = range(6)
# Outcomes, as C numbers when compiled.
GOOD, TURNED_AWAY, NOTHING = SUCCESS, REJECTED, IGNORED
# Shares are parts of this.
WHOLE = 1_000_000
FOREVER = 1 << 62


class Settings:
    """What opens a circuit and for how long: microseconds, and shares in parts per million."""

    __slots__ = (
        "buckets", "calls", "counted", "failed", "growth", "jitter", "longest", "pause", "probes",
        "slow", "slow_after", "span",
    )  # fmt: skip

    def __init__(
        self,
        *,
        failed: int,
        slow: int,
        slow_after: int,
        calls: int,
        span: int,
        buckets: int,
        counted: bool,
        pause: int,
        longest: int,
        growth: float,
        jitter: float,
        probes: int,
    ) -> None:
        self.failed = failed
        self.slow = slow
        self.slow_after = slow_after
        self.calls = calls
        # The window: a span of time in buckets, or so many calls, each a bucket of its own.
        self.span = span
        self.buckets = buckets
        self.counted = counted
        self.pause = pause
        self.longest = longest
        self.growth = growth
        self.jitter = jitter
        self.probes = probes


class Circuit:
    """Whether calls go in, by what came of those before."""

    __slots__ = (
        "broken", "count", "key", "lock", "luck", "opened", "out", "passed", "pause", "probed",
        "settings", "since", "slowed", "state", "story", "ticket", "window",
    )  # fmt: skip

    settings: Settings
    window: Window
    key: str
    story: deque[tuple[int, int]]
    lock: Any
    luck: random.Random

    def __init__(self, settings: Settings, luck: random.Random, key: str = "") -> None:
        self.settings = settings
        self.luck = luck
        self.key = key
        # The changes of state that nobody has heard of yet.
        self.story = deque()
        self.window = Window(settings.span, settings.buckets)
        self.count = self.ticket = self.opened = 0
        self.state = CLOSED
        # When it opened last, and for how long.
        self.since = self.pause = 0
        # Of the probes: how many went in, the latest of them when, and what came of them.
        self.out = self.probed = self.passed = self.broken = self.slowed = 0
        self.renew()

    def renew(self) -> None:
        """Have a lock that nobody holds; compiled, there is none."""
        if not cython.compiled:
            self.lock = threading.RLock()

    def enter(self, now: int) -> int:
        """A ticket for one call, or -1: none goes in now."""
        if cython.compiled:
            with cython.critical_section(self):
                ticket = self.admit(now)
        else:
            with self.lock:
                ticket = self.admit(now)
        return ticket

    def leave(self, ticket: int, outcome: int, now: int, took: int) -> None:
        """Count what came of the call with that ticket."""
        if cython.compiled:
            with cython.critical_section(self):
                self.record(ticket, outcome, now, took)
        else:
            with self.lock:
                self.record(ticket, outcome, now, took)

    def force(self, state: int) -> None:
        """Be in that state from now on, whatever comes; forced into `CLOSED`, begin anew."""
        if cython.compiled:
            with cython.critical_section(self):
                self.turn(state)
        else:
            with self.lock:
                self.turn(state)

    def wait(self, now: int) -> int:
        """Microseconds until a call may go in, as far as one knows; `FOREVER` if it is forced."""
        if self.state == SHUT:
            return FOREVER
        if self.state == OPEN:
            return max(0, self.since + self.pause - now)
        if self.state == HALF and self.out >= self.settings.probes:
            return max(0, self.probed + self.pause - now)
        return 0

    def totals(self, now: int) -> Totals:
        """What came of the calls of the window."""
        if cython.compiled:
            with cython.critical_section(self):
                self.window.turn(self.moment(now))
        else:
            with self.lock:
                self.window.turn(self.moment(now))
        return self.window.tally()

    def worth(self, now: int) -> int:
        """How much would be lost with it: 0 if it is as new, 3 if somebody forced it."""
        if self.state == CLOSED:
            return 1 if self.totals(now).total else 0
        return 2 if self.state in (OPEN, HALF) else 3

    # From here on all is done by one at a time.

    def admit(self, now: int) -> int:
        if self.state in (CLOSED, FREE, WATCH):
            return self.ticket
        if now < self.since:
            # The clock went back: the pause is as long as it was, counted from here.
            self.since = now
        if self.state == OPEN and now >= self.since + self.pause:
            self.turn(HALF)
        if self.state == HALF and self.probe(now) > 0:
            return self.ticket
        self.window.add(TURNED_AWAY, self.moment(now), 0, 0)
        return -1

    def probe(self, now: int) -> int:
        # Whether one more may try.
        if self.out >= self.settings.probes:
            if self.probed <= now < self.probed + self.pause:
                return 0
            # Whoever has not come back may be lost; if it does come back, it counts all the same.
            self.out = self.passed + self.broken
        self.out += 1
        self.probed = now
        return 1

    def record(self, ticket: int, outcome: int, now: int, took: int) -> None:
        if ticket != self.ticket or self.state == FREE:
            return
        if outcome == NOTHING:
            self.out = max(self.passed + self.broken, self.out - 1)
            return
        slow = 1 if took >= self.settings.slow_after else 0
        if self.state == HALF:
            self.judge(outcome, slow, now)
            return
        if self.settings.counted:
            self.count += 1
        self.window.add(outcome, self.moment(now), took, slow)
        if self.state == CLOSED and self.tripped() > 0:
            self.trip(now)

    def tripped(self) -> int:
        # Whether enough calls were made, and too many of them failed or were slow.
        calls = self.window.calls()
        if calls < self.settings.calls:
            return 0
        if self.window.failed() * WHOLE >= self.settings.failed * calls:
            return 1
        return 1 if self.window.slow() * WHOLE >= self.settings.slow * calls else 0

    def judge(self, outcome: int, slow: int, now: int) -> None:
        # What came of a probe. As many failures as would open it among all probes are enough.
        if outcome == GOOD:
            self.passed += 1
        else:
            self.broken += 1
        self.slowed += slow
        probes = self.settings.probes
        if (
            self.broken * WHOLE >= self.settings.failed * probes
            or self.slowed * WHOLE >= self.settings.slow * probes
        ):
            self.trip(now)
        elif self.passed + self.broken >= probes:
            self.turn(CLOSED)

    def trip(self, now: int) -> None:
        # Open, for longer each time until it has been closed again.
        settings = self.settings
        # No power that could overflow: past the longest pause it does not matter how far.
        pause = float(settings.pause)
        turns = 0
        while turns < self.opened and pause < settings.longest:
            pause *= settings.growth
            turns += 1
        pause = min(pause, settings.longest)
        self.opened += 1
        self.pause = max(1, int(pause * (1 + settings.jitter * (2 * self.luck.random() - 1))))
        self.since = now
        self.turn(OPEN)

    def turn(self, state: int) -> None:
        # Into another state, or anew into this one: tickets of before are worth nothing.
        before = self.state
        self.state = state
        self.ticket += 1
        self.out = self.passed = self.broken = self.slowed = 0
        if state == CLOSED:
            self.opened = 0
            self.window.clear()
        if state != before:
            self.story.append((before, state))

    def moment(self, now: int) -> int:
        # What the window goes by: the time, or how many calls there were.
        return self.count if self.settings.counted else now


def dispensable(circuits: dict[str, Circuit], least: int, now: int) -> list[str]:
    """The keys whose circuits make room for others: all that are as new, and `least` or more.

    Those closed go before those open, and the first made first; what somebody forced stays.
    """
    worth = {key: one.worth(now) for key, one in list(circuits.items()) if key}
    fresh = sum(each == 0 for each in worth.values())
    ranked = sorted(worth, key=worth.__getitem__)
    return [key for key in ranked[: max(least, fresh)] if worth[key] < 3]
