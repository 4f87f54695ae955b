"""The book: who of this process is inside, and what the server has still to be told about them.

What is asked of a server is told as flows, so that it serves both colours. What is kept up, and
what nobody waits for any more, is asked by whoever calls `renew` and `tidy`: the warden's thread.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
import uuid
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

from headgate.drive import Flow
from headgate.errors import StoreUnavailable
from headgate.permits.redis.entry import Entry, Move, State
from headgate.permits.redis.methods import Method
from headgate.stores.redis.wire import Question

# Orphans are given up after so many tries that met nobody: by then their ttl is over.
TRIES = 12

logger = logging.getLogger("headgate")

# Puts questions to a server; answers what was made of each reply, or the problem in its place.
Ask = Callable[[list[Question], Callable[[bytes], Any]], list[Any]]


class Put(NamedTuple):
    """Put a question to the server; answered by what `read` makes of the reply.

    Whoever does not wait for the reply says so by `gone`, and has `late` told of it: of the answer,
    or of the problem. Where the loop ends before that, nobody is.
    """

    question: Question
    read: Callable[[bytes], Any]
    late: Callable[[Any], object]
    gone: Callable[[], object]


class Guard(Protocol):
    """Who looks after a book: `tend` has it begin, `ring` come at once."""

    def tend(self) -> None: ...
    def ring(self) -> None: ...


class Book:
    """Who is inside, and what they hold kept up by `guard`."""

    def __init__(self, method: Method, title: str, guard: Guard) -> None:
        self.method = method
        self.title = title
        self.guard = guard
        self.words = itertools.count(1)
        self.empty()
        BOOKS.add(self)

    def empty(self) -> None:
        """Begin anew: what is written here is a parent's, and nobody has the lock."""
        self.lock = threading.Lock()
        self.zombies = 0
        self.name = uuid.uuid4().hex[:16]
        self.pages: dict[str, dict[str, Entry]] = {}
        self.orphans: list[Entry] = []
        self.moves: list[Move] = []
        # Where those are counted who enter now, for a method that has such places.
        self.place = self._word()

    @property
    def idle(self) -> bool:
        """Whether there is nothing to be looked after."""
        return not (self.pages or self.orphans or self.moves)

    def enter(self, key: str) -> Flow[str | None]:
        """A ticket, if there is a place."""
        entry = Entry(key, self._word(), self.place)
        late = partial(self._late, entry)
        try:
            place = yield Put(
                self.method.enter(entry), self.method.entered, late, partial(self._gone, entry)
            )
        except StoreUnavailable as problem:
            if problem.unknown:
                self._doubt(entry)
            raise
        return self._arrive(entry, place)

    def leave(self, key: str, ticket: str) -> Flow[bool]:
        """Give a place back; False if it was lost."""
        with self.lock:
            entry = self.pages.get(key, {}).get(ticket)
            if entry is None or entry.state is not State.HELD:
                return False
            if entry.moving:
                # What overtakes a move may be undone by it, so it is given back after that.
                self._disown(entry)
                return True
            entry.state = State.LEAVING
        late = partial(self._left, entry)
        try:
            answer = yield Put(
                self.method.leave(entry), self.method.left, late, partial(self._gone, entry)
            )
        except StoreUnavailable as problem:
            self._left(entry, problem)
            self.guard.ring()
            return True
        return self._left(entry, answer)

    def drop(self, key: str, ticket: str) -> None:
        """Make an orphan of one who is inside, and have it given back."""
        with self.lock:
            entry = self.pages.get(key, {}).get(ticket)
            if entry is None or entry.state is not State.HELD:
                return
            self._disown(entry)
        self.guard.ring()

    def inside(self, key: str) -> Flow[int]:
        """How many are inside."""
        asked = self.method.tongue.ask(b"inside", key)
        count: int = yield Put(asked, self.method.count, ignore, ignore)
        return count

    def renew(self, ask: Ask) -> None:
        """Keep up the permits of all who are inside."""
        with self.lock:
            self.place = self._word()
            for key, page in self.pages.items():
                kept = [one for one in page.values() if one.state in self.method.moved]
                kept = [one for one in kept if not one.moving]
                self.moves += self.method.moves(key, kept, self._word()) if kept else []
                for entry in kept:
                    entry.moving = True
            moves = list(self.moves)
        told = [self.method.tongue.ask(b"renew", *move.said) for move in moves]
        answers = ask(told, self.method.renewed)
        for move, answer in zip(moves, answers, strict=True):
            self._settle(move, answer)

    def tidy(self, ask: Ask) -> None:
        """Give back what nobody has any more."""
        with self.lock:
            ready = [entry for entry in self.orphans if not entry.moving]
            self.orphans = [entry for entry in self.orphans if entry.moving]
        answers = ask([self.method.leave(entry) for entry in ready], self.method.left)
        for entry, answer in zip(ready, answers, strict=True):
            self._left(entry, answer)
        with self.lock:
            if not self.orphans:
                OWING.discard(self)

    def surrender(self, ask: Ask) -> None:
        """Give back what is left of it: what is being moved first has to be known to be."""
        if self.moves:
            self.renew(ask)
        self.tidy(ask)

    def abandon(self) -> None:
        """Make orphans of all who are inside."""
        with self.lock:
            for page in self.pages.values():
                for entry in page.values():
                    if entry.state is State.HELD:
                        self._disown(entry)

    def report(self, count: int) -> None:
        """So many have outlived their permits."""
        if count:
            with self.lock:
                self.zombies += count
            logger.warning(
                "%s: %d inside outlived %s, and others may have been let in instead", self.title,
                count, "its permit" if count == 1 else "their permits",
            )  # fmt: skip

    def _arrive(self, entry: Entry, place: Any) -> str | None:
        # A fork in the middle of the call leaves the permit to the parent.
        if place is None or not entry.ticket.startswith(self.name):
            return None
        with self.lock:
            entry.place = place or entry.place
            self.pages.setdefault(entry.key, {})[entry.ticket] = entry
        try:
            self.guard.tend()
        except BaseException:
            # Nobody has a ticket, so it is given back by whoever looks after the book next.
            self._orphan(entry)
            raise
        return entry.ticket

    def _late(self, entry: Entry, place: Any) -> None:
        # Whoever asked has gone: if it was let in, nobody has that permit.
        if isinstance(place, StoreUnavailable):
            self._doubt(entry)
        elif self._arrive(entry, place):
            self._orphan(entry)
            self.guard.ring()

    def _gone(self, entry: Entry) -> None:
        # By name it can be given back although nobody knows; the others wait for the answer.
        if self.method.again:
            self._doubt(entry)

    def _doubt(self, entry: Entry) -> None:
        # Nobody knows whether it was let in. By name, it can be given back in any case; a number
        # that may be wrong is no longer added to, and so ends with its time.
        self.place = self._word()
        if self.method.again:
            entry.doubt = entry.reported = True
            self._orphan(entry)
            self.guard.ring()

    def _orphan(self, entry: Entry) -> None:
        with self.lock:
            self._disown(entry)

    def _disown(self, entry: Entry) -> None:
        entry.state = State.ORPHAN
        self.orphans.append(entry)
        OWING.add(self)

    def _left(self, entry: Entry, found: bool | StoreUnavailable) -> bool:
        # What became of a leave.
        if isinstance(found, StoreUnavailable):
            self._failed(entry, found.unknown)
            return True
        if entry.doubt and not found:
            # It may have overtaken what it undoes: once more, a while later.
            entry.doubt = False
            self._orphan(entry)
            return False
        self._strike(entry)
        self.report(not found and not entry.reported)
        return found

    def _failed(self, entry: Entry, unknown: bool) -> None:
        # The server may have heard of the leave, or not; if it has, it will not find it again.
        entry.tries += 1
        entry.reported = entry.reported or unknown
        if (unknown and not self.method.again) or entry.tries > TRIES:
            self.place = self._word()
            self._strike(entry)
        else:
            self._orphan(entry)

    def _strike(self, entry: Entry) -> None:
        with self.lock:
            entry.state = State.GONE
            page = self.pages.get(entry.key)
            if page is not None and page.pop(entry.ticket, None) is not None and not page:
                del self.pages[entry.key]

    def _settle(self, move: Move, answer: Any) -> None:
        # What became of a move. One that may be done and is told again is not done twice.
        unknown = isinstance(answer, StoreUnavailable)
        if unknown and not self.method.again:
            return
        with self.lock:
            self.moves = [other for other in self.moves if other is not move]
            fresh = 0 if unknown else self.method.settle(move, answer)
            for entry in move.entries:
                entry.moving = False
        self.report(fresh)

    def _word(self) -> str:
        return f"{self.name}:{next(self.words)}"


def ignore(answer: Any = None) -> None:
    """Nobody waits for it."""


BOOKS: weakref.WeakSet[Book] = weakref.WeakSet()
# Those with something to give back are kept, though nobody else may have them any more.
OWING: set[Book] = set()


def renew() -> None:
    """In a forked child nobody is inside: those in the book are its parent's."""
    OWING.clear()
    for book in BOOKS:
        book.empty()


os.register_at_fork(after_in_child=renew)
