"""Baseline: how long a call takes when nobody has to wait for another.

Whoever compares latencies has to know the least one, and it cannot be seen while there is a queue:
a limit that is too high makes every call slow, the slowest become the custom, and the limit creeps
up. So now and then a third fewer are let in, until the queue has gone, and the calls that begin
then are measured. If they are slower than they used to be, or nobody knows, half as many are tried:
either they become faster, and there still was a queue, or the service itself is as slow as that.

Times are microseconds.
"""

from __future__ import annotations

# The least and the most calls that are measured each time, and how many are enough to see whether
# half as many are faster.
SAMPLES, MOST, SECOND = 40, 200, 15
# What is slower than before by more than this share has changed, and so has what is faster by more
# than that: waiting only ever adds. Less may be noise, and no less than so much is taken over.
SLOWER, FASTER, SMOOTH = 0.15, 0.1, 0.3
# So many probes that agree are enough to measure no more often than one was told.
SURE = 4


class Baseline:
    """The latency of calls made while few places were given out, measured anew `every` so often."""

    __slots__ = (
        "count", "depth", "due", "every", "floor", "found", "probes", "probing", "quiet", "seen",
        "slower", "spent", "took",
    )  # fmt: skip

    def __init__(self, every: int, floor: int) -> None:
        self.every = every
        self.floor = floor
        # What a call takes, by so many probes that agree; 0 until that was measured.
        self.took = 0.0
        self.probes = 0
        # Whether the latest probe found it to be slower than it had been.
        self.slower = False
        self.due = 0
        self.probe()

    def probe(self) -> None:
        """Measure from now on."""
        self.probing = True
        self.depth = 0
        # What so many calls took when twice as many were let in.
        self.found, self.seen = 0.0, 0
        self.begin()

    def begin(self) -> None:
        # Since when nobody waits for another, and what was measured since.
        self.quiet = self.count = self.spent = 0

    def few(self, places: int) -> int:
        """How many are let in while one measures: so few that nobody has to wait for another."""
        return max(self.floor, 2 * places // 3 >> self.depth)

    def add(self, now: int, took: int, inside: int, places: int) -> None:
        """A call ended that took so long; `inside` are left, and there are `places`."""
        if not self.probing:
            if now >= self.due:
                self.probe()
            return
        few = self.few(places)
        if not self.quiet and inside <= few:
            self.quiet = now
        # Those that began while others still waited say nothing.
        if self.quiet and now - took >= self.quiet:
            self.count += 1
            self.spent += took
        if self.count >= min(max(SECOND if self.seen else SAMPLES, 2 * few), MOST):
            self.weigh(now, few)

    def weigh(self, now: int, few: int) -> None:
        # Enough was measured: believe it, or try with fewer.
        found = max(1.0, self.spent / self.count)
        if found <= self.took * (1 + SLOWER):
            self.settle(now, found)
        elif self.seen and found > self.found * (1 - SLOWER):
            # No faster with half as many: nobody waited before either.
            share = self.count / (self.count + self.seen)
            self.settle(now, self.found + (found - self.found) * share)
        elif few > self.floor:
            self.found, self.seen = found, self.count
            self.depth += 1
            self.begin()
        else:
            self.settle(now, found)

    def settle(self, now: int, found: float) -> None:
        # Take over what was measured: all of it if things have changed, else the mean.
        self.slower = 0.0 < self.took * (1 + SLOWER) < found
        changed = self.slower or found < self.took * (1 - FASTER) or not self.took
        self.probes = 1 if changed else self.probes + 1
        self.took += (found - self.took) * max(SMOOTH, 1 / self.probes)
        self.probing = False
        # What is new is looked at again soon: it may be noise.
        self.due = now + self.every * min(self.probes, SURE) // SURE
