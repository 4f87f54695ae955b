"""Watcher: new rules come into force while requests go on, and bad ones change nothing.

    with Watcher(keeper, "rules.yaml"):
        serve()

A thread looks every `interval` seconds. What it finds is read and checked as a whole and then put
in force in one step; what is wrong with it is said once, and it is tried again when it has changed.
Whoever makes rules known to a fleet looks at `status`: which version is in force, since when, and
what is wrong with the one that should be.

It looks and is not called, though Linux would call it (inotify). To read some kilobytes takes
microseconds and shows what is there on every file system, behind any links. A call would have to be
arranged for in every folder on the way, is lost on network file systems and under some mounts, and
saves one `interval`.

A file may be met half written, and half of a list of rules is often a list of rules. So it has to
say the same twice, `settle` seconds apart; a slow writer writes beside it and renames.

Where there are several processes, each has a watcher; in one that was forked from a parent with a
watcher, its thread starts with the first request. Supervisors such as gunicorn's and uvicorn's take
SIGHUP for themselves and begin new workers, which read the rules anyway: `obey` is for a process
that nobody supervises.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol, Self

from headgate.clock import Clock
from headgate.errors import Problem, RulesError
from headgate.fork import follow
from headgate.measures import number
from headgate.rules.model.rules import Rules
from headgate.rules.watch.ear import Ear
from headgate.rules.watch.sources import Text, reach

DAY = 86_400.0

logger = logging.getLogger("headgate")


class Keeper(Protocol):
    """Whose rules are changed: a `Gatekeeper` or an `AsyncGatekeeper`."""

    lodge: Any

    @property
    def rules(self) -> Rules:
        """The rules in force."""

    @property
    def version(self) -> str:
        """Their name."""

    def change(self, rules: Rules) -> Rules:
        """Go by others, all at once."""


class Status(NamedTuple):
    """How it stands: `problems` are those of the newest rules, none if they are in force.

    `loaded` is when the version in force came into it, in the clock's own seconds. `loads` and
    `failures` only ever grow; what is refused, or cannot be read, counts once while it stays so.
    """

    version: str
    loaded: float
    problems: tuple[Problem, ...]
    loads: int
    failures: int


Listener = Callable[[Status], object]


class Watcher:
    """Keeps the rules of a gatekeeper as they stand in `source`.

    That is a file, a URL such as `redis://host`, or `RedisRules(url, name)`. It watches between
    `start` and `close`, or in a `with` block, for as long as there is a gatekeeper.
    """

    _thread: threading.Thread | None
    _bell: SimpleQueue[str]

    def __init__(
        self, keeper: Keeper, source: Any, interval: float = 1.0, settle: float = 0.05,
        clock: Clock | None = None,
    ) -> None:  # fmt: skip
        self.source = reach(source)
        self.interval = number("Watcher", "interval", interval, 0.001, DAY)
        self.settle = number("Watcher", "settle", settle, 0.0, DAY)
        self.clock: Clock = keeper.lodge.clock if clock is None else clock
        # Nobody has to wait for a thread whose gatekeeper is gone.
        self._keeper = weakref.ref(keeper, lambda _: self._bell.put("close"))
        self._listeners: tuple[Listener, ...] = ()
        # The mark of what was looked into last and what is wrong with it; and what keeps us from
        # reading at all.
        self._seen = ""
        self._flaws: tuple[Problem, ...] = ()
        self._trouble: tuple[Problem, ...] = ()
        self._loaded = self.clock.now()
        self._loads = self._failures = 0
        self._wanted = False
        self._ear = Ear(self._ring)
        self._begin()
        follow(self, Watcher._fork)

    @property
    def status(self) -> Status:
        """Which rules are in force, and what is wrong with newer ones."""
        keeper = self._keeper()
        version = "" if keeper is None else keeper.version
        problems = self._trouble or self._flaws
        return Status(version, self._loaded / 1e6, problems, self._loads, self._failures)

    def look(self) -> bool:
        """Go by what stands there, if it is new and good; whether other rules are in force now.

        Nothing that is wrong is raised: it is logged, told to those who listen, and in `status`.
        """
        with self._lock:
            return self._turn(self._seen)

    def reload(self) -> bool:
        """`look`, and try again what was refused before, although it has not changed."""
        with self._lock:
            return self._turn("")

    def listen(self, listener: Listener) -> Listener:
        """Call `listener(status)` whenever it changes; what it raises is only logged."""
        self._listeners = (*self._listeners, listener)
        return listener

    def start(self) -> Self:
        """Look at once, and then every `interval` seconds, from a thread."""
        with self._lock:
            if self._thread is None:
                self._bell = SimpleQueue()
                thread = threading.Thread(
                    target=self._run, args=(self._bell,), name="headgate-rules", daemon=True
                )
                thread.start()
                self._thread = thread
                self._wanted = True
                WATCHING.add(self)
        return self

    def obey(self, number: int) -> None:
        """`reload` whenever this signal comes, such as `signal.SIGHUP`, while it watches.

        A handler that was there is called as well. Only the main thread may say what signals do.
        """
        self._ear.heed(number)

    def close(self) -> None:
        """Look no more; when it returns, no look is under way."""
        with self._lock:
            self._wanted = False
            WATCHING.discard(self)
            thread, self._thread = self._thread, None
            self._bell.put("close")
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        self.source.close()
        self._ear.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Watcher of {self.source.title}: {self.status.version or 'nobody'}>"

    def _begin(self) -> None:
        # Somebody who is told of a change may want to look again.
        self._lock = threading.RLock()
        self._thread = None
        # What a signal handler may do at any moment is to put something into this kind of queue.
        self._bell = SimpleQueue()

    def _fork(self) -> None:
        # A child has no thread, and one that never decides anything needs none. What its parent was
        # about to load may be in force or not.
        self._begin()
        self._seen = ""
        keeper = self._keeper()
        if not self._wanted or keeper is None:
            return
        keeper.lodge.rouse(self._wake)

    def _wake(self) -> None:
        try:
            if self._wanted:
                self.start()
        except RuntimeError:
            logger.exception("rules are not watched: there is no thread to be had")

    def _ring(self) -> None:
        # Whoever was interrupted may hold any lock, so only the thread does what there is to do.
        if self._thread is not None:
            self._bell.put("reload")

    def _run(self, bell: SimpleQueue[str]) -> None:
        self.look()
        while self._keeper() is not None:
            try:
                said = bell.get(timeout=self.interval)
            except Empty:
                self.look()
                continue
            if said == "close":
                break
            self.reload()
        if self._keeper() is None:
            WATCHING.discard(self)

    def _turn(self, known: str) -> bool:
        keeper = self._keeper()
        if keeper is None:
            return False
        status, before = self.status, self._trouble
        text, self._trouble = self._steady(known)
        if self._trouble and not before:
            self._complain(self._trouble)
        if before and not self._trouble:
            logger.info("rules of %s can be read again", self.source.title)
        new = text is not None and self._judge(keeper, text)
        if self.status != status:
            self._tell()
        return new

    def _steady(self, known: str) -> tuple[Text | None, tuple[Problem, ...]]:
        # What is found, once it stands still; nothing new while it does not.
        found = self._fetch(known)
        if self.source.whole or found == (None, self._trouble):
            return found
        self.clock.sleep(self.settle)
        return found if found == self._fetch(known) else (None, self._trouble)

    def _fetch(self, known: str) -> tuple[Text | None, tuple[Problem, ...]]:
        try:
            return self.source.fetch(known), ()
        except Exception as problem:
            return None, told(problem, self.source.title)

    def _judge(self, keeper: Keeper, text: Text) -> bool:
        self._seen, self._flaws = text.mark, ()
        try:
            rules = text.rules()
            # Rules that say the same in other words need not come into force.
            new = rules != keeper.rules
            if new:
                keeper.change(rules)
        except Exception as problem:
            self._flaws = told(problem, self.source.title)
            self._complain(self._flaws)
            return False
        self.source.keep(text)
        if new:
            self._loads += 1
            self._loaded = self.clock.now()
            logger.info("rules of %s are in force: %s", self.source.title, keeper.version)
        return new

    def _complain(self, problems: tuple[Problem, ...]) -> None:
        self._failures += 1
        said = "\n".join(map(str, problems))
        logger.error("rules stay as they were, version %s:\n%s", self.status.version, said)

    def _tell(self) -> None:
        status = self.status
        for listener in self._listeners:
            try:
                listener(status)
            except Exception:
                logger.exception("a listener failed; the rules stay as they are now")


def told(problem: Exception, title: str) -> tuple[Problem, ...]:
    """What is wrong: each problem with its place, where that is known."""
    if isinstance(problem, RulesError):
        return problem.problems
    return (Problem(str(problem) or type(problem).__name__, file=title),)


# Those that watch, so that nobody has to hold them as well.
WATCHING: set[Watcher] = set()
