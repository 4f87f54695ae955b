"""Counters: where all that one process counts lies: on a board that several share, or by itself.

    counters = Counters(Board.of("web"))
    counters.furnish(keeper.lodge)

A forked child begins on a page of its own, with its first decision. Where there is no place on the
board, it is said once in the log, and what is counted then is known to its own process alone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from headgate.errors import StoreUnavailable
from headgate.fork import follow
from headgate.rules.live.tally import NAMES
from headgate.telemetry.board import Board
from headgate.telemetry.meter import CHECKS, Meter
from headgate.telemetry.slate import Slate
from headgate.telemetry.summits import Summits

logger = logging.getLogger("headgate")

# What stands before the names of counters.
RULE, ROUTE, STORE = "rule:", "route:", "store"


class Counters:
    """The tallies of lodges and meters by their names, in the cells of a board."""

    def __init__(self, board: Board | Slate | None = None) -> None:
        self.board = Slate() if board is None else board
        self.summits = Summits()
        self._lodges: list[Any] = []
        self._meters: dict[str, Meter] = {}
        self._warned = False
        follow(self, Counters._fork)

    def furnish(self, lodge: Any) -> None:
        """Have the tallies of these rules lie here, and those of all that come after them."""
        self._lodges.append(lodge)
        lodge.furnish(self._place)

    def meter(self, name: str, bounds: Sequence[float]) -> Meter:
        """The meter of that name."""
        found = self._meters.get(name)
        if found is None:
            found = self._meters[name] = Meter(bounds)
            self._lay(name, found)
        return found

    def attend(self) -> None:
        """Have stores on servers tell how long they take, as soon as there are any."""
        for lodge in self._lodges:
            watch = lodge.shelf.watch
            if watch is not None and watch.meter is None:
                watch.meter = self.meter(STORE, CHECKS)

    def read(self) -> dict[str, list[int]]:
        """All that was counted, by all who share the board, and what has no place on it here."""
        found = self.board.read()
        for name, own in self._own():
            known = found.get(name, [0] * len(own))
            found[name] = [one + two for one, two in zip(known, own, strict=True)]
        return found

    def _own(self) -> Iterator[tuple[str, list[int]]]:
        for name, meter in self._meters.items():
            if not meter.placed:
                yield name, meter.read()
        for lodge in (each for one in self._lodges for each in one.lodges):
            for ruling in lodge.rulings:
                if not ruling.tally.placed:
                    yield RULE + ruling.name, ruling.tally.read()

    def _place(self, rule: str) -> Any:
        # The cells of a rule.
        return self._row(RULE + rule, len(NAMES))

    def _lay(self, name: str, meter: Meter) -> None:
        row = None if meter.placed else self._row(name, meter.length)
        if row is not None:
            meter.move(row)

    def _row(self, name: str, length: int) -> Any:
        try:
            found = self.board.row(name, length)
        except StoreUnavailable as problem:
            self._warn(str(problem))
            return None
        if found is None:
            self._warn("there is no place left on the board")
        return found

    def _warn(self, reason: str) -> None:
        if not self._warned:
            self._warned = True
            logger.warning("what is counted is known to this process alone: %s", reason)

    def _fork(self) -> None:
        # The cells are the parent's, who goes on counting there.
        if isinstance(self.board, Slate):
            self.board = Slate()
        for meter in self._meters.values():
            meter.leave()
        for lodge in self._lodges:
            lodge.leave()
            for each in lodge.lodges:
                each.rouse(self._settle)

    def _settle(self) -> None:
        for name, meter in self._meters.items():
            self._lay(name, meter)
        for lodge in self._lodges:
            lodge.furnish(self._place)
