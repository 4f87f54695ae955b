"""A room keeps its limit, its shares and its order, whatever happens in whatever sequence."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headgate.bulkheads.room import FULL, GONE, INSIDE, WAITS, Room
from headgate.bulkheads.waiter import Waiter

FOREVER = 1 << 62
HALF, FIFTH, REST = 500_000, 200_000, 300_000


class Rooms(RuleBasedStateMachine):
    """A room of three parts beside the plainest model of one: two lists."""

    lend = True
    newest_after = FOREVER

    def __init__(self) -> None:
        super().__init__()
        self.limit, self.queue, self.now = 5, 6, 0
        self.room = Room(self.limit, self.queue, self.newest_after, (HALF, FIFTH, REST), self.lend)
        self.inside: list[int] = []
        self.line: list[Waiter] = []

    @rule(part=st.integers(0, 2))
    def enter(self, part: int) -> None:
        able = self.able(part) and not any(one.part == part for one in self.line)

        assert self.room.enter(part) == (INSIDE if able else FULL)

        if able:
            self.inside.append(part)

    @rule(part=st.integers(0, 2), priority=st.integers(0, 3), gap=st.integers(1, 20))
    def join(self, part: int, priority: int, gap: int) -> None:
        self.now += gap
        rank = self.now if self.newest_after < FOREVER else self.now - 10 * priority
        waiter = Waiter(None, part, self.now, rank)
        able = self.able(part) and not any(one.part == part for one in self.line)
        expected = INSIDE if able else WAITS if len(self.line) < self.queue else FULL

        assert self.room.join(waiter) == expected

        if expected == INSIDE:
            self.inside.append(part)
        elif expected == WAITS:
            self.line.append(waiter)

    @precondition(lambda self: self.inside)
    @rule(data=st.data(), gap=st.integers(0, 30))
    def leave(self, data: st.DataObject, gap: int) -> None:
        self.now += gap
        part = data.draw(st.sampled_from(self.inside))
        self.inside.remove(part)

        woken = self.room.leave(part, self.now, self.room.era)

        assert list(woken) == self.admitted()

    @precondition(lambda self: self.line)
    @rule(data=st.data())
    def quit(self, data: st.DataObject) -> None:
        waiter = data.draw(st.sampled_from(self.line))
        self.line.remove(waiter)

        assert self.room.quit(waiter) == WAITS

    @rule(limit=st.integers(1, 8))
    def resize(self, limit: int) -> None:
        self.limit = limit

        assert list(self.room.resize(limit, self.now)) == self.admitted()

    @rule()
    def retire(self) -> None:
        empty = not self.inside and not self.line

        assert self.room.retire() == int(empty)

        if empty:
            assert self.room.enter(0) == GONE
            self.room.empty()

    @invariant()
    def agree(self) -> None:
        assert (self.room.inside, self.room.waiting) == (len(self.inside), len(self.line))

    def able(self, part: int) -> bool:
        """Whether there is a place for a part."""
        if len(self.inside) >= self.limit:
            return False
        return self.lend or self.inside.count(part) < self.own(part)

    def own(self, part: int) -> int:
        return max(1, (HALF, FIFTH, REST)[part] * self.limit // 1_000_000)

    def admitted(self) -> list[Waiter]:
        """Let in by the rules as they are told: those below their share first, then by rank."""
        found = []
        while ready := [one for one in self.line if self.able(one.part)]:
            below = [one for one in ready if self.inside.count(one.part) < self.own(one.part)]
            chosen = self.next(below or ready)
            self.line.remove(chosen)
            self.inside.append(chosen.part)
            found.append(chosen)
        return found

    def next(self, ready: list[Waiter]) -> Waiter:
        first = min(ready, key=lambda one: (one.rank, self.line.index(one)))
        mine = [one for one in ready if one.part == first.part]
        if self.now - mine[0].moment > self.newest_after:
            return mine[-1]
        return first


class Capped(Rooms):
    """What a part does not use is not lent."""

    lend = False


class Newest(Rooms):
    """The newest go first once the first has waited for long."""

    newest_after = 25


TestLent = Rooms.TestCase
TestCapped = Capped.TestCase
TestNewest = Newest.TestCase
for case in (TestLent, TestCapped, TestNewest):
    case.settings = settings(stateful_step_count=40, deadline=None)


def test_many_who_gave_up_are_not_kept() -> None:
    room = Room(1, FOREVER, FOREVER, (1_000_000,), True)
    room.enter(0)
    waiters = [Waiter(None, 0, moment, moment) for moment in range(1_000)]
    for waiter in waiters:
        room.join(waiter)
    for waiter in waiters[:-1]:
        room.quit(waiter)

    assert room.leave(0, 0, room.era) == [waiters[-1]]
    assert (room.inside, room.waiting) == (1, 0)
