"""Killed at any instruction: a row is as it was before a decision or as it is after, never between.

One change is made, and after every instruction of it the memory is as others would find it if that
had been the last. Each of these states is put before the next one who comes in.
"""

from __future__ import annotations

import mmap
import platform
from collections.abc import Callable, Iterator
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

import headgate
from headgate import FixedWindow, SlidingLog, SlidingWindow, StoreUnavailable, TokenBucket
from headgate.algorithms.limit import Limit
from headgate.stores.flat.ground import shape
from headgate.stores.shared.facts import PAGE
from headgate.stores.shared.store import SharedStore
from tests.stores.stepping import halted, observed, watch

pytestmark = pytest.mark.skipif(
    headgate.COMPILED and platform.machine() != "x86_64",
    reason="walking through instructions is tried on one kind of processor only",
)

NOW = 1_800_000_000_000_000
# A desk begins with the cells of the mutex; then comes the mark.
MARK = 6
CAPACITY = 1
HOUR = 3_600_000_000

Act = Callable[[Any], object]

BUCKET = (TokenBucket("10/s"),)
STRICT = (TokenBucket("2/s", penalty=1),)
LOG = (SlidingLog("5/s"),)
ONE = (TokenBucket("1/h"),)
SEVERAL = (TokenBucket("10/s"), SlidingWindow("10/s"), FixedWindow("7/min"))


class Scene:
    """A shared limiter with a few keys, and the cells of its file, seen from outside."""

    def __init__(self, folder: Path, limits: tuple[Limit, ...], others: int = 40) -> None:
        self.ledger = SharedStore("scene", CAPACITY, str(folder)).open(limits, "api")
        for number in range(others):
            self.ledger.take(f"other:{number}", 1, NOW, 0)
        self.ledger.take("a", 2, NOW, 0)
        path = next(folder.rglob("*.rows"))
        with path.open("r+b") as file:
            self.cells = memoryview(mmap.mmap(file.fileno(), 0))[PAGE:].cast("q")
        _, self.stride, self.desk = shape(limits, CAPACITY)

    def rows(self) -> list[int]:
        """All cells before the desk, but for the row that is only looked at."""
        looked = 17 * self.stride
        return [*self.cells[:looked], *self.cells[looked + self.stride : self.desk]]

    def marked(self) -> bool:
        return self.cells[self.desk + MARK] != 0

    def half_done(self, state: list[int], first: list[int]) -> bool:
        """Whether rows have changed in `state`, and are not to stay so."""
        return state[self.desk + MARK] != 0 and state[: self.desk] != first[: self.desk]

    def watch(self, act: Act) -> list[list[int]]:
        """All cells as they were at first, and each time that `act` had changed one of them."""
        # Bytes are compared after every instruction, which is quicker than lists of numbers.
        found = [self.cells.tobytes()]

        def look() -> None:
            state = self.cells.tobytes()
            if state != found[-1]:
                found.append(state)

        watch(self.ledger, lambda: act(self.ledger), look)
        return [memoryview(state).cast("q").tolist() for state in found]

    def put(self, found: list[int]) -> None:
        """Make memory as it was found."""
        # Not the mutex: the kernel has freed it by then.
        for place, cell in enumerate(found):
            if not self.desk <= place < self.desk + MARK:
                self.cells[place] = cell

    def recover(self, found: list[int]) -> list[int]:
        """Let the next one come in where memory is as it was found; the rows after that."""
        self.put(found)
        look(self.ledger)
        return self.rows()


def take(ledger: Any) -> object:
    return ledger.take("a", 1, NOW, 0)


def take_anew(ledger: Any) -> object:
    return ledger.take("never seen", 1, NOW, 0)


def refuse(ledger: Any) -> object:
    return ledger.take("a", 2, NOW, 0)


def refuse_earlier(ledger: Any) -> object:
    return ledger.take("a", 9, NOW - HOUR, 0)


def look(ledger: Any) -> object:
    return ledger.peek("nobody", 0, NOW)


def debit(ledger: Any) -> object:
    return ledger.charge("a", 3, NOW, NOW)


def forget(ledger: Any) -> object:
    return ledger.forget("a")


def release(ledger: Any) -> object:
    _, memo = ledger.book("a", 1, NOW, 0)
    return ledger.release("a", 1, NOW, NOW, memo)


