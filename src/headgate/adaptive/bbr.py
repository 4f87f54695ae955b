"""BBR: as many inside as the best throughput of the last seconds needs, once the machine is busy.

By Little's law a service that finished at most `pass` calls a second, each of which takes `least`
when nobody waits, has work for `pass` times `least` of them at once; more only wait. Calm, the
number is not enforced: what is not busy may try more, and so finds out what it can do. Busy is what
`signal` says (CPU, load, memory), or calls that take twice as long as they should, and for a second
after anybody was refused, counted from the latest refusal, so that limits do not flap.
"""

from __future__ import annotations

from collections.abc import Callable

from headgate.adaptive.baseline import Baseline
from headgate.adaptive.bounds import Bounds
from headgate.adaptive.gauge import DROPPED, IGNORE, WAITERS
from headgate.adaptive.signals import cpu
from headgate.measures import FOREVER, MILLION, number, seconds, whole
from headgate.window import SUCCESS, TIMEOUT, Window

# How many more than needed are let in, to find out whether more could be done.
ROOM = 0.1
# Calls wait if the latest took so many times as long as they do when nobody waits; of each, so much
# is taken over.
SLOW, SMOOTH = 2.0, 0.125


class BBR:
    """Enforces the number that the best throughput needs while `signal()` is `busy` or more.

    `signal` is a function that answers from 0.0 to 1.0, the CPU of this container unless another is
    given. Throughput is the best second of the last `window` seconds, counted in `buckets`. After a
    refusal it stays busy for `cool` seconds. The limit stays between `floor` and `ceiling`; every
    `probe_every` busy seconds the least latency is measured anew.
    """

    def __init__(
        self,
        signal: Callable[[], float] = cpu,
        busy: float = 0.8,
        window: float = 5.0,
        buckets: int = 50,
        cool: float = 1.0,
        floor: int = 2,
        ceiling: int = 1000,
        probe_every: float = 10.0,
    ) -> None:
        self.bounds = Bounds("BBR", ceiling, floor, ceiling, probe_every)
        if not callable(signal):
            raise TypeError(f"BBR: signal is a function that answers a share, not {signal!r}")
        self.signal = signal
        self.busy = number("BBR", "busy", busy, 0.0, 1.0)
        self.buckets = whole("BBR", "buckets", buckets, 2, 10_000)
        self.width = -(-seconds("BBR", "window", window, 0.01) // self.buckets)
        # How many buckets are a second, or as much of one as is over.
        self.run = min(max(1, MILLION // self.width), self.buckets - 1)
        self.cool = seconds("BBR", "cool", cool)

    def open(self) -> Throughput:
        """A limit of its own that moves by this rule."""
        return Throughput(self)


class Throughput:
    """A limit that follows the best throughput."""

    __slots__ = (
        "baseline", "begun", "bounds", "cached", "dropped", "places", "recent", "rule", "since",
        "window",
    )  # fmt: skip

    def __init__(self, rule: BBR) -> None:
        self.rule = rule
        self.bounds = rule.bounds
        self.window = Window(rule.width * rule.buckets, rule.buckets)
        self.baseline = Baseline(self.bounds.probe_every, self.bounds.floor)
        self.places = self.bounds.ceiling
        # When somebody was refused last, and in which bucket the places were counted.
        self.dropped = -FOREVER
        self.cached = -1
        # When the first call ended, and when fewer were let in last, to measure.
        self.begun = 0
        self.since = -FOREVER
        # What the latest calls took.
        self.recent = 0.0

    def limit(self, now: int, inside: int) -> int:
        """How many may be inside now."""
        bucket = now // self.rule.width
        if bucket != self.cached:
            self.cached = bucket
            self.count(now)
        if self.places >= self.bounds.ceiling or not self.busy(now):
            return self.bounds.ceiling
        return self.baseline.few(self.places) if self.baseline.probing else self.places

    def busy(self, now: int) -> bool:
        """Whether the number is enforced: the machine is busy, somebody was refused, or calls wait.

        A machine is seen to be busy some tenths of a second late, in which a rush fills the queue
        of seconds; that calls take far longer than they do when nobody waits is seen at once.
        """
        if now - self.dropped < self.rule.cool:
            return True
        least = self.baseline.took
        return self.rule.signal() >= self.rule.busy or 0.0 < least * SLOW < self.recent

    def refused(self, now: int) -> None:
        """Somebody was not let in: it stays busy for a while from now."""
        self.dropped = now

    def ended(self, now: int, took: int, inside: int, outcome: int) -> None:
        """A call ended; `inside` are left."""
        if outcome == IGNORE:
            return
        if not self.begun:
            self.begun = now
        self.recent += (took - self.recent) * SMOOTH
        self.window.add(TIMEOUT if outcome == DROPPED else SUCCESS, now, took, 0)
        if outcome != DROPPED:
            self.baseline.add(now, took, inside, self.places)

    def count(self, now: int) -> None:
        # The places that the best second needs, and some to find out whether more would do.
        self.window.turn(now)
        run = self.rule.run
        best = self.window.peak(run)
        if self.places < self.bounds.ceiling:
            if self.baseline.probing:
                self.since = now
            if now - self.since < run * self.rule.width:
                # What was done while few were let in says nothing about what could be.
                return
        if not best or now - self.begun < run * self.rule.width:
            # Nobody knows yet.
            self.places = self.bounds.ceiling
            return
        least = self.baseline.took or self.window.best()
        need = int(best * least / (run * self.rule.width) + 0.5)
        wanted = need + max(WAITERS, int(need * ROOM))
        self.places = int(self.bounds.keep(wanted))
