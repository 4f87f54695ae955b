"""Lodge: where the rules in force are kept, and exchanged for others as a whole."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any

from headgate.budgets.budget import Budget
from headgate.clock import Clock, SystemClock
from headgate.latch import Latch
from headgate.rules.live.entry import Entry
from headgate.rules.live.ruleset import Ruleset, void
from headgate.rules.live.ruling import Ruling
from headgate.rules.live.shelf import Shelf
from headgate.rules.live.switch import switched
from headgate.rules.live.tally import Tally
from headgate.rules.live.treasury import REALM, joined
from headgate.rules.live.trial import Trial
from headgate.rules.matching.request import Request
from headgate.rules.model.rules import Rules
from headgate.rules.model.store import masked
from headgate.rules.watch.sources import Origin, reach

logger = logging.getLogger("headgate")

# Before the names of rules at views, where a store keeps what they count.
WING = "view:"

Listener = Callable[[Entry], object]
# Rules themselves, or where they stand: a file, the URL of a server, or `RedisRules`.
Source = Rules | str | os.PathLike[str] | Origin


class Lodge:
    """The rules in force, ready to be asked, and what is alive of them."""

    def __init__(self, source: Source, store: str, clock: Clock | None, awaited: bool) -> None:
        self._enabled = switched()
        rules = read(source)
        self.clock: Clock = SystemClock() if clock is None else clock
        self._own = clock
        self._awaited = awaited
        self._store = store
        self._shelf = Shelf(store or rules.store, clock, awaited)
        # The rule that is tried beside them, whichever they are.
        self.trial: Trial | None = None
        # Those to go by, and those that are asked: none while they are switched off.
        self._ready = Ruleset(rules, self._shelf)
        self.book = self._ready if self._enabled else void(self._ready, self._shelf)
        self.listeners: tuple[Listener, ...] = ()
        # How often other rules came into force.
        self.loads = 0
        # Whether anybody is told of a decision.
        self.heeded = False
        # Where refused requests are entered, if anybody wants to look at them.
        self.docket: Any = None
        # Others whose rules stand at views: who listens here hears of theirs as well.
        self._wings: list[Lodge] = []
        self._realm = ""
        self._wakes: list[Callable[[], object]] = []
        # Where tallies lie that somebody else can read, by the names of rules.
        self._place: Callable[[str], Any] | None = None
        self._lock = Latch()

    def change(self, source: Source) -> Rules:
        """Go by other rules from now on; raises, and changes nothing, if they are bad."""
        rules = read(source)
        with self._lock:
            url = self._store or rules.store
            shelf = self._shelf
            if url != shelf.url:
                shelf = Shelf(url, self._own, self._awaited, self._realm)
            self._settle(rules, shelf)
            self.loads += 1
        return rules

    def attempt(self, trial: Trial | None) -> None:
        """Try a rule beside those in force, whichever they are, or none any more.

        It refuses nobody. Raises, and changes nothing, if it cannot be kept here.
        """
        with self._lock:
            before, self.trial = self.trial, trial
            try:
                self._settle(self._ready.rules, self._shelf)
                if trial is not None and self._ready.trial is not None:
                    # What would go wrong goes wrong here, and not when a request comes.
                    self._ready.trial.lane("", "")
            except BaseException:
                self.trial = before
                self._settle(self._ready.rules, self._shelf)
                raise

    @property
    def url(self) -> str:
        """Where what was counted is kept."""
        return self._shelf.url

    @property
    def shelf(self) -> Shelf:
        """What is alive of the rules, on one store."""
        return self._shelf

    @property
    def lodges(self) -> list[Lodge]:
        """This one, and those that have joined it."""
        return [self, *self._wings]

    @property
    def rulings(self) -> list[Ruling]:
        """The rules to go by, made ready, also while nobody asks them."""
        return self._ready.rulings

    @property
    def enabled(self) -> bool:
        """Whether rules are asked; if not, everybody is let in, at views too."""
        return self._enabled

    @enabled.setter
    def enabled(self, wanted: bool) -> None:
        if not isinstance(wanted, bool):
            raise TypeError(f"enabled is True or False, not {wanted!r}")
        with self._lock:
            self._enabled = wanted
            self._open()
        for wing in self._wings:
            wing.enabled = wanted

    def reset(self) -> None:
        """Forget what was counted in memory, at views too; raises if others count there as well."""
        lodges = self.lodges
        for lodge in lodges:
            url = lodge._shelf.url
            if not url.startswith("memory:"):
                raise RuntimeError(
                    f"reset: {masked(url)} is not this gatekeeper's alone; have tests use "
                    "memory://, or a store of their own, as in shared://tests or redis://host/1"
                )
        for lodge in lodges:
            with lodge._lock:
                shelf = Shelf(lodge._shelf.url, lodge._own, lodge._awaited, lodge._realm)
                lodge._settle(lodge._ready.rules, shelf)

    def listen(self, listener: Listener) -> Listener:
        """Call `listener(entry)` after each decision; what it raises is only logged."""
        self.listeners = (*self.listeners, listener)
        self.heeded = True
        for wing in self._wings:
            wing.listen(listener)
        return listener

    def join(self, wing: Lodge) -> None:
        """Have another one's decisions heard of and tallied here, too; it has decided nothing yet.

        It is switched off and on with this one, and forgets with it. In a store that they share,
        rules of the same name are not the same.
        """
        wing.listeners = (*wing.listeners, *self.listeners)
        wing.attend(self.docket)
        wing._realm = wing._shelf.realm = WING
        if self._place is not None:
            wing.furnish(self._place)
        self._wings.append(wing)
        wing.enabled = self._enabled

    def budget(self) -> Budget | None:
        """What the rules in force grant to requests, if they do; while terms stay, it goes on."""
        rules, era, shelf = self._ready.rules, self._ready.era, self._shelf
        terms = rules.budget
        if terms is None:
            return None
        title, mode = REALM + terms.name, terms.when_unavailable
        limiter = shelf.limiter(era, title, terms.limits(), mode, False)
        found: Budget = shelf.thing(
            era, "budget", title, (terms, limiter), lambda: joined(terms, limiter, self._own)
        )
        return found

    def rouse(self, wake: Callable[[], object]) -> None:
        """Call `wake` once, before the next decision."""
        with self._lock:
            self._wakes.append(wake)
            self._rouse(self.book)

    def furnish(self, place: Callable[[str], Any]) -> None:
        """Have what is counted lie in `place(name)`, where that is not None, also by later rules.

        At views, too.
        """
        for lodge in self.lodges:
            lodge._place = place
            lodge._lay(lodge._ready)

    def leave(self) -> None:
        """Have it lie here again, and begin anew."""
        for lodge in self.lodges:
            lodge._place = None
            for ruling in lodge._ready.every:
                ruling.tally.leave()

    def _settle(self, rules: Rules, shelf: Shelf) -> None:
        book = Ruleset(rules, shelf, self._ready.era + 1, self.trial)
        names = {rule.name for rule in rules.rules}
        self._lay(book)
        if book.trial is not None:
            names |= {book.trial.name}
        shelf.keep(names if rules.budget is None else names | {REALM + rules.budget.name}, book.era)
        self._shelf, self._ready = shelf, book
        self._open()

    def _lay(self, book: Ruleset) -> None:
        # Put the tallies of rules where they are to lie.
        if self._place is None:
            return
        for ruling in book.every:
            name = ruling.name if ruling.trial is None else ruling.trial.title
            view = None if ruling.tally.placed else self._place(name)
            if view is not None:
                ruling.tally.move(view)

    def _open(self) -> None:
        book = self._ready if self._enabled else void(self._ready, self._shelf)
        self._rouse(book)
        self.book = book

    def _rouse(self, book: Ruleset) -> None:
        # Where somebody is to be woken, what is asked first has to do it. Others pay nothing.
        if not self._wakes:
            return

        def find(request: Any) -> Any:
            vars(book).pop("find", None)
            wakes, self._wakes = self._wakes, []
            for wake in wakes:
                wake()
            return book.find(request)

        vars(book)["find"] = find

    def attend(self, docket: Any) -> None:
        """Have refused requests entered in a docket from now on, at views too."""
        for lodge in self.lodges:
            lodge.docket = docket
            lodge.heeded = docket is not None or bool(lodge.listeners)

    def end(self, request: Request, entry: Entry) -> Entry:
        """A request is decided: all who are to know are told; answers the entry."""
        if self.docket is not None and (entry.refusal is not None or entry.shadowed):
            self.docket.enter(request, entry)
        return self.tell(entry)

    def tell(self, entry: Entry) -> Entry:
        """Let those who listen know; answers the entry."""
        for listener in self.listeners:
            try:
                listener(entry)
            except Exception:
                logger.exception("a listener failed; the request goes on")
        return entry

    def tallies(self) -> dict[str, Tally]:
        """How many requests each rule let in and refused so far."""
        found = {ruling.name: ruling.tally for ruling in self._ready.rulings}
        for wing in self._wings:
            found = {**wing.tallies(), **found}
        return found

    def turn(self, now: int) -> None:
        """See whether the span of time is over for which it is known who asks most."""
        for lodge in self.lodges:
            for ruling in lodge.rulings:
                ruling.tally.tops.turn(now)

    def close(self) -> Any:
        """Close the store, if it has to be; awaited if the store is."""
        return self._shelf.close()

    def __repr__(self) -> str:
        return repr(self._ready) if self._enabled else f"{self._ready!r}, not enabled"


def read(source: Source) -> Rules:
    """The rules themselves."""
    if isinstance(source, Rules):
        return source
    place = reach(source)
    try:
        return place.load()
    finally:
        place.close()
