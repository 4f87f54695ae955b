"""Connection: somebody who speaks as one does to a Redis.

Commands that came at once are answered at once, in their order; one that has to wait for a store
holds back the answers to those behind it, but not the commands themselves.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable
from functools import partial
from typing import Any

from headgate.service.guest import PARTING, asks
from headgate.service.resp.clerk import Clerk, clerk
from headgate.service.resp.reader import Garbage, Reader
from headgate.service.resp.spoken import error, trouble
from headgate.wire.ear import Ear

# So many commands may be under way; then nothing more is read until half of them are answered.
PENDING = 1000
# So many bytes are said before one looks whether they are taken in.
PORTION = 65_536


class Slip:
    """The place of an answer that is not there yet, among those that wait for it."""

    __slots__ = ("answer", "task")

    def __init__(self, answer: bytes = b"", task: Any = None) -> None:
        self.answer = answer
        self.task = task


class Connection(Ear):
    """Somebody who is connected at `port`, from the address `peer`."""

    __slots__ = (
        "__weakref__", "caller", "choked", "clerk", "clogged", "deadline", "ended", "gone", "hall",
        "house", "last", "leaving", "modern", "name", "number", "out", "peer", "port", "queue",
        "reader", "transport",
    )  # fmt: skip

    def __init__(self, hall: Any, port: Any, peer: str) -> None:
        self.hall = hall
        self.house = hall.house
        self.port = port
        self.peer = peer
        self.clerk: Clerk = clerk(hall)
        self.number = self.clerk.number()
        self.transport: Any = None
        self.deadline = 0
        self.reader = Reader()
        # What is to be said, and the answers that wait for others.
        self.out: list[bytes] = []
        self.queue: deque[Slip] = deque()
        # Whether nothing is read: it asks too much at once, or takes in too little. Whether it is
        # told no more than what it has asked, and whether it is not there any more.
        self.choked = self.clogged = self.last = self.gone = False
        # Whether it says no more; and by when it is to go, if it is.
        self.ended = False
        self.leaving = 0
        self.renew()

    def renew(self) -> None:
        """Begin anew, as somebody who has said nothing yet."""
        self.caller = self.hall.callers.named(self.port.caller) if self.port.caller else None
        self.name = b""
        # Whether it is spoken to in the third version of the protocol.
        self.modern = False

    @property
    def busy(self) -> bool:
        """Whether something that it asked is still to be answered."""
        return bool(self.queue)

    @property
    def stranger(self) -> bool:
        """Whether it has to say who it is first."""
        return self.caller is None and self.hall.callers.needed

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.hall.greet(self)

    def data_received(self, data: bytes | memoryview) -> None:
        if self.last:
            return
        self.reader.feed(data)
        self.serve()

    def serve(self) -> None:
        """Do what has been asked, as far as it is here and the answers are taken in."""
        reader, desk, size = self.reader, self.clerk, 0
        try:
            while not (self.choked or self.clogged or self.last):
                words = reader.take()
                if words is None:
                    break
                if words:
                    answer = desk.answer(self, words)
                    if type(answer) is bytes and not self.queue:
                        self.out.append(answer)
                        size += len(answer)
                        if size >= PORTION:
                            size = 0
                            self.pour()
                    else:
                        self.hold(answer)
        except Garbage as problem:
            self.put(error(f"Protocol error: {problem}"))
            self.last = True
        self.say()

    def hold(self, answer: bytes | Awaitable[bytes]) -> None:
        """Keep an answer until it is there, and those before it."""
        if type(answer) is bytes:
            self.put(answer)
            return
        slip = Slip(task=asyncio.ensure_future(answer))  # type: ignore[arg-type]
        slip.task.add_done_callback(partial(self.arrive, slip))
        self.queue.append(slip)
        self.heed()

    def put(self, answer: bytes) -> None:
        """Have something said when what comes before it is."""
        if self.queue:
            self.queue.append(Slip(answer))
            self.heed()
        else:
            self.out.append(answer)

    def arrive(self, slip: Slip, task: Any) -> None:
        """An answer is there."""
        slip.task = None
        problem = None if task.cancelled() else task.exception()
        if task.cancelled():
            slip.answer = error("the service ends")
        else:
            slip.answer = task.result() if problem is None else trouble(problem)
        queue = self.queue
        while queue and queue[0].task is None:
            self.out.append(queue.popleft().answer)
        if not self.out:
            return
        if self.choked and len(queue) <= PENDING // 2:
            self.choked = False
            self.serve()
            self.heed()
        else:
            self.say()

    def pour(self) -> None:
        """Send what there is to be said so far, and be told if it is not taken in."""
        self.transport.write(b"".join(self.out))
        self.out.clear()
        # A socket on a wheel would be written to when all is said.
        self.transport.get_write_buffer_size()

    def say(self) -> None:
        """Send what there is to be said."""
        out = self.out
        if self.gone:
            out.clear()
            return
        if len(out) == 1:
            self.transport.write(out[0])
            out.clear()
        elif out:
            self.transport.write(b"".join(out))
            out.clear()
        self.watch()
        if not self.queue and (self.last or self.leaving) and self.finished:
            self.finish()

    @property
    def finished(self) -> bool:
        """Whether it has been told all that it asked, and no more of that is on its way."""
        return self.last or not (self.reader.amid or asks(self.transport))

    def finish(self) -> None:
        """Say no more, and give it a moment to hear what was said last."""
        self.last = True
        # Over TLS one cannot hang up and listen.
        if self.ended or not self.transport.can_write_eof():
            self.transport.close()
            return
        self.transport.write_eof()
        self.transport.resume_reading()
        self.watch()

    def watch(self) -> None:
        """Be looked at again when it has been silent, or deaf, for too long."""
        house = self.house
        if self.clogged:
            self.deadline = house.now + house.until_sent
        elif self.queue:
            # The store that is asked has a budget of its own.
            self.deadline = 0
        elif self.last:
            self.deadline = house.now + house.until_closed
        elif self.leaving:
            self.deadline = self.leaving
        elif self.reader.amid:
            self.deadline = house.now + house.until_body
        else:
            self.deadline = house.now + house.until_idle

    def heed(self) -> None:
        """Read, or do not."""
        if len(self.queue) >= PENDING:
            self.choked = True
        if self.gone:
            return
        if self.choked or self.clogged:
            self.transport.pause_reading()
        elif not self.last:
            self.transport.resume_reading()

    def pause_writing(self) -> None:
        self.clogged = True
        self.watch()
        self.heed()

    def resume_writing(self) -> None:
        self.clogged = False
        self.serve()
        self.heed()

    def eof_received(self) -> bool:
        # Half a command is none.
        self.last = self.ended = True
        return bool(self.queue)

    def connection_lost(self, problem: Exception | None) -> None:
        self.gone = self.last = True
        self.hall.part(self)

    def leave(self) -> None:
        """Be told what it has asked, and no more."""
        self.last = True

    def expire(self) -> None:
        """Its deadline is over."""
        if self.leaving and not (self.last or self.clogged):
            self.finish()
        else:
            self.transport.abort()

    def retire(self) -> None:
        """The service ends: it goes when it has been answered, or soon if it asks nothing."""
        if not self.last:
            self.leaving = self.house.now + PARTING
            self.watch()
