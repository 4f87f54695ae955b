"""Board: counters of several processes in one file that all of them map.

Each process writes on a page of its own and nowhere else, so that nobody waits for anybody. When a
process has ended, however it did, the next one who comes adds its page to the past, of which there
are two: the sums are written on the one that does not count, with the word which pages they hold
already, and then one number says that it is the other now. Whoever is killed in the middle has
done it or has not. So what was counted stays counted, and a sum never goes back.

Where a counter stands is the same on all pages, and told by a directory that all share. All of it
is as large as it will ever be from the start: what finds no place any more is counted by its own
process alone.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Iterator
from typing import Any

from headgate.errors import HeadgateError
from headgate.fork import follow
from headgate.permits.shared.census import Census
from headgate.permits.shared.latch import Latch
from headgate.stores.shared.deed import Bolt, discard
from headgate.stores.shared.facts import PAGE, boot
from headgate.stores.shared.facts import read as facts
from headgate.stores.shared.segment import Segment
from headgate.stores.shared.store import home, named

logger = logging.getLogger("headgate")

VERSION = "1"
FILE = "board"
# So many processes have a page, so many counters a place, and so many cells there are for them.
PAGES = 48
SPARE = 16
ENTRIES = 1024
CELLS = 8192
# A line of the directory: where it begins, how many cells it has, and its name.
LINE = 32
NAMED = 3
LONGEST = (LINE - NAMED) * 8
# At the head: how often the past changed, which tells which of the two counts; how many lines there
# are, and how many cells they take.
TURNS, LINES, USED, HEAD = 0, 1, 2, 8
# At the head of a page: how often it was given away, and to whom.
LEASE, OWNER, MARGIN = 0, 1, 8


class Board:
    """The counters in the file at `path`, for at most so many processes at once."""

    def __init__(self, path: str, pages: int = PAGES, census: Census | None = None) -> None:
        self.path = path
        self._pages = pages
        self._census = Census() if census is None else census
        said = {
            "version": VERSION,
            "boot": boot(),
            "namespaces": self._census.world(),
            "pages": str(pages),
        }
        self._directory = HEAD
        self._past = HEAD + ENTRIES * LINE
        self._first = self._past + 2 * (pages + CELLS)
        segment = Segment(path, said, 1, self._first + pages * (MARGIN + CELLS))
        (plot,) = segment.plots
        # The mapping keeps the file; the deed tells others that somebody does.
        self._cells, self._deed = plot.block, plot.deed
        self._bolt = Bolt(plot.deed)
        self._latch = Latch(path, self._bolt)
        segment.admit()
        self._names: list[tuple[str, int, int]] = []
        self._page = -1
        follow(self, Board._fork)

    @classmethod
    def of(cls, name: str) -> Board:
        """The board of the shared store of that name."""
        return cls(os.path.join(home(named(name, "Board"), None), FILE))

    def row(self, name: str, length: int) -> Any:
        """The cells of a counter on the page of this process; None if there is no place left."""
        with self._latch:
            if self._page < 0:
                self._page = self._join()
            if self._page < 0:
                return None
            line = self._find(name, length)
        if line is None:
            return None
        start = self._page + MARGIN + line[1]
        return self._cells[start : start + length]

    def read(self) -> dict[str, list[int]]:
        """All counters, each the sum of what all processes have counted, also those that ended."""
        while True:
            turns = self._cells[TURNS]
            leases = [self._cells[page + LEASE] for page in self._every()]
            found = self._sum(turns, leases)
            again = [self._cells[page + LEASE] for page in self._every()]
            if (self._cells[TURNS], again) == (turns, leases):
                break
        self._look()
        # One that has come meanwhile is not among them yet.
        return {
            name: found[at : at + length]
            for name, at, length in self._names
            if at + length <= len(found)
        }

    def remove(self) -> None:
        """Delete the file; who has it open goes on with it."""
        try:
            os.unlink(self.path)
        except OSError:
            return

    def _sum(self, turns: int, leases: list[int]) -> list[int]:
        # The past that counts, and the pages that are not in it.
        cells, used = self._cells, self._cells[USED]
        past = self._past + (turns & 1) * (self._pages + CELLS)
        found: list[int] = cells[past + self._pages : past + self._pages + used].tolist()
        for number, page in enumerate(self._every()):
            if leases[number] > cells[past + number]:
                more = cells[page + MARGIN : page + MARGIN + used].tolist()
                found = [one + two for one, two in zip(found, more, strict=True)]
        return found

    def _every(self) -> Iterator[int]:
        # Where the pages begin.
        for number in range(self._pages):
            yield self._first + number * (MARGIN + CELLS)

    def _join(self) -> int:
        # A page for this process, after those of the dead were added to the past; -1 if all are
        # taken.
        me, cells, free = self._census.myself(), self._cells, -1
        for number, page in enumerate(self._every()):
            owner = cells[page + OWNER]
            if owner and not self._census.lives(owner):
                self._fold(number, page)
                owner = 0
            if not owner and free < 0:
                free = page
        if free >= 0:
            cells[free + LEASE] += 1
            cells[free + OWNER] = me
        return free

    def _fold(self, number: int, page: int) -> None:
        # Add a page to the past, and clear it.
        cells, wide = self._cells, self._pages + CELLS
        turns = cells[TURNS]
        old, new = self._past + (turns & 1) * wide, self._past + (turns + 1 & 1) * wide
        if cells[page + LEASE] > cells[old + number]:
            cells[new : new + wide] = cells[old : old + wide]
            for place in range(cells[USED]):
                cells[new + self._pages + place] += cells[page + MARGIN + place]
            cells[new + number] = cells[page + LEASE]
            cells[TURNS] = turns + 1
        for place in range(page + MARGIN, page + MARGIN + cells[USED]):
            cells[place] = 0
        cells[page + OWNER] = 0

    def _find(self, name: str, length: int) -> tuple[str, int, int] | None:
        # The line of a counter, written if there is none; None if it finds no place.
        self._look()
        known = next((line for line in self._names if line[0] == name), None)
        if known is not None:
            return known if known[2] == length else None
        said, cells = name.encode("utf-8", "replace"), self._cells
        lines, used = cells[LINES], cells[USED]
        if lines >= ENTRIES or used + length > CELLS or len(said) > LONGEST:
            return None
        at = self._directory + lines * LINE
        cells[at], cells[at + 1], cells[at + 2] = used, length, len(said)
        cells[at + NAMED : at + LINE] = memoryview(said.ljust(LONGEST, b"\0")).cast("q")
        cells[USED] = used + length
        cells[LINES] = lines + 1
        self._look()
        return self._names[len(self._names) - 1]

    def _look(self) -> None:
        # Read the lines that were written since.
        for number in range(len(self._names), self._cells[LINES]):
            at = self._directory + number * LINE
            start, length, size = self._cells[at : at + NAMED].tolist()
            said = self._cells[at + NAMED : at + LINE].tobytes()[:size]
            self._names.append((said.decode("utf-8", "replace"), start, length))

    def _fork(self) -> None:
        # The page is the parent's.
        self._latch.renew()
        self._page = -1


def fresh(title: str, workers: int = 1) -> Board | None:
    """A new board for so many that nobody else knows of yet; None where there can be none."""
    try:
        folder = home(named("boards", "Board"), None)
        for left in os.listdir(folder):
            # Whoever made it was killed, unless somebody has it open.
            discard(os.path.join(folder, left))
        path = os.path.join(folder, f"{title}-{os.getpid()}-{secrets.token_hex(4)}")
        # Nobody who takes the place of another has to wait for a page.
        return Board(path, max(PAGES, workers + SPARE))
    except (HeadgateError, OSError) as problem:
        logger.warning("what is counted is lost with the process that did: %s", problem)
        return None


def paged(path: str) -> int:
    """How many pages the board in a file has; as many as usual if it does not say."""
    try:
        with open(path, "rb") as file:
            said = facts(file.read(PAGE)).get("pages", "")
    except OSError:
        return PAGES
    return int(said) if said.isdecimal() and said.isascii() else PAGES


def pinned(path: str) -> Board | None:
    """The board in that file; None where there is none, and what is counted stays here alone."""
    if not path:
        return None
    try:
        return Board(path, paged(path))
    except (HeadgateError, OSError) as problem:
        logger.warning("what is counted is known to this process alone: %s", problem)
        return None
