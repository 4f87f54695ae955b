"""Queue: who waits for a pacer, in which order, and when the first may leave.

A pace is so many units in so many microseconds. Time is counted in ticks, a microsecond being as
many of them as units leave in the reduced period: so a unit always costs a whole number of ticks,
and 30,000 a second do not drift although none of them leaves at a whole microsecond.

After a departure nobody leaves until what it cost has passed; that moment is `due`. Who is first is
decided at that moment and not before, so one of high priority who comes at the last moment still
goes first. Time in which nobody wanted to leave is lost: only `slack` gaps of it may be made up.

Nothing here waits or asks the time, and all is done by one at a time: whoever calls has the lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush

from headgate.measures import FOREVER
from headgate.rate import Rate

# What `join`, `stand` and `step` answer: as many wait as may, one cannot leave in time, one waits,
# one has left.
FULL, LATE, WAITS, LEFT = range(4)
NEW, STANDING, DEPARTED, GONE = range(4)
# Those who wait stand here themselves, or are calls that wait for a worker to make them.
PEOPLE, CALLS = range(2)
# Those who have gone stay in the line until they are met there, or are more than this.
DEAD = 32
# One who was due in time and is woken so many microseconds late by the machine still leaves.
GRACE = 5_000


class Waiter:
    """Somebody in line: what it costs, how long it waits at most, and how much it is ahead.

    `until` is when it will look again; `first` says that it is the next. In line it has a rank:
    as if since when it waits.
    """

    __slots__ = (
        "bell", "cost", "deadline", "departed", "first", "joined", "kind", "lead", "patience",
        "rank", "state", "ticket", "until",
    )  # fmt: skip

    bell: Callable[[], object]

    def __init__(self, cost: int, patience: int, lead: int, kind: int = PEOPLE) -> None:
        # What to ring when it is the first; nobody rings before it has joined.
        self.cost = cost
        self.patience = patience
        self.lead = lead
        self.kind = kind
        self.state = NEW
        self.joined = self.rank = self.deadline = self.ticket = self.until = self.departed = 0
        self.first = False


class Queue:
    """At most `size` wait, and leave at `rate`."""

    def __init__(self, rate: Rate, size: int, slack: int, now: int) -> None:
        self.size = size
        self.slack = slack
        self.gain, self.scale = rate.reduced
        self.due = now * self.gain
        self.seen = now
        self.empty()

    def empty(self) -> None:
        """Begin anew, with nobody in line: in a forked child, those who wait are its parent's."""
        self.lines: tuple[list[tuple[int, int, Waiter]], ...] = ([], [])
        self.waiting = self.units = self.dead = self.tickets = 0
        # The rank of the last in line, or of one who was.
        self.last = 0
        # A worker that makes a call cannot make another; meanwhile others go before those who wait
        # for it.
        self.busy = False

    def join(self, waiter: Waiter, now: int) -> int:
        """Leave at once, or stand in line, or be told at once that there is no use in it."""
        answer = self.stand(waiter, now)
        return self.step(waiter, now) if answer == WAITS else answer

    def stand(self, waiter: Waiter, now: int) -> int:
        """Stand in line, or be told at once that there is no use in it."""
        self.refresh(now)
        self.tickets += 1
        waiter.ticket = self.tickets
        waiter.joined = now
        waiter.rank = now - waiter.lead
        waiter.deadline = now + waiter.patience
        # A call waits for its worker, if for nothing else.
        waits = self.waiting > 0 or self.moment(0, now) > now or waiter.kind == CALLS
        if waits and self.waiting >= self.size:
            waiter.until = max(now, self.moment(0, now))
            return FULL
        if waiter.patience < FOREVER:
            moment = self.moment(self.ahead(waiter), now)
            if moment > waiter.deadline:
                waiter.until = now + moment - waiter.deadline
                return LATE
        self.tidy()
        waiter.state = STANDING
        heappush(self.lines[waiter.kind], (waiter.rank, waiter.ticket, waiter))
        self.last = waiter.rank if self.waiting == 0 else max(self.last, waiter.rank)
        self.waiting += 1
        self.units += waiter.cost
        return WAITS

    def step(self, waiter: Waiter, now: int) -> int:
        """Leave if it is one's turn and time; else `until` says when to look again."""
        self.refresh(now)
        moment = self.moment(0, now)
        waiter.first = self.first() is waiter
        # Who is not the first is woken when it is; only its deadline it has to watch itself.
        waiter.until = moment if waiter.first else max(waiter.deadline, now + 1)
        expired = waiter.joined < now and waiter.deadline <= now and not waiter.first
        if expired or max(moment, now - GRACE) > waiter.deadline:
            self.quit(waiter)
            # When one who came again would be in time.
            waiter.until = max(now, self.moment(self.units, now) - waiter.patience)
            return LATE
        if not waiter.first or moment > now:
            return WAITS
        self.depart(waiter, now)
        return LEFT

    def quit(self, waiter: Waiter) -> bool:
        """Stop waiting; false if one did not wait any more."""
        if waiter.state != STANDING:
            return False
        waiter.state = GONE
        self.waiting -= 1
        self.units -= waiter.cost
        self.dead += 1
        return True

    def change(self, rate: Rate, now: int) -> None:
        """Go at another pace from now on: what is still owed is paid at the new one."""
        self.refresh(now)
        gain, scale = rate.reduced
        owed = (self.due - now * self.gain) * scale
        self.due = now * gain - -owed // self.scale
        self.gain, self.scale = gain, scale

    def rouse(self) -> None:
        """Wake the first, so that it looks when to leave; who cannot be woken is not there."""
        while (first := self.first()) is not None:
            try:
                first.bell()
            except RuntimeError:
                self.quit(first)
            else:
                return

    def first(self) -> Waiter | None:
        """Who leaves next."""
        best: tuple[int, int, Waiter] | None = None
        for kind, line in enumerate(self.lines):
            while line and line[0][2].state != STANDING:
                self.dead -= line[0][2].state == GONE
                heappop(line)
            if line and not (kind == CALLS and self.busy) and (best is None or line[0] < best):
                best = line[0]
        return None if best is None else best[2]

    def call(self) -> Waiter | None:
        """Which call is made next."""
        self.first()
        line = self.lines[CALLS]
        return line[0][2] if line else None

    def all(self) -> Iterator[Waiter]:
        """Everybody who waits, in no order."""
        return (entry[2] for line in self.lines for entry in line if entry[2].state == STANDING)

    def ahead(self, waiter: Waiter) -> int:
        """How many units leave before one who is about to stand in line."""
        if self.busy and waiter.kind == PEOPLE:
            # While a call is being made, none of the other calls leaves.
            line = [entry[2] for entry in self.lines[PEOPLE] if entry[2].state == STANDING]
            return sum(one.cost for one in line if one.rank <= waiter.rank)
        if waiter.rank >= self.last:
            return self.units
        return sum(one.cost for one in self.all() if one.rank <= waiter.rank)

    def moment(self, ahead: int, now: int) -> int:
        """When one leaves before whom so many units do, if nobody is late and all stay."""
        ticks = self.due if ahead == 0 else self.start(now) + ahead * self.scale
        return -(-ticks // self.gain)

    def start(self, now: int) -> int:
        # From when on the cost of one who leaves now is counted: from when it was due, if that is
        # in this microsecond, or not more than the slack ago.
        return max(self.due, now * self.gain - max(self.slack * self.scale, self.gain - 1))

    def depart(self, waiter: Waiter, now: int) -> None:
        self.due = self.start(now) + waiter.cost * self.scale
        self.waiting -= 1
        self.units -= waiter.cost
        waiter.state = DEPARTED
        waiter.departed = now
        self.first()

    def refresh(self, now: int) -> None:
        # A clock that was set back takes what is owed with it: it neither grants nor freezes.
        if now < self.seen:
            self.due -= (self.seen - now) * self.gain
        self.seen = now

    def tidy(self) -> None:
        # Take those who have gone out of the line. Not where they go: that may be in the middle of
        # anything.
        if self.dead > DEAD and self.dead > self.waiting:
            for line in self.lines:
                line[:] = [entry for entry in line if entry[2].state == STANDING]
                heapify(line)
            self.dead = 0
