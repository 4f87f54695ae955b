"""Permits against a dictionary: whatever processes do and however they end, both agree."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headgate import StoreUnavailable
from headgate.permits.shared.permits import SharedPermits
from headgate.permits.shared.roll import COUNT, OWNER, WIDTH
from tests.permits.village import Village

LIMIT = 3
# So few that keys meet, and sometimes do not fit.
CAPACITY = 3
KEYS = [f"key:{number}" for number in range(6)]
PIDS = [1, 2, 3]


class Inn(RuleBasedStateMachine):
    """Processes come, go in and out, and end; numbers are used again."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.village = Village()
        # Somebody has it open throughout.
        self.keeper = self.open(99)
        self.open_by: dict[int, SharedPermits] = {}
        self.held: dict[int, list[tuple[str, int]]] = {}
        # Kept: the dead have the file open in this process of ours.
        self.gone: list[SharedPermits] = []

    def open(self, pid: int) -> SharedPermits:
        permits = self.village.permits(Path(self.folder.name), pid, LIMIT, CAPACITY)
        # Their homes are these, and not left to chance: what fails once fails again.
        permits._marks.update({key: (number // 2, number) for number, key in enumerate(KEYS)})
        return permits

    def inside(self, key: str) -> int:
        return sum(held == key for held, _ in self.all_held())

    def all_held(self) -> list[tuple[str, int]]:
        return [pair for held in self.held.values() for pair in held]

    def rows(self) -> int:
        """How many rows the living need."""
        return sum(len({key for key, _ in held}) for held in self.held.values())

    @rule(pid=st.sampled_from(PIDS))
    def begin(self, pid: int) -> None:
        """A process begins; if one of that number was there, it has ended."""
        if pid in self.open_by:
            self.gone.append(self.open_by.pop(pid))
        self.open_by[pid] = self.open(pid)
        self.held[pid] = []

    @precondition(lambda self: self.open_by)
    @rule(data=st.data())
    def kill(self, data: st.DataObject) -> None:
        pid = data.draw(st.sampled_from(sorted(self.open_by)))
        self.gone.append(self.open_by.pop(pid))
        del self.held[pid]
        self.village.gone(pid)

    @precondition(lambda self: self.open_by)
    @rule(data=st.data(), key=st.sampled_from(KEYS))
    def enter(self, data: st.DataObject, key: str) -> None:
        pid = data.draw(st.sampled_from(sorted(self.open_by)))
        room = self.inside(key) < LIMIT
        known = any(held == key for held, _ in self.held[pid])
        ticket = None
        crowded = False
        try:
            ticket = self.open_by[pid].enter(key)
        except StoreUnavailable:
            crowded = True
        if crowded:
            # Only where there are as many rows as were asked for.
            assert (room, known, self.rows() >= CAPACITY) == (True, False, True)
        else:
            assert (ticket is not None) == room
        if ticket is not None:
            self.held[pid].append((key, ticket))

    @precondition(lambda self: self.all_held())
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        pid = data.draw(st.sampled_from(sorted(pid for pid in self.held if self.held[pid])))
        key, ticket = data.draw(st.sampled_from(self.held[pid]))
        self.held[pid].remove((key, ticket))

        answers = [self.open_by[pid].leave(key, ticket) for _ in range(2)]
        assert answers == [True, False]

    @precondition(lambda self: self.open_by)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        pid = data.draw(st.sampled_from(sorted(self.open_by)))
        self.open_by.pop(pid).close()
        del self.held[pid]

    @invariant()
    def agree(self) -> None:
        counted = Counter(key for key, _ in self.all_held())
        expected = {key: counted[key] for key in KEYS}
        assert {key: self.keeper.inside(key) for key in KEYS} == expected

    @invariant()
    def rows_are_found(self) -> None:
        """No row that counts stands behind one that was never used, seen from its home."""
        roll = self.keeper._roll
        assert roll is not None
        cells = roll.cells
        assert cells[roll.last + OWNER] == 0
        for row in range(0, len(cells), WIDTH):
            if cells[row + COUNT] > 0:
                home = cells[row] % roll.homes * WIDTH
                assert all(cells[way + OWNER] for way in range(home, row + WIDTH, WIDTH))

    def teardown(self) -> None:
        for permits in [*self.open_by.values(), *self.gone, self.keeper]:
            permits.close()
        self.folder.cleanup()


Inn.TestCase.settings = settings(max_examples=settings().max_examples // 2, stateful_step_count=30)
TestInn = Inn.TestCase