@pytest.mark.parametrize(
    ("limits", "act", "changes"),
    [
        (BUCKET, take, 1),
        # Sixteen rows for forty keys: somebody is given up for it.
        (BUCKET, take_anew, 1),
        (BUCKET, debit, 1),
        (BUCKET, forget, 1),
        (BUCKET, release, 2),
        (STRICT, refuse, 1),
        # The clock went back: what is refused is written down as of now.
        (BUCKET, refuse_earlier, 1),
        (LOG, take, 1),
        (SEVERAL, take, 1),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_whoever_is_killed_at_any_instruction_leaves_no_row_half_changed(
    tmp_path: Path, limits: tuple[Limit, ...], act: Act, changes: int
) -> None:
    scene = Scene(tmp_path, limits)
    before = scene.rows()
    found = scene.watch(act)
    after = scene.rows()
    recovered = [scene.recover(state) for state in found]

    # Where nothing comes between, a change is seen whole, and once.
    seen = distinct(recovered)
    assert (len(seen), seen[0], seen[-1]) == (changes + 1, before, after)
    # And there was something to put back: what was changed before it was done.
    assert [state for state in found if scene.half_done(state, found[0])]


@pytest.mark.skipif(headgate.COMPILED, reason="so many instructions would take too long")
def test_newcomers_that_have_to_share_a_row_do_not_find_it_half_changed(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ONE, others=0)

    def crowd(ledger: Any) -> object:
        return [ledger.take(f"new:{number}", 1, NOW, 0) for number in range(300)]

    found = scene.watch(crowd)

    # Each of the sixteen rows is taken once, and the one that all others share.
    assert len(distinct([scene.recover(state) for state in found])) == 1 + 17


def test_whoever_is_killed_while_putting_a_row_back_is_followed_by_one_who_does_it_again(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path, BUCKET)
    before = scene.rows()
    found = scene.watch(take)
    half = next(state for state in found if scene.half_done(state, found[0]))
    scene.put(half)

    states = scene.watch(look)

    assert len(states) > 3
    assert distinct([scene.recover(state) for state in states]) == [before]


@pytest.mark.skipif(headgate.COMPILED, reason="compiled, nothing can be raised in the middle")
def test_whoever_is_interrupted_in_the_middle_leaves_no_row_half_changed_and_no_gate_shut(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path, BUCKET)
    other = SharedStore("scene", CAPACITY, str(tmp_path)).open(BUCKET, "api")
    interrupted = 0
    for number in count(1):
        expected = 8 - scene.ledger.peek("a", 0, NOW).remaining
        writes = count(1)

        def raise_at(last: int = number, writes: Iterator[int] = writes) -> None:
            if next(writes) == last:
                raise KeyboardInterrupt

        try:
            with observed(scene.ledger, raise_at):
                take(scene.ledger)
        except KeyboardInterrupt:
            interrupted += 1
        else:
            break
        left = other.take("a", 0, NOW, 0).remaining
        # Undone, or, where it came too late for that, done.
        assert left in {8 - expected, 7 - expected}

    # The copy, the mark, the row, the mark again, and what the time is.
    assert interrupted >= 8


def test_what_is_put_back_is_counted(tmp_path: Path) -> None:
    scene = Scene(tmp_path, BUCKET)
    with halted(scene.ledger, lambda: take(scene.ledger), scene.marked):
        pass

    left = scene.ledger.take("a", 1, NOW, 0).remaining

    # Nobody was told of the decision that was not finished, so it was never made.
    assert (left, scene.ledger.tally()["recovered"]) == (7, 1)


def test_who_reads_a_row_that_was_left_half_changed_finds_it_as_it_was(tmp_path: Path) -> None:
    scene = Scene(tmp_path, BUCKET)
    before = scene.ledger.read("a")
    found = scene.watch(take)
    scene.put(next(state for state in found if scene.half_done(state, found[0])))

    assert scene.ledger.read("a") == before


def test_a_process_stopped_in_the_middle_stops_nobody_for_long(tmp_path: Path) -> None:
    scene = Scene(tmp_path, BUCKET)
    with halted(scene.ledger, lambda: take(scene.ledger), scene.marked) as resume:
        with pytest.raises(StoreUnavailable) as caught:
            scene.ledger.take("a", 1, NOW, 0)
        resume()

    path = next(tmp_path.rglob("*.rows"))
    assert str(caught.value) == (
        f"{path}: no way in within 0.9 s; the process that is inside is stopped, or the machine is "
        "overloaded"
    )
    assert caught.value.kind == "timeout"
    # The one that was stopped has gone on to its end, and is counted like any other.
    assert scene.ledger.take("a", 1, NOW, 0).remaining == 6


def distinct(states: list[list[int]]) -> list[list[int]]:
    """The states in their order, those that stay the same told once."""
    return [states[0], *(later for earlier, later in pairwise(states) if earlier != later)]
