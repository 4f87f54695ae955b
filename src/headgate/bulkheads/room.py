"""Room: how many are inside, and who waits at the door. The state of one key of a bulkhead.

Places are handed over: who leaves lets in whoever is next, so nobody overtakes those who wait, and
no place is free while somebody could have it. Next is who has waited longest, each level of
priority counting as so much time of waiting: everybody ages alike, so the order of two waiters
never changes, and no priority starves another for ever. Where the first has waited too long, the
newest may go first instead: those who came late are still being waited for.

A room may be divided into parts, each with a share of the places that is its own. What a part does
not use is lent to the others; when it wants its share back, it is the next to be let in.

Nothing here waits or asks the time. Compiled, each verb touches only numbers and lists, so the
interpreter's lock makes it atomic; on builds without that lock a critical section does.
Interpreted, a lock does. Whoever is let in is handed to the caller, who wakes them outside.
"""

from __future__ import annotations

import threading
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

from headgate.bulkheads.waiter import Waiter

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

# What `enter` and `join` answer: the room is no more, the door is full, one waits, one is inside.
GONE, FULL, WAITS, INSIDE = -2, -1, 0, 1
WHOLE = 1_000_000
FOREVER = 1 << 62


class Room:
    """At most `limit` inside, at most `queue` at the door."""

    __slots__ = (
        "dead", "era", "gauge", "held", "inside", "lend", "limit", "lines", "lock", "newest_after",
        "parts", "queue", "queued", "retired", "shares", "tickets", "waiting",
    )  # fmt: skip

    gauge: Any
    lock: Any
    lines: list[list[tuple[int, int, Waiter]]]
    held: list[int]
    queued: list[int]
    shares: tuple[int, ...]
    inside: int
    waiting: int

    def __init__(
        self, limit: int, queue: int, newest_after: int, shares: tuple[int, ...], lend: bool,
        gauge: Any = None,
    ) -> None:  # fmt: skip
        self.limit = limit
        # What finds the limit, if it moves; the room never looks at it.
        self.gauge = gauge
        self.queue = queue
        self.newest_after = newest_after
        # Each part's share of the places, in parts per million.
        self.shares = shares
        self.parts = len(shares)
        self.lend = lend
        self.era = 0
        self.empty()

    def enter(self, part: int) -> int:
        """Go in, if there is a place and nobody waits for it."""
        if cython.compiled:
            with cython.critical_section(self):
                answer = self.step_in(part)
        else:
            with self.lock:
                answer = self.step_in(part)
        return answer

    def join(self, waiter: Waiter) -> int:
        """Go in, or wait at the door until the bell rings, or find that full too."""
        if cython.compiled:
            with cython.critical_section(self):
                answer = self.stand(waiter)
        else:
            with self.lock:
                answer = self.stand(waiter)
        return answer

    def leave(self, part: int, now: int, era: int) -> list[Waiter]:
        """Give a place back; those who are let in for it are to be woken."""
        if cython.compiled:
            with cython.critical_section(self):
                found = self.step_out(part, now, era)
        else:
            with self.lock:
                found = self.step_out(part, now, era)
        return found

    def quit(self, waiter: Waiter) -> int:
        """Stop waiting; `INSIDE` if one had been let in already, who then has to leave."""
        if cython.compiled:
            with cython.critical_section(self):
                answer = self.turn_away(waiter)
        else:
            with self.lock:
                answer = self.turn_away(waiter)
        return answer

    def lose(self, waiter: Waiter, now: int) -> list[Waiter]:
        """Take back the place of one who was let in and cannot be woken, once."""
        if cython.compiled:
            with cython.critical_section(self):
                found = self.forget(waiter, now)
        else:
            with self.lock:
                found = self.forget(waiter, now)
        return found

    def extend(self, queue: int) -> None:
        """Have so many at the door from now on; those who stand there already stay."""
        self.queue = queue

    def resize(self, limit: int, now: int) -> list[Waiter]:
        """Have room for so many from now on; those who fit now are to be woken."""
        if cython.compiled:
            with cython.critical_section(self):
                self.limit = limit
                found = self.fill(now) if self.waiting > 0 else NOBODY
        else:
            with self.lock:
                self.limit = limit
                found = self.fill(now) if self.waiting > 0 else NOBODY
        return found

    def retire(self) -> int:
        """Be no more, if nobody is inside or waits; 1 if so, and to nobody else."""
        if cython.compiled:
            with cython.critical_section(self):
                gone = self.close()
        else:
            with self.lock:
                gone = self.close()
        return gone

    def empty(self) -> None:
        """Begin anew: in a forked child, those who were inside are the parent's."""
        self.era += 1
        self.inside = self.waiting = self.tickets = self.dead = self.retired = 0
        # Of each part: how many are inside, how many wait, and they themselves.
        self.held = [0] * self.parts
        self.queued = [0] * self.parts
        self.lines = [[] for _ in range(self.parts)]
        if not cython.compiled:
            # A thread that the child does not have may have held the one before.
            self.lock = threading.RLock()

    # From here on all is done by one at a time.

    def close(self) -> int:
        # Only one may take it off the list: another of the same key may stand there by now.
        if self.retired > 0 or self.inside + self.waiting > 0:
            return 0
        self.retired = 1
        return 1

    def step_in(self, part: int) -> int:
        if self.retired > 0:
            return GONE
        if self.inside >= self.limit:
            return FULL
        # Who waits although there is a place waits for one of its own part.
        if self.queued[part] > 0:
            return FULL
        if not self.lend and self.held[part] >= self.own(part):
            return FULL
        self.held[part] += 1
        self.inside += 1
        return INSIDE

    def stand(self, waiter: Waiter) -> int:
        answer = self.step_in(waiter.part)
        if answer != FULL:
            return answer
        if self.waiting >= self.queue:
            return FULL
        self.tickets += 1
        self.waiting += 1
        self.queued[waiter.part] += 1
        line = self.lines[waiter.part]
        entry = (waiter.rank, self.tickets, waiter)
        if self.newest_after < FOREVER:
            line.append(entry)
        else:
            heappush(line, entry)
        return WAITS

    def step_out(self, part: int, now: int, era: int) -> list[Waiter]:
        if era != self.era:
            return NOBODY
        self.inside -= 1
        self.held[part] -= 1
        return self.fill(now) if self.waiting > 0 else NOBODY

    def turn_away(self, waiter: Waiter) -> int:
        if waiter.inside > 0:
            return INSIDE
        if waiter.left == 0:
            # It stays in its line until it is met there, or too many are like it.
            waiter.left = 1
            self.waiting -= 1
            self.queued[waiter.part] -= 1
            self.dead += 1
            if self.dead > 32 and self.dead > self.waiting:
                self.clean()
        return WAITS

    def forget(self, waiter: Waiter, now: int) -> list[Waiter]:
        # From now on it has neither a place nor one to give up.
        if waiter.inside == 0:
            return NOBODY
        waiter.inside = 0
        waiter.left = 1
        return self.step_out(waiter.part, now, self.era)

    def fill(self, now: int) -> list[Waiter]:
        # Let in as many as there is room for.
        found = []
        while self.inside < self.limit and self.waiting > 0:
            part = self.turn()
            if part < 0:
                break
            waiter = self.first(part, now)
            waiter.inside = 1
            self.waiting -= 1
            self.queued[part] -= 1
            self.inside += 1
            self.held[part] += 1
            found.append(waiter)
        return found

    def turn(self) -> int:
        # Whose turn it is: of the parts that have less than their own, the one whose first has
        # waited longest; else of all.
        if self.parts == 1:
            return 0
        chosen = -1
        best = (2, 0, 0)
        for part in range(self.parts):
            if self.queued[part] == 0:
                continue
            line = self.lines[part]
            while line[0][2].left > 0:
                self.drop(line)
            lent = 0 if self.held[part] < self.own(part) else 1
            rank = (lent, line[0][0], line[0][1])
            if rank < best and (lent == 0 or self.lend):
                chosen = part
                best = rank
        return chosen

    def first(self, part: int, now: int) -> Waiter:
        # The next of a line, which has one who still waits.
        line = self.lines[part]
        while line[0][2].left > 0:
            self.drop(line)
        if self.newest_after == FOREVER:
            return heappop(line)[2]
        if now - line[0][2].moment <= self.newest_after:
            return line.pop(0)[2]
        while line[len(line) - 1][2].left > 0:
            self.dead -= 1
            line.pop()
        return line.pop()[2]

    def drop(self, line: list[tuple[int, int, Waiter]]) -> None:
        # The first of a line has gone.
        self.dead -= 1
        if self.newest_after == FOREVER:
            heappop(line)
        else:
            line.pop(0)

    def clean(self) -> None:
        # Take those who have gone out of all lines.
        for line in self.lines:
            line[:] = [entry for entry in line if entry[2].left == 0]
            if self.newest_after == FOREVER:
                heapify(line)
        self.dead = 0

    def own(self, part: int) -> int:
        # How many places a part has a right to: at least one.
        return max(1, self.shares[part] * self.limit // WHOLE)


# What those who let nobody in answer.
NOBODY: list[Waiter] = []
