"""Telemetry: what there is to see of the rules in an app, for people, scrapers and listeners.

    telemetry = Telemetry(keeper)
    telemetry.reading()["rules"]["api"]["refused"]
    app.mount("/metrics", apage(telemetry))

Several processes that count in `shared://name`, as gunicorn's workers do, see the sums of all of
them; so do those who say `board="shared://name"`, wherever their limits are kept.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from headgate.errors import HeadgateError
from headgate.fork import follow
from headgate.measures import number
from headgate.telemetry.board import Board
from headgate.telemetry.counters import Counters
from headgate.telemetry.docket import Docket
from headgate.telemetry.reading import Reading
from headgate.telemetry.slate import Slate
from headgate.telemetry.survey import survey

logger = logging.getLogger("headgate")

SHARED = "shared://"


class Event(NamedTuple):
    """Something that happened: `kind` is what, `subject` to which rule or store, and the rest.

    | kind | subject | facts |
    | --- | --- | --- |
    | `refused`, `shadowed` | the rule | the refusal, as a reading has it |
    | `reload` | the version in force | how it stands, as a reading has it |
    | `degraded`, `restored` | the store | how it is doing, as a reading has it |
    | `breaker` | the rule | `before` and `after` |
    """

    kind: str
    subject: str
    facts: Any


Listener = Callable[[Event], object]


class Telemetry:
    """Looks at a gatekeeper, or at a middleware that has one, which decides as quickly as without.

    `board` is where counters lie, if not where the rules count: `shared://name`, or nowhere but
    here with `memory://`.
    """

    _thread: threading.Thread | None

    def __init__(self, keeper: Any, board: str = "") -> None:
        keeper = self.keeper = getattr(keeper, "keeper", keeper)
        self._counters = Counters(chosen(board, keeper.lodge.url))
        self._counters.furnish(keeper.lodge)
        self._docket = Docket(keeper.lodge.clock)
        keeper.lodge.attend(self._docket)
        keeper.lodge.turn(keeper.lodge.clock.now())
        self._listeners: tuple[Listener, ...] = ()
        self._span = 0.0
        self._seen = 0
        self._before: Reading | None = None
        self._begin()
        follow(self, Telemetry._fork)

    def reading(self) -> Reading:
        """What there is to see now. Heavy hitters and refusals are those of this process."""
        return survey(self.keeper, "library", self._counters, self._docket)

    def listen(self, listener: Listener, every: float = 0.25) -> Listener:
        """Call `listener(event)` for what happens, from a thread that looks every so many seconds.

        So no request waits for it; of a flood of refusals only some are told. What a listener
        raises is only logged. Without a thread, call `look` now and then.
        """
        self._span = number("Telemetry", "every", every, 0.001, 86_400.0)
        self._listeners = (*self._listeners, listener)
        self._start()
        return listener

    def look(self) -> list[Event]:
        """What has happened since the last look; listeners are told of it."""
        with self._lock:
            found = self._news()
        for event in found:
            for listener in self._listeners:
                try:
                    listener(event)
                except Exception:
                    logger.exception("a listener failed")
        return found

    def close(self) -> None:
        """Look no more; counting goes on."""
        self._bell.set()

    def _news(self) -> list[Event]:
        refusals = self._docket.since(self._seen)
        self._seen = self._docket.seen
        found = [
            Event("shadowed" if one["shadow"] else "refused", one["rule"], one) for one in refusals
        ]
        now, before = self.reading(), self._before
        self._before = now
        return found if before is None else [*found, *changes(before, now)]

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and not self._bell.is_set():
                self._thread = threading.Thread(
                    target=watch,
                    args=(weakref.ref(self), self._bell, self._span),
                    name="headgate-telemetry",
                    daemon=True,
                )
                self._thread.start()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._bell = threading.Event()
        self._thread = None

    def _fork(self) -> None:
        # A child has no thread; it needs one as soon as it decides anything.
        self._begin()
        if self._listeners:
            self.keeper.lodge.rouse(self._start)


def watch(owner: weakref.ref[Telemetry], bell: threading.Event, span: float) -> None:
    """Look now and then, until nobody is there any more."""
    while not bell.wait(span):
        telemetry = owner()
        if telemetry is None:
            return
        telemetry.look()
        del telemetry


def changes(before: Reading, now: Reading) -> list[Event]:
    """What tells one reading from the one before."""
    found = []
    if now["reload"] != before["reload"]:
        found.append(Event("reload", now["version"], now["reload"]))
    store = now["store"]
    if store["degraded"] != before["store"]["degraded"]:
        found.append(Event("degraded" if store["degraded"] else "restored", store["url"], store))
    for name, rule in now["rules"].items():
        known = before["rules"].get(name)
        if known is not None and known["breaker"] != rule["breaker"]:
            facts = {"before": known["breaker"], "after": rule["breaker"]}
            found.append(Event("breaker", name, facts))
    return found


def chosen(board: str, url: str) -> Board | Slate:
    """Where counters lie: as it is said, else where the rules count, if others count there too."""
    if not isinstance(board, str):
        raise TypeError(f"Telemetry: board is a str, not {board!r}")
    if board and not board.startswith((SHARED, "memory://")):
        raise ValueError(
            f'Telemetry: board is "shared://name", for all processes that say so, or "memory://", '
            f"for this one alone, not {board!r}"
        )
    place = board or url
    if not place.startswith(SHARED):
        return Slate()
    name = place.removeprefix(SHARED).partition("?")[0]
    if board:
        return Board.of(name)
    try:
        return Board.of(name)
    except HeadgateError as problem:
        # Nobody has asked for it.
        logger.warning("what is counted is known to this process alone: %s", problem)
        return Slate()
