"""A line for event loops: one connection to one server, shared by every task of a loop.

Questions of one turn of the loop are written together, and replies come back in their order. Those
that ask the same, about the same key, are put to the server as one with several answers. Each
question has a budget: ticks of an eighth of it are counted while anybody waits. A late reply is
taken and thrown away; when none has come for several budgets, or a reply is not the one that was
due, the line is hung up, all who wait are told, and the next question makes a new one.

A question that was refused, or never left, is handed to `mend`, which may know another way. When a
line is hung up, `doubt` is told where.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from typing import Any, cast

from headgate.clock import SystemClock
from headgate.errors import StoreUnavailable
from headgate.stores.redis.errand import Errand, Future, fail, part
from headgate.stores.redis.place import Place
from headgate.stores.redis.wire import (
    ASKING,
    TROUBLE,
    Question,
    Refusal,
    Unsent,
    again,
    belongs,
    command,
    crowded,
    foreign,
    late,
    lost,
    nonces,
    reader,
    refused,
    unreached,
)

TICKS = 8
# Some loops count in milliseconds, and take a shorter wait for none.
SHORTEST = 0.001
# After so many budgets without a reply the line is taken for dead.
DEAD = 4
# Nobody is let in behind so many who wait.
MOST = 20_000
# So many pieces are written at once, so that the server begins while the others are still asking.
BATCH = 3 * 16

# Told of the errand, the line it was on, and the refusal; none if it never left.
Mend = Callable[[Errand, Any, Refusal | None], None]


class AsyncLine:
    """A connection to `place` that is being made or stands."""

    def __init__(
        self, place: Place, budget: float, mend: Mend, doubt: Callable[[Place], None]
    ) -> None:
        self.place = place
        self.budget = budget
        self.mend = mend
        self.doubt = doubt
        self.loop = asyncio.get_running_loop()
        self.reader = reader()
        self.count = int.from_bytes(os.urandom(4), "little")
        self.transport: asyncio.Transport | None = None
        self.broken: StoreUnavailable | None = None
        self.out: list[bytes] = []
        # Who was the last in it to ask about a key: another that asks the same may join.
        self.fresh: dict[bytes, Errand] = {}
        # Who waits, in the order of the wire; so many of the first have been told already; and how
        # many it is with those that travel with others.
        self.due: deque[Errand] = deque()
        self.told = 0
        self.waiting = 0
        self.time = 0
        self.ticking = False
        self.clock = SystemClock(offset=0)
        self.next = 0.0
        self.greeted = 0
        self.task = self.loop.create_task(self._connect())

    def run(self, question: Question, read: Callable[[bytes], Any], future: Any = None) -> Future:
        """A future of what `read` makes of the answer, wherever it has to be got.

        It may be given: whatever is told as a future is.
        """
        if future is None:
            future = self.loop.create_future()
        errand = Errand(question, future, read)
        first = self.fresh.get(question.slot)
        if first is not None and self.waiting < MOST and first.join(errand, self.out, self.time):
            self.waiting += 1
        else:
            self._send(question.quick, question.rest, errand)
        return future  # type: ignore[no-any-return]

    def put(self, question: Question, full: bool, asking: bool) -> Future:
        """A future of the reply to a question, which may be a Refusal."""
        if asking:
            self.tell(ASKING)
        errand = Errand(question, self.loop.create_future(), None)
        self._send(question.full if full else question.quick, question.rest, errand)
        return errand.future

    def tell(self, payload: bytes) -> Future:
        """A future of the reply to a plain command."""
        errand = Errand(None, self.loop.create_future(), None)
        self._send(payload, b"", errand)
        return errand.future

    def left(self, errand: Errand) -> float:
        """The seconds that an errand of this line still has."""
        return self.budget * (TICKS - (self.time - errand.time)) / TICKS

    def close(self) -> None:
        """Hang up; who waits is told."""
        self._break(lost(self.place, "it was closed"))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say who we are, then whatever was to be said."""
        # Other loops have transports of their own kind.
        wire = cast("asyncio.Transport", transport)
        if self.broken is not None:
            wire.abort()
            return
        self.transport = wire
        said = [command(*words) for words in self.place.greeting()]
        self.greeted = len(said)
        wire.write(b"".join(said))
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Give every reply to whoever is due; nothing that goes wrong here leaves it."""
        try:
            self.reader.feed(data)
            gets, due = self.reader.gets, self.due
            while (reply := gets()) is not False:
                if self.greeted:
                    self._greet(reply)
                    continue
                errand = due.popleft()
                if self.told:
                    self.told -= 1
                self._answer(errand, reply)
        except Exception:
            self._break(foreign(self.place))

    def eof_received(self) -> None:
        """The server hung up: so do we."""

    def pause_writing(self) -> None:
        """Go on: what waits is bounded by the number of those who wait."""

    def resume_writing(self) -> None:
        """Go on as before."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell who waits."""
        self._break(lost(self.place, exc or "the server hung up"))

    async def _connect(self) -> None:
        # A protocol in all but its ancestry, which compiled classes cannot have.
        def made() -> asyncio.Protocol:
            return cast("asyncio.Protocol", self)

        try:
            if self.place.path:
                await self.loop.create_unix_connection(made, self.place.path)
            else:
                host, port = self.place.address
                named = host if self.place.tls else None
                await self.loop.create_connection(
                    made, host, port, ssl=self.place.tls, server_hostname=named
                )
        except asyncio.CancelledError:
            self._break(unreached(self.place, "nobody waited"))
        except TROUBLE as problem:
            self._break(unreached(self.place, problem))

    def _send(self, head: bytes, rest: bytes, errand: Errand) -> None:
        if self.broken is not None:
            raise again(self.broken)
        if self.waiting >= MOST:
            raise crowded(self.place, MOST)
        out = self.out
        if not out:
            self.loop.call_soon(self._flush)
        if errand.question is None:
            out.append(head)
            # Nobody knows which keys it is about.
            self.fresh.clear()
        else:
            self.count += 1
            errand.nonce = nonces(self.count)
            errand.spot = len(out)
            self.fresh[errand.question.slot] = errand
            out += (head, errand.nonce, rest)
        if len(out) >= BATCH:
            self._flush()
        errand.time = self.time
        self.due.append(errand)
        self.waiting += 1
        if not self.ticking:
            self.ticking = True
            self._wind()

    def _answer(self, errand: Errand, reply: Any) -> None:
        together = errand.all()
        self.waiting -= len(together)
        try:
            self._deliver(together, reply)
        except Exception:
            # All who travelled together are told: the reply was theirs, too.
            for one in together:
                fail(one, foreign(self.place))
            raise

    def _deliver(self, together: list[Errand], reply: Any) -> None:
        first = together[0]
        if first.question is not None and not belongs(reply, first.nonce):
            raise ValueError("it answers another question")
        for number, one in enumerate(together):
            if not one.future.done():
                self._tell(one, part(reply, number))

    def _tell(self, errand: Errand, reply: Any) -> None:
        if errand.read is None:
            errand.future.set_result(reply)
        elif type(reply) is not bytes:
            self.mend(errand, self, reply)
        else:
            errand.future.set_result(errand.read(reply))

    def _greet(self, reply: Any) -> None:
        self.greeted -= 1
        if isinstance(reply, Refusal):
            self._break(refused(reply, self.place))

    def _flush(self) -> None:
        if self.transport is not None and self.out and self.broken is None:
            self.transport.write(b"".join(self.out))
            self.out.clear()
            self.fresh.clear()

    def _tick(self) -> None:
        # Those whose budget is over are told; the line itself has a few of them.
        self.time += 1
        waited = self.time - self.due[0].time if self.due else 0
        if waited >= TICKS and self.transport is None:
            self._break(unreached(self.place, f"no connection within {self.budget:g} s"))
        elif waited >= DEAD * TICKS:
            self._break(late(self.place, self.budget * DEAD))
        while self.told < len(self.due) and self.due[self.told].time + TICKS <= self.time:
            for errand in self.due[self.told].all():
                fail(errand, late(self.place, self.budget))
            self.told += 1
        self.ticking = bool(self.due)
        if self.ticking:
            self._wind()

    def _wind(self) -> None:
        # By the moment of the last tick, so that small delays do not add up; after a large one
        # anew, or those would be told they are late whose replies have come and are not read yet.
        # Loops differ in what their timers tell, so the moment is kept here.
        span, now = self.budget / TICKS, self.clock.now() / 1e6
        self.next = span + (self.next if now < self.next + span else now)
        self.loop.call_later(max(self.next - now, SHORTEST), self._tick)

    def _break(self, problem: StoreUnavailable) -> None:
        if self.broken is not None:
            return
        self.broken = problem
        self.doubt(self.place)
        self.task.cancel()
        if self.transport is not None:
            self.transport.abort()
        due, self.due, self.told, self.waiting = self.due, deque(), 0, 0
        self.out.clear()
        self.fresh.clear()
        for errand in [one for first in due for one in first.all()]:
            if errand.read is not None and isinstance(problem, Unsent) and not errand.future.done():
                self.mend(errand, self, None)
            else:
                fail(errand, problem)
