"""AsyncRedisStore: state on Redis or Valkey, for event loops."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import AsyncGenerator, Awaitable
from typing import Any, cast

from headgate.algorithms.limit import Limit
from headgate.clock import Clock, SystemClock, microseconds
from headgate.drive import adrive
from headgate.errors import StoreUnavailable
from headgate.stores.fallback import Fallback
from headgate.stores.redis.async_line import AsyncLine
from headgate.stores.redis.errand import Errand, fail
from headgate.stores.redis.fleet import ONWARD, Find, Fleet, Send, asked, found, told
from headgate.stores.redis.ledger import RedisLedger, Tongue
from headgate.stores.redis.place import Place
from headgate.stores.redis.pulse import Pulse
from headgate.stores.redis.store import BUDGET, backed, given, shown, way, within
from headgate.stores.redis.wire import (
    STRANGE,
    Question,
    Refusal,
    command,
    foreign,
    late,
    reader,
    unreached,
)
from headgate.stores.watch import Watch


class AsyncRedisStore:
    """`RedisStore` for event loops: one connection to each server, shared by all tasks of a loop.

    Decisions of the same moment travel together.
    """

    awaited = True

    def __init__(self, server: Any, budget: float = BUDGET) -> None:
        self.route = way(server)
        self.budget = within(self.route.budget or budget)
        self.fleet = Fleet(self.route)
        self.watch = Watch(shown(self.route))
        self._pulse = Pulse()
        # The line used last: mostly the next question is for the same server, in the same loop.
        self._last: AsyncLine | None = None
        self._loops: weakref.WeakKeyDictionary[Any, Loop] = weakref.WeakKeyDictionary()
        reader()

    def open(
        self, limits: tuple[Limit, ...], name: str, clock: Clock | None = None,
        when_unavailable: str = "raise",
    ) -> RedisLedger | Fallback:  # fmt: skip
        """The ledger of `limits` under `name`; its verbs are awaited."""
        ledger = RedisLedger(
            Tongue(limits, name, given(clock)), self._carry, self._forget, self._run
        )
        return backed(ledger, self, when_unavailable)

    def clock(self) -> Clock:
        """The clock that limiters wait by; decisions go by the server's."""
        return SystemClock()

    async def beat(self) -> int:
        """Give a sign of life; answers how many processes have given one lately."""
        return await self._carry(self._pulse, self._pulse.read, self._pulse.sign)  # type: ignore[no-any-return]

    def put(self, question: Question | list[Question], read: Any) -> Awaitable[Any]:
        """`RedisStore.put`, awaited."""
        return self._carry(self._pulse, read, lambda asked: asked, question)

    async def close(self) -> None:
        """Hang up this loop's lines; the next call dials again."""
        here = self._loops.pop(asyncio.get_running_loop(), None)
        if here is not None:
            here.close()

    def _carry(
        self, tongue: Tongue | Pulse, read: Any, phrase: Any, key: Any = None, *said: Any
    ) -> Awaitable[Any]:
        if isinstance(key, list):
            return asyncio.gather(*[self._carry(tongue, read, phrase, one, *said) for one in key])
        if tongue.calendars:
            return self._paged(tongue, read, phrase, key, *said)
        return self._run(phrase(key, *said), read)

    async def _paged(self, tongue: Any, read: Any, phrase: Any, *said: Any) -> Any:
        clock = SystemClock(offset=0)
        until = clock.now() + microseconds(self.budget)
        try:
            reply = await self._run(phrase(*said), bytes)
            while tongue.turned(reply):
                if clock.now() >= until:
                    raise late(shown(self.route), self.budget)
                reply = await self._run(phrase(*said), bytes)
            return read(reply)
        except STRANGE:
            raise foreign(shown(self.route)) from None

    def _run(self, question: Question, read: Any, future: Any = None) -> asyncio.Future[Any]:
        # A future, not a coroutine: every coroutine on the way would have to be paid for.
        place = self.fleet.place(question.slot)
        loop = asyncio.get_running_loop()
        line = self._last
        if line is not None and line.place is place and line.loop is loop and line.broken is None:
            return line.run(question, read, future)
        if place is not None:
            self._last = self._line(place)
            return self._last.run(question, read, future)
        errand = Errand(question, loop.create_future() if future is None else future, read)
        self._mend(errand, None, None)
        return errand.future

    def _mend(self, errand: Errand, line: AsyncLine | None, refusal: Refusal | None) -> None:
        # The plain way did not lead there: try the others, beside whoever waits.
        left = self.budget if line is None else line.left(errand)
        if refusal is None and line is not None:
            if self.route.kind == "single":
                fail(errand, line.broken or unreached(line.place, "closed"))
                return
            line = None
        task = asyncio.ensure_future(self._fetch(errand, line, refusal, left))
        here = self._here()
        here.mending.add(task)
        task.add_done_callback(here.mending.discard)

    async def _fetch(
        self, errand: Errand, line: AsyncLine | None, refusal: Refusal | None, left: float
    ) -> None:
        try:
            reply = await asyncio.wait_for(self._seek(errand, line, refusal), left)
        except TimeoutError:
            fail(errand, late(shown(self.route), self.budget))
        except StoreUnavailable as problem:
            fail(errand, problem)
        except BaseException:
            # Whatever it was, who waits is told.
            fail(errand, foreign(shown(self.route)))
            raise
        else:
            self._read(errand, reply)

    async def _seek(self, errand: Errand, line: AsyncLine | None, refusal: Refusal | None) -> Any:
        # A refusal has no nonce: before the question is put again, its line must be in step, or
        # what was refused may be another one, and this one done already.
        place = None if line is None else line.place
        if line is not None and refusal is not None and refusal.word in ONWARD:
            word = os.urandom(8).hex().encode()
            if line.broken is not None or await line.tell(command("PING", word)) != word:
                line.close()
                raise foreign(place)
        flow = asked(self.fleet, cast("Question", errand.question), place, refusal)
        return await adrive(flow, self._perform)

    def _read(self, errand: Errand, reply: bytes) -> None:
        try:
            answer = errand.read(reply) if errand.read else reply
        except STRANGE:
            fail(errand, foreign(shown(self.route)))
            return
        if not errand.future.done():
            errand.future.set_result(answer)

    async def _perform(self, effect: Any) -> Any:
        if isinstance(effect, Send):
            line = self._line(effect.place)
            return await line.put(effect.question, effect.full, effect.asking)
        if isinstance(effect, Find):
            return await self._find()
        return await self._line(effect.place).tell(effect.payload)

    async def _find(self) -> None:
        # One search at a time; who comes meanwhile waits for it.
        here = self._here()
        if here.finding is None or here.finding.done():
            here.finding = asyncio.ensure_future(adrive(found(self.fleet), self._perform))
        await asyncio.shield(here.finding)

    async def _forget(self, key: bytes) -> None:
        work = adrive(told(self.fleet, key, command("UNLINK", key)), self._perform)
        try:
            await asyncio.wait_for(work, self.budget)
        except TimeoutError:
            raise late(shown(self.route), self.budget) from None

    def _here(self) -> Loop:
        loop = asyncio.get_running_loop()
        here = self._loops.get(loop)
        if here is None:
            here = self._loops.setdefault(loop, Loop())
            here.watch()
        return here

    def _line(self, place: Place) -> AsyncLine:
        lines = self._here().lines
        line = lines.get(place)
        if line is None or line.broken is not None:
            line = lines[place] = AsyncLine(place, self.budget, self._mend, self.fleet.doubt)
        return line

    def __repr__(self) -> str:
        return f"AsyncRedisStore({shown(self.route)!r})"


class Loop:
    """What belongs to one event loop: its lines, and the search that is on."""

    __slots__ = ("__weakref__", "end", "finding", "lines", "mending")

    def __init__(self) -> None:
        self.lines: dict[Place, AsyncLine] = {}
        self.finding: asyncio.Future[None] | None = None
        self.mending: set[asyncio.Future[None]] = set()
        self.end: Any = None

    def watch(self) -> None:
        """Have the lines hung up when the loop ends: it closes every generator that is open."""
        generator = ending(weakref.ref(self))
        self.end = generator, asyncio.ensure_future(anext(generator))

    def close(self) -> None:
        """Hang up."""
        for line in self.lines.values():
            line.close()
        self.lines.clear()


async def ending(here: weakref.ref[Loop]) -> AsyncGenerator[None, None]:
    """Stands still until the loop ends."""
    try:
        yield
    finally:
        loop = here()
        if loop is not None:
            loop.close()
