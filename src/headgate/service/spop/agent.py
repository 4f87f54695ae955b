"""Agent: a connection of HAProxy's, which asks by it what to do with requests.

It greets, then sends one question after the other without waiting for answers. What can be answered
at once is answered in one piece for all that came in one; the rest when it is known, each under the
number of its question. Whoever says something else is told what was wrong with it, and hung up on.
"""

from __future__ import annotations

import logging
from asyncio import Task
from collections.abc import Awaitable
from typing import Any

from headgate.service.guest import PARTING, asks
from headgate.service.hall import Hall
from headgate.service.spop.desk import reached
from headgate.service.spop.frames import (
    ACK,
    INVALID,
    LATE,
    NORMAL,
    NOTIFY,
    PROXY_DISCONNECT,
    PROXY_HELLO,
    UNMARKED,
    Flaw,
    Tape,
    Terms,
    farewell,
    frame,
    head,
    hello,
    messages,
    reach,
    terms,
)
from headgate.service.spop.greeting import agreed
from headgate.wire.ear import Bytes, Ear

logger = logging.getLogger("headgate.service")

# So long a greeting may be; and a frame.
GREETING = 1024
LARGEST = 1 << 20
# So many answers of a connection may be waited for, and so many questions are read in one go.
UNDERWAY = 1000
ROUND = 256
# Beyond what the protocol numbers: nobody here knows who asks.
STRANGER = 102


