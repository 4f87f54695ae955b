"""The desk: what permits on Redis are in either colour, but for how they wait."""

from __future__ import annotations

import atexit
import contextlib
import weakref
from functools import partial
from typing import Any

from headgate.clock import Clock
from headgate.measures import MILLION, number, whole
from headgate.permits.redis.book import Book
from headgate.permits.redis.lending import Lending
from headgate.permits.redis.methods import METHODS
from headgate.permits.redis.tongue import Tongue
from headgate.permits.redis.warden import Warden, gather, hire
from headgate.stores.redis.store import RedisStore, given, shown

# Seconds that a permit is lent for: the thread that keeps it up needs a moment, nobody needs a day.
SHORTEST, LONGEST = 0.1, 86_400.0


class Desk:
    """What a process has of permits on a server, and who looks after it."""

    awaited = False
    remote = True

    def __init__(
        self, store: Any, limit: int, method: str, ttl: float, name: str, clock: Clock | None
    ) -> None:
        who = type(self).__name__
        if method not in METHODS:
            known = ", ".join(f'"{one}"' for one in METHODS)
            raise ValueError(f"{who}: method is one of {known}, not {method!r}")
        if not isinstance(name, str):
            raise TypeError(f"{who}: name is a str, not {name!r}")
        self.store = store
        self.method = method
        self.name = name
        self.ttl = number(who, "ttl", ttl, SHORTEST, LONGEST)
        span = round(self.ttl * MILLION)
        own = clock if given(clock) else None
        speak = Lending if store.route.scheme == "headgate" else Tongue
        tongue: Any = speak(method, whole(who, "limit", limit, 1), span, name, own)
        way = METHODS[method](tongue)
        period = span // way.turns
        walk = own is None
        self._warden = hire(store.route, period) if walk else Warden(store.route, period, False)
        self._book = Book(way, self._title(), self._warden)
        self._warden.adopt(self._book)
        DESKS.add(self)

    @property
    def limit(self) -> int:
        """How many may be inside at once, for each key; from now on, if it is set."""
        return self._book.method.tongue.limit

    @limit.setter
    def limit(self, limit: int) -> None:
        self._book.method.tongue.limit = whole(type(self).__name__, "limit", limit, 1)

    @property
    def zombies(self) -> int:
        """How many holders of this process have outlived their permit so far."""
        return self._book.zombies

    def drop(self, key: str, ticket: str) -> None:
        """Give a place back from wherever one is: the warden tells the server."""
        self._book.drop(key, ticket)

    def renew(self) -> None:
        """Keep up what is held. A thread does it, unless the time is a clock moved by hand."""
        self._warden.round()

    def surrender(self) -> None:
        """Give back all that is held, as far as the server can be reached."""
        if self._book.idle:
            return
        self._book.abandon()
        # A round that is being made would move what is given back meanwhile. If it does not end,
        # the server does not answer, and the next one gives back what it can.
        if not self._warden.walking.acquire(timeout=self.store.budget):
            return
        try:
            store = RedisStore(self.store.route, self.store.budget, 1)
            self._book.surrender(partial(gather, store))
            store.close()
        finally:
            self._warden.walking.release()

    def __repr__(self) -> str:
        named = f", name={self.name!r}" if self.name else ""
        where = shown(self.store.route)
        return f"{type(self).__name__}({where!r}, {self.limit}, {self.method!r}{named})"

    def _title(self) -> str:
        # What it is called in logs; a key is never part of it.
        return f"permits {self.name!r}" if self.name else "permits"


DESKS: weakref.WeakSet[Desk] = weakref.WeakSet()


def surrender() -> None:
    """At exit, give back what is held."""
    for desk in list(DESKS):
        with contextlib.suppress(Exception):
            desk.surrender()


atexit.register(surrender)


def checked(key: str) -> str:
    """A key, or an error that says what one is."""
    if not isinstance(key, str):
        raise TypeError(f"a key is a str, not {key!r}")
    return key
