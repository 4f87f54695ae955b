"""The warden: keeps up what a process has of the permits on a server, from a thread of its own.

One thread for all permits of a server that are lent for the same time, with a connection of its
own, so that neither a busy event loop nor a long queue of questions lets them lapse. It is there
only while something is held, and does not keep alive what nobody else has.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

from headgate.clock import SystemClock
from headgate.errors import StoreUnavailable
from headgate.permits.redis.book import Book
from headgate.stores.redis.place import Route
from headgate.stores.redis.store import RedisStore
from headgate.stores.redis.wire import Question

# Seconds that a round may wait for a server: half of its period, between these.
LEAST, MOST = 0.05, 5.0
# After a round that met nobody, the next one comes so many times as soon.
HASTE = 4

logger = logging.getLogger("headgate")


class Warden:
    """Looks after the books of one server every `period` microseconds.

    One that does not `walk` has no thread: its rounds are made by hand, as its clock is moved.
    """

    def __init__(self, route: Route, period: int, walk: bool) -> None:
        self.store = RedisStore(route, min(MOST, max(LEAST, period / 2e6)), 2)
        self.period = period
        self.walk = walk
        self.clock = SystemClock(offset=0)
        self.books: list[weakref.ref[Book]] = []
        self.empty()
        EVERY.add(self)

    def empty(self) -> None:
        """Begin without a thread: a forked child has none, and nobody has its locks."""
        self.lock = threading.Lock()
        self.walking = threading.Lock()
        self.bell = threading.Event()
        self.awake = False
        self.failing = self.failed = False
        self.due = 0

    def adopt(self, book: Book) -> None:
        """Look after this book too."""
        with self.lock:
            self.books = [*filter(lambda seen: seen() is not None, self.books), weakref.ref(book)]

    def tend(self) -> None:
        """See that the books are looked after from now on."""
        if self.awake or not self.walk:
            return
        with self.lock:
            if not self.awake:
                self.due = self.clock.now() + self.period
                threading.Thread(
                    target=watch, args=(weakref.ref(self), self.bell, self.period / 1e6),
                    name="headgate warden", daemon=True,
                ).start()  # fmt: skip
                self.awake = True

    def ring(self) -> None:
        """Have what is to be given back given back now."""
        self.tend()
        self.bell.set()

    def round(self) -> None:
        """Keep up all permits that are held, and give back those that nobody has."""
        with self.walking:
            self.failed = False
            for book in self.shelf():
                book.renew(self.ask)
            for book in self.shelf():
                book.tidy(self.ask)
            self.failing = self.failed

    def turn(self) -> float | None:
        """Do what is to be done now; in how many seconds to come again, None if never."""
        if self.clock.now() >= self.due:
            self.round()
            pause = self.period // HASTE if self.failing else self.period
            self.due = self.clock.now() + pause
        elif not self.failing:
            with self.walking:
                for book in self.shelf():
                    book.tidy(self.ask)
            if self.failing:
                self.due = self.clock.now() + self.period // HASTE
        return None if self.rest() else max(0.0, (self.due - self.clock.now()) / 1e6)

    def rest(self) -> bool:
        """Whether there is nothing left to look after; whoever comes then wakes another thread."""
        with self.lock:
            # In this order: who comes in between is seen here, or sees that nobody is awake.
            self.awake = False
            self.awake = not all(book.idle for book in self.shelf())
            return not self.awake

    def shelf(self) -> list[Book]:
        """The books that are still in use."""
        return [book for seen in self.books if (book := seen()) is not None]

    def ask(self, questions: list[Question], read: Callable[[bytes], Any]) -> list[Any]:
        """What `read` makes of each reply, or the problem; said once while it lasts."""
        answers = gather(self.store, questions, read)
        problem = next((one for one in answers if isinstance(one, StoreUnavailable)), None)
        if problem is not None:
            if not self.failing:
                logger.warning("permits cannot be kept up: %s", problem)
            self.failing = self.failed = True
        return answers


def gather(store: RedisStore, questions: list[Question], read: Callable[[bytes], Any]) -> list[Any]:
    """What `read` makes of each reply, or the problem; a server that is gone holds up no other."""
    answers: list[Any] = [None] * len(questions)
    groups: dict[Any, list[int]] = {}
    for number, question in enumerate(questions):
        groups.setdefault(store.fleet.place(question.slot), []).append(number)
    for numbers in groups.values():
        try:
            found = store.put([questions[number] for number in numbers], read)
        except StoreUnavailable as problem:
            found = [problem] * len(numbers)
        for number, answer in zip(numbers, found, strict=True):
            answers[number] = answer
    return answers


def watch(seen: weakref.ref[Warden], bell: threading.Event, pause: float | None) -> None:
    """Make a warden's rounds as long as it is there and has any to make."""
    while pause is not None:
        bell.wait(pause)
        bell.clear()
        warden = seen()
        if warden is None:
            return
        try:
            pause = warden.turn()
        except BaseException:
            # Whoever enters next wakes another one.
            warden.awake = False
            raise
        del warden


EVERY: weakref.WeakSet[Warden] = weakref.WeakSet()
WARDENS: weakref.WeakValueDictionary[tuple[Route, int], Warden] = weakref.WeakValueDictionary()
HIRING = threading.Lock()


def hire(route: Route, period: int) -> Warden:
    """The warden of a server, which all share who lend for the same time."""
    with HIRING:
        warden = WARDENS.get((route, period))
        if warden is None:
            warden = WARDENS[route, period] = Warden(route, period, True)
        return warden


def renew() -> None:
    """In a forked child: no warden is awake, and nobody has a lock."""
    global HIRING  # noqa: PLW0603 - a lock cannot be emptied, only replaced
    HIRING = threading.Lock()
    for warden in EVERY:
        warden.empty()


os.register_at_fork(after_in_child=renew)
