"""Valve: an answer on its way to a client, held back as rules will have it."""

from __future__ import annotations

from collections import deque
from typing import Any

from headgate.rules.live.entry import Entry
from headgate.rules.live.pieces import cut
from headgate.wire.exchange import ROOM, Exchange


class Valve:
    """Lets the body of an answer through in pieces, each when it is due and the client takes it in.

    A rule may also want to keep the answer; it is told what goes through. `last` is what comes
    after the body, `dry` says that nothing is left to send.
    """

    __slots__ = (
        "_ended", "_entry", "_errands", "_exchange", "_framed", "_parts", "_running", "_size",
        "last",
    )  # fmt: skip

    def __init__(self, errands: Any, exchange: Exchange, entry: Entry) -> None:
        self._errands = errands
        self._exchange = exchange
        self._entry = entry
        self._parts: deque[bytes] = deque()
        self._size = 0
        self._framed = self._ended = self._running = False
        self.last = b""

    @property
    def dry(self) -> bool:
        """Whether everything has gone through."""
        return not self._running and not self._parts and not self.last

    def take(self, part: bytes, framed: bool) -> None:
        """Take a part of the body, to be sent in chunks if it is `framed`."""
        self._framed = framed
        self._entry.send(part)
        self._parts.append(part)
        self._size += len(part)
        self._start()
        if self._size > ROOM and self._exchange.outlet is not None:
            self._exchange.outlet.pause()

    def finish(self) -> None:
        """There is no more to come."""
        self._ended = True
        self._start()

    def resume(self) -> None:
        """The client takes in more again."""
        self._start()
        self._relieve()

    def close(self) -> None:
        """Nobody wants the rest."""
        self._parts.clear()
        self.last = b""

    def _start(self) -> None:
        if self._running or self._exchange.inlet.clogged or (self.dry and not self._ended):
            return
        self._running = True
        # Until it has gone through, nobody is late.
        self._exchange.inlet.deadline = 0
        self._errands.begin(self._exchange, self._run())

    async def _run(self) -> None:
        exchange = self._exchange
        inlet = exchange.inlet
        while self._parts and not inlet.clogged:
            await self._pass(self._parts.popleft())
            self._relieve()
        self._running = False
        exchange.task = None
        if self._parts:
            # It goes on when the client does.
            return
        last, self.last = self.last, b""
        if last:
            inlet.write(last)
        if self._ended:
            self._errands.desk.conclude(exchange)
        else:
            self._errands.desk.stall(exchange)

    async def _pass(self, part: bytes) -> None:
        entry, inlet = self._entry, self._exchange.inlet
        for piece in cut(part, entry.piece) if entry.bandwidth else (part,):
            await self._errands.desk.keeper.pour(entry, len(piece))
            inlet.write(b"%x\r\n%b\r\n" % (len(piece), piece) if self._framed else piece)
            self._size -= len(piece)

    def _relieve(self) -> None:
        # Have the server go on, if there is room for what it says.
        outlet = self._exchange.outlet
        if outlet is not None and self._size < ROOM // 2 and not self._exchange.inlet.clogged:
            outlet.resume()
