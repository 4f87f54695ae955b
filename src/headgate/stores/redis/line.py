"""A line: one connection to one server, for one caller at a time.

Blocking calls, each within a budget of time that covers connecting, writing and reading. A line
on which anything went wrong is hung up: a late reply must never meet the next caller's question.
"""

from __future__ import annotations

import os
import select
import socket
import ssl
from typing import Any

from headgate.clock import SystemClock
from headgate.errors import StoreUnavailable
from headgate.stores.redis.place import Place
from headgate.stores.redis.wire import (
    ASKING,
    TROUBLE,
    Garbled,
    Question,
    Refusal,
    belongs,
    command,
    foreign,
    late,
    lost,
    nonces,
    reader,
    refused,
    unreached,
)

# Room for a reply; a longer one comes in pieces.
ROOM = 16384
BUSY = (BlockingIOError, InterruptedError, ssl.SSLWantReadError)
SLOW = (TimeoutError, *BUSY)
UNREACHED = (*TROUBLE, StoreUnavailable)


class Line:
    """A connection to `place`, made when it is built; each call has `budget` seconds.

    What comes in is waited for at the door, to the millisecond, whatever signals come in between.
    Under TLS, where bytes may be inside already, the socket itself waits.
    """

    def __init__(
        self, place: Place, clock: SystemClock, budget: float, deadline: int, era: int
    ) -> None:
        self.place = place
        self.era = era
        self.spot = (place.host, place.port, place.path)
        self.clock = clock
        self.budget = budget
        self.reader = reader()
        self.room = bytearray(ROOM)
        self.closed = False
        self.count = int.from_bytes(os.urandom(4), "little")
        try:
            self.socket = dial(place, self._left(deadline))
        except UNREACHED as problem:
            raise unreached(place, problem) from None
        self.door = select.poll()
        self.door.register(self.socket, select.POLLIN)
        self.timed = place.tls is not None
        if not self.timed:
            self.socket.settimeout(0.0)
        try:
            self._greet(deadline)
        except BaseException:
            self.close()
            raise

    def ask(self, question: Question, full: bool, asking: bool, deadline: int) -> Any:
        """The reply to a question, which may be a Refusal."""
        self.count += 1
        nonce = nonces(self.count)
        payload = b"%b%b%b" % (question.full if full else question.quick, nonce, question.rest)
        if asking:
            reply = self.tell(ASKING + payload, 2, deadline)[1]
        else:
            reply = self.tell(payload, 1, deadline)[0]
        if not belongs(reply, nonce):
            self.close()
            raise foreign(self.place)
        return reply

    def ask_many(self, questions: list[Question], deadline: int) -> list[Any]:
        """The replies to many questions, in their order, all in one journey."""
        first = self.count + 1
        self.count += len(questions)
        payload = [
            b"%b%b%b" % (question.quick, nonces(number), question.rest)
            for number, question in enumerate(questions, first)
        ]
        replies = self.tell(b"".join(payload), len(questions), deadline)
        if not all(belongs(reply, nonces(n)) for n, reply in enumerate(replies, first)):
            self.close()
            raise foreign(self.place)
        return replies

    def tell(self, payload: bytes, replies: int, deadline: int) -> list[Any]:
        """The replies to so many plain commands."""
        try:
            self._write(payload, deadline)
            found = [self._receive(deadline) for _ in range(replies)]
        except SLOW:
            self.close()
            raise late(self.place, self.budget) from None
        except OSError as problem:
            self.close()
            raise lost(self.place, problem) from None
        except Garbled:
            self.close()
            raise foreign(self.place) from None
        except BaseException:
            self.close()
            raise
        return found

    @property
    def quiet(self) -> bool:
        """Whether it is open and has nothing to say: neither a reply too many nor a goodbye."""
        if not self.timed:
            return not self.door.poll(0)
        try:
            self.socket.settimeout(0.0)
            self.socket.recv(1)
        except BUSY:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """Hang up."""
        self.closed = True
        self.socket.close()

    def _greet(self, deadline: int) -> None:
        said = self.place.greeting()
        payload = b"".join(command(*words) for words in said)
        for reply in self.tell(payload, len(said), deadline) if said else ():
            if isinstance(reply, Refusal):
                raise refused(reply, self.place)

    def _write(self, payload: bytes, deadline: int) -> None:
        left = self._left(deadline)
        if self.timed:
            self.socket.settimeout(left)
            self.socket.sendall(payload)
            return
        sent = self._push(payload)
        while sent < len(payload):
            outlet = select.poll()
            outlet.register(self.socket, select.POLLOUT)
            if not outlet.poll(self._left(deadline) * 1000):
                raise TimeoutError
            sent += self._push(payload[sent:])

    def _push(self, payload: bytes) -> int:
        try:
            return self.socket.send(payload)
        except BlockingIOError:
            return 0

    def _receive(self, deadline: int) -> Any:
        reply = self.reader.gets()
        while reply is False:
            size = self._piece(deadline)
            if not size:
                raise lost(self.place, "the server hung up")
            self.reader.feed(self.room, 0, size)
            reply = self.reader.gets()
        return reply

    def _piece(self, deadline: int) -> int:
        if self.timed:
            self.socket.settimeout(self._left(deadline))
            return self.socket.recv_into(self.room)
        while self.door.poll(self._left(deadline) * 1000):
            try:
                return self.socket.recv_into(self.room)
            except BlockingIOError:
                # Called to the door for nothing, which a kernel may do: nobody is late yet.
                continue
        raise TimeoutError

    def _left(self, deadline: int) -> float:
        left = deadline - self.clock.read()
        if left <= 0:
            raise late(self.place, self.budget)
        return left / 1e6


def dial(place: Place, timeout: float) -> socket.socket:
    """A connected socket."""
    if not place.path:
        made = socket.create_connection(place.address, timeout)
    else:
        made = socket.socket(socket.AF_UNIX)
    try:
        made.settimeout(timeout)
        if place.path:
            made.connect(place.path)
            return made
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return (
            made if place.tls is None else place.tls.wrap_socket(made, server_hostname=place.host)
        )
    except BaseException:
        made.close()
        raise
