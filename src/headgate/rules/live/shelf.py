"""Shelf: the limiters, bulkheads and breakers of rules, by name, so that new rules find the old.

Each is made when it is first asked for. When rules change, what has the same terms goes on as it
is; a limiter in this process or machine whose limits changed carries its keys over; on a server,
keys under changed limits begin anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headgate.algorithms.limit import Limit
from headgate.async_limiter import AsyncLimiter
from headgate.bulkheads.async_bulkhead import AsyncBulkhead
from headgate.bulkheads.bulkhead import Bulkhead
from headgate.clock import Clock
from headgate.errors import LimitError
from headgate.intake import named
from headgate.latch import Latch
from headgate.limiter import Limiter
from headgate.rules.live.tally import Tally
from headgate.rules.model.kinds import shown
from headgate.rules.model.store import LEASED, STORE, flaw, masked
from headgate.stores.memory import MemoryStore
from headgate.stores.redis.place import route
from headgate.stores.redis.wire import reader
from headgate.stores.remote.address import way
from headgate.stores.shared.store import named as shareable

# A rule without a key counts under one; this many rows are plenty.
LONE = 64


class Shelf:
    """What is alive on one store, in one colour."""

    def __init__(self, url: str, clock: Clock | None, awaited: bool, realm: str = "") -> None:
        self.url = sound(url)
        # What the names of all that is here begin with in the store.
        self.realm = realm
        self.clock = clock
        # Whether what is asked has to be awaited: a server, from an event loop.
        self.near = url.startswith(("memory:", "shared:"))
        self.far = awaited and not self.near
        # Which rules are in force: those that came before change nothing any more.
        self.era = 0
        self._store: Any = None
        self._lone = MemoryStore(LONE)
        self._things: dict[tuple[str, str], tuple[Any, Any]] = {}
        self._lock = Latch()

    def limiter(
        self, era: int, name: str, limits: tuple[Limit, ...], mode: str, alone: bool
    ) -> Any:
        """The limiter of this name; under these limits from now on, unless newer rules have it."""
        # What is near is always there, and only in memory those without a key are kept apart.
        apart = alone and self.url.startswith("memory:")
        terms = (limits, "" if self.near else mode, apart)
        with self._lock:
            found, old = self._things.get(("limiter", name), (None, None))
            if found is not None and (old == terms or era < self.era):
                return found
            if found is not None:
                found = changed(found, limits) if old[1:] == terms[1:] else None
            if found is None:
                found = self._limiter(name, limits, mode, alone)
            self._things["limiter", name] = (found, terms)
        return found

    def bulkhead(self, era: int, name: str, limit: int, queue: int) -> Any:
        """The bulkhead of this name; those inside stay inside when its limit changes."""
        terms = (limit, queue)
        with self._lock:
            found, old = self._things.get(("bulkhead", name), (None, None))
            if found is not None and (old == terms or era < self.era):
                return found
            if found is not None:
                found.change(limit, queue)
            else:
                found = self._bulkhead(name, limit, queue)
            self._things["bulkhead", name] = (found, terms)
        return found

    def tally(self) -> Tally:
        """What counts the requests that a rule meets."""
        return Tally()

    def thing(self, era: int, kind: str, name: str, terms: Any, make: Callable[[], Any]) -> Any:
        """What has this name and these terms; made anew for others, unless newer rules have it."""
        with self._lock:
            found, old = self._things.get((kind, name), (None, None))
            if found is None or (old != terms and era >= self.era):
                found = make()
                self._things[kind, name] = (found, terms)
        return found

    def keep(self, names: set[str], era: int) -> None:
        """Have rules of these names in force from now on; what is no longer asked for goes."""
        with self._lock:
            self.era = era
            for kind, name in [*self._things]:
                # A shared store keeps a limiter by its name, so that one which comes back has to be
                # the one that was there.
                lasting = kind == "limiter" and self.url.startswith("shared:")
                if name.partition("@")[0] not in names and not lasting:
                    del self._things[kind, name]

    @property
    def watch(self) -> Any:
        """How the store on a server is doing; None if there is none, or nobody asked it."""
        return getattr(self._store, "watch", None)

    def hold(self) -> tuple[int, int, int] | None:
        """How many keys are held here, how many could be, and how many were given up."""
        if not self.near:
            return None
        with self._lock:
            found = [one for (kind, _), (one, _) in self._things.items() if kind == "limiter"]
        ledgers = [one.ledger for one in found if one.ledger is not None]
        evicted = sum(ledger.tally()["evicted"] for ledger in ledgers)
        return sum(map(len, ledgers)), sum(map(room, ledgers)), evicted

    def close(self) -> Any:
        """Close the store, if it has to be; awaited if the store is."""
        store, self._store = self._store, None
        return store.close() if hasattr(store, "close") else None

    def _limiter(self, name: str, limits: tuple[Limit, ...], mode: str, alone: bool) -> Any:
        kind = AsyncLimiter if self.far else Limiter
        if self._store is None:
            self._store = named(self.url, self.far)
        store, title = self._store, f"{self.realm}{name}"
        if isinstance(store, MemoryStore):
            # In memory this shelf is what names are for.
            title, store = "", self._lone if alone else store
        # Without a limit it lets everything in.
        return kind(
            *(limits or ("unlimited",)),
            store=store,
            name=title,
            clock=self.clock,
            when_unavailable=mode,
        )

    def _bulkhead(self, name: str, limit: int, queue: int) -> Any:
        kind = AsyncBulkhead if self.far else Bulkhead
        store = self.url.removeprefix("leased+")
        title = f"{self.realm}{name}"
        return kind(limit, queue=queue, store=store, name=title, clock=self.clock)


def room(ledger: Any) -> int:
    """How many keys fit into a ledger."""
    tables = getattr(ledger, "drawers", (ledger,))
    return sum(int(table.rows.capacity) for table in tables)


def sound(url: Any) -> str:
    """The URL of a store, if there can be such a one here; nobody is asked whether it answers."""
    if not isinstance(url, str):
        raise TypeError(f"store is {STORE.says}, not a {type(url).__name__}")
    problem = flaw(url)
    if problem:
        raise ValueError(f"store is {STORE.says}, not {shown(masked(url))}; {problem}")
    scheme, _, rest = url.partition("://")
    if scheme == "shared":
        shareable(rest)
    elif scheme != "memory":
        # The files for TLS are read, and the extra is needed.
        plain = url.removeprefix(LEASED)
        (way if plain.startswith("headgate") else route)(plain)
        reader()
    return url


def changed(limiter: Any, limits: tuple[Limit, ...]) -> Any:
    """The limiter under other limits, or None if it cannot carry its keys over."""
    if not isinstance(limiter, Limiter):
        return None
    try:
        limiter.change(*limits)
    except LimitError:
        return None
    return limiter
