"""The switchboard: idle lines by server, for as many callers at once as there may be lines."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from typing import Any

from headgate.clock import SystemClock
from headgate.stores.redis.line import Line
from headgate.stores.redis.place import Place
from headgate.stores.redis.wire import Question, unreached

Spot = tuple[str, int, str]


class Switchboard:
    """Idle lines by server: who calls gets one for the length of a call, up to `most` of each."""

    def __init__(self, clock: SystemClock, budget: float, most: int) -> None:
        self.clock = clock
        self.budget = budget
        self.most = most
        self.idle: dict[Spot, deque[Line]] = {}
        self.era = 0
        self.renew()
        BOARDS.add(self)
        weakref.finalize(self, hang_up, self.idle)

    def renew(self) -> None:
        """Start without any line: a forked child must not speak on its parent's."""
        hang_up(self.idle)
        self.era += 1
        self.open: dict[Spot, int] = {}
        self.waiting = 0
        self.free = threading.Condition()
        # One search for who is who at a time; here, because a forked child needs a new one.
        self.finding = threading.Lock()

    def ask(self, place: Place, question: Question, full: bool, asking: bool, deadline: int) -> Any:
        """The reply of a server to a question."""
        line = self._pick(place, deadline)
        try:
            return line.ask(question, full, asking, deadline)
        finally:
            self._lay(line)

    def ask_many(self, place: Place, questions: list[Question], deadline: int) -> list[Any]:
        """The replies of a server to many questions."""
        line = self._pick(place, deadline)
        try:
            return line.ask_many(questions, deadline)
        finally:
            self._lay(line)

    def tell(self, place: Place, payload: bytes, replies: int, deadline: int) -> list[Any]:
        """The replies of a server to plain commands."""
        line = self._pick(place, deadline)
        try:
            return line.tell(payload, replies, deadline)
        finally:
            self._lay(line)

    def close(self) -> None:
        """Hang up every idle line."""
        for spot in list(self.idle):
            while (line := self._idle(spot)) is not None:
                self._drop(line, spot)

    def _pick(self, place: Place, deadline: int) -> Line:
        # An idle line is had without a lock: taking from a deque is one step.
        spot = (place.host, place.port, place.path)
        while True:
            line = self._idle(spot)
            if line is None:
                line = self._more(place, spot, deadline)
            elif not line.quiet:
                self._drop(line, spot)
                continue
            if line is not None:
                return line

    def _idle(self, spot: Spot) -> Line | None:
        idle = self.idle.get(spot)
        if not idle:
            return None
        try:
            return idle.pop()
        except IndexError:
            return None

    def _more(self, place: Place, spot: Spot, deadline: int) -> Line | None:
        # A new line, or one that somebody lays down while we wait for it.
        with self.free:
            if self.open.get(spot, 0) >= self.most:
                self.waiting += 1
                left = max(0, deadline - self.clock.now()) / 1e6
                freed = bool(self.idle.get(spot)) or self.free.wait(left)
                self.waiting -= 1
                if freed:
                    return None
                raise unreached(place, f"all {self.most} lines are busy")
            self.open[spot] = self.open.get(spot, 0) + 1
        try:
            return Line(place, self.clock, self.budget, deadline, self.era)
        except BaseException:
            self._gone(spot)
            raise

    def _lay(self, line: Line) -> None:
        if line.era != self.era:
            # Forked in the middle of a call: the line is the parent's.
            line.close()
            return
        if line.closed:
            self._gone(line.spot)
            return
        idle = self.idle.get(line.spot)
        if idle is None:
            idle = self.idle.setdefault(line.spot, deque())
        idle.append(line)
        if self.waiting:
            with self.free:
                self.free.notify_all()

    def _drop(self, line: Line, spot: Spot) -> None:
        line.close()
        self._gone(spot)

    def _gone(self, spot: Spot) -> None:
        with self.free:
            self.open[spot] = max(0, self.open.get(spot, 0) - 1)
            self.free.notify_all()


def hang_up(idle: dict[Spot, deque[Line]]) -> None:
    """Close lines that nobody speaks on."""
    while idle:
        for line in idle.popitem()[1]:
            line.close()


BOARDS: weakref.WeakSet[Switchboard] = weakref.WeakSet()


def renew() -> None:
    """Give every switchboard of a forked child lines of its own."""
    for board in BOARDS:
        board.renew()


os.register_at_fork(after_in_child=renew)
