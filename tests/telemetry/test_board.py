"""Several processes count on one board, and nothing is lost with one of them."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from headgate.permits.shared.census import Census
from headgate.rules import Gatekeeper, Request, Rule, Rules
from headgate.rules.live.tally import NAMES
from headgate.telemetry import board
from headgate.telemetry.board import Board, fresh, pinned
from headgate.telemetry.counters import Counters
from headgate.telemetry.docket import Docket
from headgate.telemetry.meter import ANSWERS
from headgate.telemetry.slate import Slate
from headgate.telemetry.survey import survey


class Village(Census):
    """Processes that live until it is said that they do not."""

    def __init__(self, me: int, dead: set[int]) -> None:
        self.me = me
        self.dead = dead

    def myself(self) -> int:
        return self.me

    def lives(self, owner: int) -> bool:
        return owner not in self.dead


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "board")


def test_a_sum_is_of_all_who_count(place: str) -> None:
    dead: set[int] = set()
    boards = [Board(place, 4, Village(me, dead)) for me in (1, 2, 3)]
    for number, one in enumerate(boards, 1):
        row = one.row("rule:api", 2)
        row[0] += number
        row[1] += 10

    assert [one.read() for one in boards] == [{"rule:api": [6, 30]}] * 3


def test_what_the_dead_have_counted_stays(place: str) -> None:
    dead: set[int] = set()
    reader = Board(place, 2, Village(9, dead))
    for me in range(1, 8):
        # Two have a page at a time; who comes finds that of somebody who is dead.
        Board(place, 2, Village(me, dead)).row("rule:api", 1)[0] += me
        before = reader.read()
        dead.add(me)
        assert reader.read() == before

    assert reader.read() == {"rule:api": [28]}


@pytest.mark.parametrize("fatal", range(1, 12))
def test_who_is_killed_in_the_middle_of_adding_up_has_done_it_or_not(
    place: str, fatal: int
) -> None:
    dead: set[int] = set()
    for me in (1, 2):
        Board(place, 4, Village(me, dead)).row("rule:api", 1)[0] += me
    dead |= {1, 2}
    third = Board(place, 4, Village(3, dead))
    third._cells = Fragile(third._cells, fatal)
    try:
        third.row("rule:api", 1)
        done = True
    except Killed:
        done = False
    dead.add(3)

    again = Board(place, 4, Village(4, dead))
    assert done or again.read() == {"rule:api": [3]}
    again.row("rule:api", 1)[0] += 4
    assert again.read() == {"rule:api": [7]}


class Killed(Exception):
    """The end of a process."""


class Fragile:
    """Cells whose owner is killed before it writes for the so-and-so-many-th time."""

    def __init__(self, cells: Any, fatal: int) -> None:
        self.cells = cells
        self.left = fatal

    def __getitem__(self, place: Any) -> Any:
        return self.cells[place]

    def __setitem__(self, place: Any, value: Any) -> None:
        self.left -= 1
        if self.left == 0:
            raise Killed
        self.cells[place] = value


def test_a_process_that_is_killed_leaves_what_it_counted(place: str) -> None:
    mine = Board(place)
    mine.row("rule:api", 1)[0] += 1
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        mine.row("rule:api", 1)[0] += 5
        os.write(told, b"x")
        signal.pause()
        os._exit(0)
    os.read(ready, 1)
    before = mine.read()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)

    assert before == mine.read() == {"rule:api": [6]}
    Board(place).row("rule:api", 1)[0] += 1
    assert mine.read() == {"rule:api": [7]}


def test_a_file_that_is_no_board_is_made_anew(place: str) -> None:
    Path(place).write_bytes(b"not a board at all\n" * 1000)

    Board(place).row("rule:api", 1)[0] += 1

    assert Board(place).read() == {"rule:api": [1]}


def test_a_file_that_is_no_file_is_said_and_nothing_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert pinned(str(tmp_path)) is None
    assert pinned("") is None
    assert caplog.messages == [
        f"what is counted is known to this process alone: {tmp_path}: Is a directory"
    ]


def test_a_board_that_is_full_has_no_place_for_more(place: str) -> None:
    dead: set[int] = set()
    first, second, third = (Board(place, 2, Village(me, dead)) for me in (1, 2, 3))

    assert first.row("much", board.CELLS - 1) is not None
    assert first.row("little", 2) is None
    assert first.row("n" * 1000, 1) is None
    assert first.row("least", 1) is not None
    assert second.row("least", 1) is not None
    # There are two pages.
    assert third.row("least", 1) is None
    assert set(third.read()) == {"much", "least"}


def test_a_fresh_board_is_nobody_elses_and_clears_up_after_the_dead() -> None:
    left = fresh("gateway")
    assert left is not None
    path = left.path
    del left

    other = fresh("gateway")

    assert other is not None
    assert not os.path.exists(path)
    other.remove()
    assert not os.path.exists(other.path)


def test_a_slate_is_a_board_for_one() -> None:
    slate = Slate()
    slate.row("rule:api", 2)[1] += 3

    assert slate.row("rule:api", 2)[1] == 3
    assert slate.read() == {"rule:api": [0, 3]}


class Hasty(Board):
    """A board on which somebody writes one more line while it is read."""

    other: Board

    def _sum(self, turns: int, leases: list[int]) -> list[int]:
        found = super()._sum(turns, leases)
        self.other.row("rule:later", 12)
        return found


def test_a_counter_that_comes_while_a_board_is_read_is_there_whole_or_not_at_all(
    place: str,
) -> None:
    board = Hasty(place)
    board.other = Board(place)
    board.other.row("rule:api", 12)[0] += 3

    assert board.read() == {"rule:api": [3, *[0] * 11]}
    assert board.read() == {"rule:api": [3, *[0] * 11], "rule:later": [0] * 12}


def test_a_board_has_a_page_for_each_of_many_workers() -> None:
    board = fresh("gateway", 60)
    assert board is not None
    try:
        found = pinned(board.path)
        assert found is not None
        assert found._pages == board._pages >= 60
        found.row("rule:api", 1)[0] += 1
        assert board.read() == {"rule:api": [1]}
    finally:
        board.remove()


def test_what_finds_no_place_is_seen_by_whoever_counts_it(place: str) -> None:
    dead: set[int] = set()
    row = Board(place, 1, Village(1, dead)).row("rule:api", len(NAMES))
    row[NAMES.index("allowed")] += 5
    counters = Counters(Board(place, 1, Village(2, dead)))
    keeper = Gatekeeper(
        Rules([Rule("api", limit="9/min"), Rule("other", match={"path": "/x"}, limit="1/s")])
    )
    counters.furnish(keeper.lodge)
    counters.meter("route:shop", ANSWERS).note(200, 1)
    keeper.enter(Request("GET", "/"))

    found = survey(keeper, "gateway", counters, Docket(keeper.lodge.clock))
    assert found["rules"]["api"]["allowed"] == 6
    assert found["routes"]["shop"]["requests"] == 1
