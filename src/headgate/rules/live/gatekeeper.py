"""Gatekeepers: rules put to work. One request in, an entry out; new rules when they come.

keeper = Gatekeeper("rules.yaml")
entry = keeper.enter(Request("POST", "/login", client="203.0.113.7"))
if entry:
    ...
    keeper.leave(entry, 200)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any

from headgate.clock import Clock
from headgate.drive import adrive, drive
from headgate.rules.live.entry import Entry
from headgate.rules.live.ferry import Ferry
from headgate.rules.live.lodge import Listener, Lodge, Source
from headgate.rules.live.ruleset import Ruleset
from headgate.rules.live.ruling import Ruling
from headgate.rules.live.tally import Tally
from headgate.rules.live.visit import Hands, enter, leave, pour
from headgate.rules.matching.request import Request
from headgate.rules.model.rules import Rules
from headgate.rules.watch.watcher import Watcher

Header = Callable[[str], str]


def nothing(name: str) -> str:
    """The header of an answer without headers."""
    return ""


def asked(keeper: Gatekeeper | AsyncGatekeeper) -> bool:
    """Whether rules are asked. While it is False everybody is let in, at views too.

    Rules that change meanwhile come into force when it is True again. It begins as the environment
    variable `HEADGATE_ENABLED` has it.
    """
    return keeper.lodge.enabled


def switch(keeper: Gatekeeper | AsyncGatekeeper, wanted: bool) -> None:
    """Have rules asked from now on, or not."""
    keeper.lodge.enabled = wanted


class Gatekeeper:
    """Applies rules to requests. Rules are a value, or stand in a file, or on a server at a URL.

    `store` is where what was counted is kept, instead of where the rules say. With `watch`, new
    rules come into force within so many seconds, and `watcher` tells how it stands with them.
    Whoever was let in says how it ended with `leave`, once.
    """

    def __init__(
        self, rules: Source, store: str = "", clock: Clock | None = None, watch: float = 0.0
    ) -> None:
        self.lodge = Lodge(rules, store, clock, awaited=False)
        self.watcher = Watcher(self, rules, watch).start() if watch else None
        hold = lambda slot: slot.__enter__()  # noqa: E731 - said once
        self._hands = Hands(self.lodge.clock.sleep, hold, self.lodge.clock.now)

    enabled = property(asked, switch)

    @property
    def rules(self) -> Rules:
        """The rules in force."""
        return self.lodge.book.rules

    @property
    def version(self) -> str:
        """The name of exactly these rules, as every entry has it."""
        return self.lodge.book.version

    def enter(self, request: Request) -> Entry:
        """Decide about a request: an entry, true if it may go in. Waits if a rule says so."""
        book = self.lodge.book
        rulings = book.find(request)
        if len(rulings) == 1 and rulings[0].turnstile is not None:
            entry = rulings[0].turnstile.enter(request)
        else:
            entry = Entry(book.version, request)
            drive(enter(entry, rulings, book.plan, self._hands), perform)
        return self.lodge.end(request, entry) if self.lodge.heeded else entry

    def leave(
        self, entry: Entry, status: int = 200, header: Header = nothing, size: int = 0
    ) -> None:
        """Say how a request ended: its status, its headers by their names, the bytes of its body.

        Status 0 means that there was no answer, as after an exception.
        """
        if not entry.idle:
            drive(leave(entry, status, header, size), perform)

    def pour(self, entry: Entry, size: int) -> None:
        """Wait until so many bytes of the answer may be sent; at most `entry.piece` at a time."""
        if entry.bandwidth:
            drive(pour(entry, size, self._hands), perform)

    def change(self, rules: Source) -> Rules:
        """Go by other rules from now on, all at once; raises, and changes nothing, if they are bad.

        What was counted is carried over, see `Limiter.change`. Another store begins anew.
        """
        return self.lodge.change(rules)

    def listen(self, listener: Listener) -> Listener:
        """Call `listener(entry)` after each decision; what it raises is only logged."""
        return self.lodge.listen(listener)

    def tallies(self) -> dict[str, Tally]:
        """How many requests each rule let in and refused so far, in this process."""
        return self.lodge.tallies()

    def reset(self) -> None:
        """Forget what was counted in memory, at views too, so that a test begins with full quotas.

        Raises where what is counted is not this gatekeeper's alone: in shared memory, on a server.
        """
        self.lodge.reset()

    def close(self) -> None:
        """Look for new rules no more, and close the connections to the store, if there are any."""
        if self.watcher is not None:
            self.watcher.close()
        self.lodge.close()

    def __repr__(self) -> str:
        return f"<Gatekeeper: {self.lodge!r}>"


class AsyncGatekeeper:
    """`Gatekeeper` for event loops: the same rules and answers; `enter` and `leave` are awaited."""

    def __init__(
        self, rules: Source, store: str = "", clock: Clock | None = None, watch: float = 0.0
    ) -> None:
        self.lodge = Lodge(rules, store, clock, awaited=True)
        self.watcher = Watcher(self, rules, watch).start() if watch else None
        self._hands = Hands(self.lodge.clock.asleep, awaitable, self.lodge.clock.now)

    enabled = property(asked, switch)

    @property
    def rules(self) -> Rules:
        """The rules in force."""
        return self.lodge.book.rules

    @property
    def version(self) -> str:
        """The name of exactly these rules, as every entry has it."""
        return self.lodge.book.version

    async def enter(self, request: Request) -> Entry:
        """Decide about a request. See `Gatekeeper.enter`."""
        found = self.glance(request)
        return found if isinstance(found, Entry) else await found

    def glance(self, request: Request) -> Entry | Awaitable[Entry]:
        """`enter` without awaiting, where that can be done; else what is to be awaited."""
        book = self.lodge.book
        rulings = book.find(request)
        if len(rulings) == 1 and rulings[0].turnstile is not None:
            entry = rulings[0].turnstile.enter(request)
        elif rulings:
            ferry = rulings[0].ferry
            if len(rulings) == 1 and ferry is not None and not self.lodge.listeners:
                if self.lodge.docket is None:
                    return ferry.enter(request)
                return self._sail(ferry, request)
            return self._visit(book, rulings, request)
        else:
            entry = Entry(book.version)
        return self.lodge.end(request, entry) if self.lodge.heeded else entry

    async def leave(
        self, entry: Entry, status: int = 200, header: Header = nothing, size: int = 0
    ) -> None:
        """Say how a request ended. See `Gatekeeper.leave`."""
        if not entry.idle:
            await adrive(leave(entry, status, header, size), aperform)

    async def pour(self, entry: Entry, size: int) -> None:
        """Wait until so many bytes of the answer may be sent. See `Gatekeeper.pour`."""
        if entry.bandwidth:
            await adrive(pour(entry, size, self._hands), aperform)

    def change(self, rules: Source) -> Rules:
        """Go by other rules from now on. See `Gatekeeper.change`."""
        return self.lodge.change(rules)

    def listen(self, listener: Listener) -> Listener:
        """Call `listener(entry)` after each decision; what it raises is only logged."""
        return self.lodge.listen(listener)

    def tallies(self) -> dict[str, Tally]:
        """How many requests each rule let in and refused so far, in this process."""
        return self.lodge.tallies()

    async def reset(self) -> None:
        """Forget what was counted in memory. See `Gatekeeper.reset`."""
        self.lodge.reset()

    async def _visit(self, book: Ruleset, rulings: tuple[Ruling, ...], request: Request) -> Entry:
        entry = Entry(book.version, request)
        await adrive(enter(entry, rulings, book.plan, self._hands), aperform)
        return self.lodge.end(request, entry) if self.lodge.heeded else entry

    async def _sail(self, ferry: Ferry, request: Request) -> Entry:
        entry = await ferry.enter(request)
        return self.lodge.end(request, entry)

    async def close(self) -> None:
        """Look for new rules no more, and close the connections to the store, if there are any."""
        if self.watcher is not None:
            # It waits for a look that is under way.
            await asyncio.to_thread(self.watcher.close)
        answer = self.lodge.close()
        if answer is not None:
            await answer

    def __repr__(self) -> str:
        return f"<AsyncGatekeeper: {self.lodge!r}>"


def perform(effect: Callable[[], Any]) -> Any:
    """Do it."""
    return effect()


async def aperform(effect: Callable[[], Any]) -> Any:
    """Do it, and wait for what comes of it."""
    answer = effect()
    return await answer if isawaitable(answer) else answer


def awaitable(slot: Any) -> Awaitable[Any]:
    """A place is waited for by awaiting it."""
    return slot  # type: ignore[no-any-return]