class Agent(Ear):
    """A connection of HAProxy's. See `Guest` for what a hall knows of it."""

    __slots__ = (
        "__weakref__", "caller", "clogged", "deadline", "desk", "greeted", "hall", "held",
        "lacking", "leaving", "longest", "lost", "over", "partial", "peer", "port", "tasks",
        "transport",
    )  # fmt: skip

    def __init__(self, hall: Hall, port: Any, peer: str) -> None:
        self.hall = hall
        self.port = port
        self.peer = peer
        self.desk = reached(hall)
        self.caller: Any = None
        self.transport: Any = None
        self.deadline = 0
        # What has come and is not read yet, and how much of it has to come before it can be.
        self.held: list[bytes] = []
        self.lacking = 0
        self.longest = GREETING
        self.tasks: set[Task[None]] = set()
        # Whether it has said who it is; waits for the rest of a frame; takes in nothing.
        self.greeted = self.partial = self.clogged = False
        # Whether it is to go when all is answered; was told to; has gone.
        self.leaving = self.over = self.lost = False

    @property
    def busy(self) -> bool:
        """Whether an answer is still awaited."""
        return bool(self.tasks)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.hall.greet(self)

    def data_received(self, data: Bytes) -> None:
        if self.over:
            return
        self.held.append(bytes(data))
        self.lacking -= len(data)
        if self.lacking <= 0:
            self.proceed()

    def proceed(self) -> None:
        """Read what there is."""
        data = self.held[0] if len(self.held) == 1 else b"".join(self.held)
        said: list[bytes] = []
        try:
            at = self.read(data, said)
        except Flaw as flaw:
            self.part(flaw.status, flaw.message, said)
            return
        if said:
            self.transport.write(said[0] if len(said) == 1 else b"".join(said))
        if not self.over:
            self.held = [data[at:]] if at < len(data) else []
            self.wait()

    def read(self, data: bytes, said: list[bytes]) -> int:
        """Answer whole frames, as many as may be; where the next begins, which has its own time."""
        at = count = 0
        self.lacking = 0
        while at < len(data) and count < ROUND and len(self.tasks) < UNDERWAY and not self.over:
            end = reach(data, at, self.longest)
            if end > len(data):
                self.lacking = end - len(data)
                break
            self.heed(Tape(data, at + 4, end), said)
            at, self.partial = end, False
            count += 1
        return at

    def wait(self) -> None:
        """See what is waited for, and until when."""
        house = self.hall.house
        if self.clogged:
            return
        if self.held and not self.lacking:
            # There is more to do, in a moment or when something is answered.
            self.transport.pause_reading()
            self.partial = False
            self.deadline = 0
            if len(self.tasks) < UNDERWAY:
                self.hall.loop.call_soon(self.go_on)
        elif self.leaving:
            self.transport.pause_reading()
            self.deadline = 0
            if not self.tasks:
                self.part(NORMAL, "the service ends", [])
        elif self.held:
            if not self.partial:
                self.deadline = house.now + house.until_head
            self.partial = True
        else:
            self.partial = False
            if self.greeted:
                self.deadline = 0 if self.tasks else house.now + house.until_idle

    def go_on(self) -> None:
        """Read what was put off."""
        if self.lost or self.over or self.clogged:
            return
        if not self.leaving:
            self.transport.resume_reading()
        if self.held and not self.lacking:
            self.proceed()

    def heed(self, tape: Tape, said: list[bytes]) -> None:
        """Do what one frame asks for."""
        kind, mark = head(tape)
        if kind == NOTIFY and self.greeted:
            found = self.desk.answer(messages(tape), self.known())
            if isinstance(found, bytes):
                said.append(frame(ACK, mark, found))
            else:
                self.send(mark, found)
        elif kind == PROXY_HELLO and not self.greeted and mark == UNMARKED:
            self.greet(terms(tape), said)
        elif kind == PROXY_DISCONNECT:
            told = terms(tape)
            logger.debug("HAProxy leaves: %s, %s", told.get("status-code"), told.get("message"))
            self.part(NORMAL, "goodbye", said)
        else:
            raise Flaw(INVALID, f"a frame of kind {kind} has no place here")

    def greet(self, told: Terms, said: list[bytes]) -> None:
        """Agree on how to go on, with who is known here."""
        size = agreed(told)
        self.known()
        self.greeted = True
        self.longest = min(size, self.hall.house.body, LARGEST)
        said.append(hello(self.longest))
        if told.get("healthcheck") is True:
            self.transport.write(b"".join(said))
            said.clear()
            self.finish()

    def known(self) -> Any:
        """Who it is, by the rules in force; whoever has to be known and is not has to go."""
        name, callers = self.port.caller, self.hall.callers
        if not name and callers.needed:
            raise Flaw(STRANGER, "nobody here knows who asks at this port")
        self.caller = callers.named(name) if name else None
        return self.caller

    def send(self, mark: bytes, question: Awaitable[bytes]) -> None:
        """Have a question answered when that can be done."""
        task = self.hall.loop.create_task(self._send(mark, question))
        self.tasks.add(task)
        task.add_done_callback(self.settle)

    async def _send(self, mark: bytes, question: Awaitable[bytes]) -> None:
        said = await question
        if not (self.over or self.lost):
            self.transport.write(frame(ACK, mark, said))

    def settle(self, task: Task[None]) -> None:
        """Something was answered."""
        self.tasks.discard(task)
        if self.over or self.lost:
            return
        if self.held and not self.lacking:
            self.go_on()
        elif not self.tasks:
            self.wait()

    def part(self, status: int, message: str, said: list[bytes]) -> None:
        """Say goodbye, and why."""
        if status != NORMAL:
            self.desk.bell.ring("HAProxy at %s is hung up on: %s", self.peer or "a socket", message)
        self.transport.write(b"".join([*said, farewell(status, message)]))
        said.clear()
        self.finish()

    def finish(self) -> None:
        """Say no more, and give it a moment to hear what was said last."""
        self.over = True
        self.held = []
        self.forget()
        self.deadline = self.hall.house.now + self.hall.house.until_closed
        self.transport.resume_reading()
        # Over TLS one cannot hang up and listen.
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self.transport.close()

    def expire(self) -> None:
        """It took too long."""
        if self.over or self.clogged:
            self.transport.abort()
        elif self.greeted and not self.partial:
            self.part(NORMAL, "nothing was asked for so long", [])
        else:
            self.part(LATE, "a frame took too long", [])

    def retire(self) -> None:
        """Take leave, when what is under way is answered."""
        if self.over:
            return
        self.leaving = True
        if asks(self.transport) and not (self.held or self.clogged):
            # What has come already is read, once.
            self.deadline = self.hall.house.now + PARTING
        else:
            self.wait()

    def pause_writing(self) -> None:
        self.clogged = True
        if not self.over:
            self.deadline = self.hall.house.now + self.hall.house.until_sent
            self.transport.pause_reading()

    def resume_writing(self) -> None:
        self.clogged = False
        if not self.over:
            self.wait()
            self.go_on()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, problem: Exception | None) -> None:
        self.lost = True
        self.forget()
        self.hall.part(self)

    def forget(self) -> None:
        """Give up what nobody waits for any more."""
        for task in self.tasks:
            # Those that were made just now begin before, and can give back what they took.
            self.hall.loop.call_soon(task.cancel)
