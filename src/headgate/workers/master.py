"""Master: the process that keeps the sockets, starts workers on them, and answers signals.

    SIGTERM, SIGINT   finish what is under way, and end; a second SIGINT ends at once
    SIGHUP            read the rules again
    SIGUSR1           begin the audit's file anew, as after it has been renamed
    SIGUSR2           start a new master on the same sockets, and end when that serves

It serves nobody itself, so there is nothing that a client could do to it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from headgate.clock import Clock, SystemClock
from headgate.errors import RulesError
from headgate.rules.model.rules import Rules
from headgate.rules.watch.sources import write
from headgate.telemetry.reading import Reading
from headgate.workers.admin import Admin
from headgate.workers.channel import Channel
from headgate.workers.crew import Crew
from headgate.workers.doors import Door, doors
from headgate.workers.hand import HELD
from headgate.workers.heir import beget
from headgate.workers.heritage import Heritage, inherit
from headgate.workers.notice import notify
from headgate.workers.orders import Orders
from headgate.workers.origin import Draft
from headgate.workers.rounds import Rounds
from headgate.workers.rulebook import Rulebook
from headgate.workers.steward import Steward
from headgate.workers.summary import summary

logger = logging.getLogger("headgate.workers")


class Master:
    """A gateway or a service of several processes, by the rules that stand where `orders` say.

    `tell` is called with it when it serves. `token` is the admin's; it is `fresh` if it was made
    just now, and nobody knows it yet.
    """

    crew: Crew

    def __init__(
        self, orders: Orders, draft: Draft, workers: int, tell: Callable[[Master], object],
        clock: Clock | None = None,
    ) -> None:  # fmt: skip
        self.orders = orders
        self.rules = draft.rules()
        self.workers = workers or orders.terms(self.rules).workers
        self.doors: list[Door] = []
        self.admin: Admin | None = None
        self.token = ""
        self.fresh = False
        self.draining = False
        self._text = draft.text
        self._tell = tell
        self._clock: Clock = SystemClock() if clock is None else clock
        self._rounds = Rounds(self, orders.serves, self._clock)
        # Whether what stands in the file system is this one's to remove.
        self._owner = True
        # The token, if the rules give none.
        self._made = ""
        # Rules are read one after another: what was read last is what was written last.
        self._reading = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._heir: asyncio.Task[None] | None = None

    def run(self) -> None:
        """Serve until a signal ends it; raises OSError, ValueError or `Stillborn` if it cannot."""
        asyncio.run(self._serve())

    @property
    def terms(self) -> Any:
        """What the rules say of what is served."""
        return self.orders.terms(self.rules)

    @property
    def store(self) -> str:
        """Where what was counted is kept."""
        return self.orders.store or str(self.rules.store)

    @property
    def healthy(self) -> bool:
        """Whether requests are served, and will be."""
        return self.crew.up and not self.draining

    async def status(self) -> dict[str, Any]:
        """What all workers have to tell."""
        return {"pid": os.getpid(), **summary(await self.crew.status())}

    async def reading(self) -> Reading:
        """What all workers see, as if they were one."""
        return await self._rounds.reading()

    async def reload(self) -> tuple[str, ...]:
        """Have all workers read the rules again; what kept them from it, as with bad ones."""
        async with self._reading:
            try:
                said = await self._spread()
            except Exception as problem:
                said = [str(problem) or type(problem).__name__]
        problems = tuple(dict.fromkeys(line for one in said for line in one.splitlines()))
        if problems:
            what = "were not read by all" if "" in said else "stay as they were"
            logger.error("rules %s:\n%s", what, "\n".join(problems))
        return problems

    def drain(self) -> None:
        """Begin to finish what is under way, and then end."""
        if self.draining:
            return
        self.draining = True
        if self._heir is not None:
            self._heir.cancel()
        if self._starting.done():
            self._begin(self._finish())
        else:
            self._starting.cancel()

    async def _spread(self) -> list[str]:
        # What each worker has against the rules that stand there now: nothing, where it took them.
        draft = await asyncio.to_thread(self.orders.origin.fetch, "")
        rules = await asyncio.to_thread(draft.rules)
        said = [one["problem"] for one in await self.crew.reload(draft.text)]
        if not said or "" in said:
            self._adopt(rules)
        if not any(said):
            logger.info("rules were read again: version %s", rules.digest)
        return said

    async def _serve(self) -> None:
        self._over = asyncio.Event()
        self._starting = asyncio.create_task(self._start())
        self._heed()
        try:
            await asyncio.wait([self._starting])
            if not self._starting.cancelled():
                self._starting.result()
                await self._over.wait()
        finally:
            self._close()

    async def _start(self) -> None:
        listen = self.terms.listen
        heritage = inherit(os.environ, [one.address for one in listen])
        self._owner = heritage.line is None
        channel = None if heritage.line is None else await Channel.open(heritage.line)
        known = {} if channel is None else await channel.receive()
        self._open(heritage, known.get("secret", ""))
        self._arrange(heritage, known.get("token", ""))
        await self.crew.man()
        if self.admin is not None:
            await self.admin.open()
        self._tell(self)
        self._owner = True
        if channel is not None:
            channel.send(up=True)
            await channel.close()
        for door in heritage.every:
            if door not in self._heritage.every:
                door.remove()
        notify(os.environ, "READY=1")
        self._begin(self._rounds.walk())

    def _open(self, heritage: Heritage, secret: str) -> None:
        if self.workers > 1:
            self.orders = self.orders.sharing()
            self.rules = self.orders.origin.amend(self._text).rules()
        self._begun = self.terms
        listen = self._begun.listen
        places = [(one.address, one.place) for one in listen]
        self.doors = doors(places, self.workers, heritage.doors)
        self._book = Rulebook(self.orders, self._text, listen, self._learn, secret, self.workers)
        self.crew = Crew(self._book, self.doors, self.workers, self._clock)

    def _arrange(self, heritage: Heritage, known: str) -> None:
        admin = self.terms.admin
        if admin is None:
            return
        left = () if heritage.admin is None else (heritage.admin,)
        (door,) = doors([(admin.listen, admin.place)], 1, left)
        if not admin.token:
            self._made = known or secrets.token_urlsafe(32)
            self.fresh = not known
            if self.orders.token_file:
                write(os.path.abspath(self.orders.token_file), f"{self._made}\n".encode())
        self.token = admin.token or self._made
        self.admin = Admin(door, self.token, Steward(self))

    def _heed(self) -> None:
        deeds = (self._interrupt, self.drain, self._refresh, self._reopen, self._succeed)
        for number, deed in zip(HELD, deeds, strict=True):
            asyncio.get_running_loop().add_signal_handler(number, deed)

    def _interrupt(self) -> None:
        if self.draining and self._starting.done():
            self._begin(self.crew.stop())
        else:
            self.drain()

    def _refresh(self) -> None:
        if not self.draining:
            self._begin(self.reload())

    def _reopen(self) -> None:
        if self._starting.done():
            self.crew.reopen()

    def _succeed(self) -> None:
        if self._heir is None and not self.draining and self._starting.done():
            self._heir = self._begin(self._bequeath())

    async def _bequeath(self) -> None:
        logger.info("a new master starts")
        try:
            pid = await beget(self._heritage, self._made, self._book.secret)
        except OSError as problem:
            logger.error("a new master cannot be started: %s", problem)  # noqa: TRY400 - no trace
            pid = 0
        self._heir = None
        if not pid:
            logger.error("the new master did not come up; this one goes on")
            return
        logger.info("master %d serves now; this one drains", pid)
        notify(os.environ, f"MAINPID={pid}")
        self._owner = False
        if self.admin is not None:
            self.admin.close()
        self.drain()

    @property
    def _heritage(self) -> Heritage:
        # What a successor finds open.
        return Heritage(tuple(self.doors), None if self.admin is None else self.admin.door)

    async def _finish(self) -> None:
        try:
            self.crew.retire()
            for door in self.doors:
                self._release(door)
            grace = await self._grace()
            logger.info("draining for at most %g s", grace)
            await self.crew.drain(grace)
        finally:
            self._over.set()

    async def _grace(self) -> float:
        # Workers may have found other rules just now.
        with suppress(RulesError):
            self.rules = await asyncio.to_thread(self._book.rules)
        return self.orders.grace(self.rules)

    def _learn(self) -> None:
        # A worker goes by other rules.
        self._begin(self._study())

    async def _study(self) -> None:
        text = self._book.text
        with suppress(RulesError):
            rules = await asyncio.to_thread(self._book.rules)
            if text == self._book.text:
                self._adopt(rules)

    def _adopt(self, rules: Rules) -> None:
        old, new = self.terms, self.orders.terms(rules)
        for word in ("listen", "workers", "admin"):
            now = getattr(new, word)
            # What is again as this master knows it is no news.
            if now not in (getattr(old, word), getattr(self._begun, word)):
                logger.warning("%s is not what it was; SIGUSR2 starts a master that knows", word)
        self.rules = rules

    def _release(self, door: Door) -> None:
        (door.remove if self._owner else door.close)()

    def _close(self) -> None:
        self._rounds.close()
        if self.admin is not None:
            self.admin.close()
            self._release(self.admin.door)
        for door in self.doors:
            self._release(door)

    def _begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
