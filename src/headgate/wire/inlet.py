"""Inlet: a client's connection. Requests are read one after another, and answered in that order.

A parser reads them; what it understood is told anew to a server, and what it did not, or what two
servers could understand differently, is answered with a 400 and the end of the connection.
"""

from __future__ import annotations

from typing import Any

from headgate.wire.ear import Bytes, Ear
from headgate.wire.exchange import CHUNKED, Exchange
from headgate.wire.house import House
from headgate.wire.names import LOOSE, PLAIN, meaning, untied
from headgate.wire.phases import ANSWERING, BODY, HEAD, IDLE, LINGERING, TUNNEL, WAITING
from headgate.wire.pipe import Pipe
from headgate.wire.reader import MODERN, OLD, REQUESTS, SPOILT, Reader

# So many requests that were sent at once wait for each other, in so many bytes.
QUEUE = 16
HELD = 65_536
# What a body in chunks may have besides: so much, and so many times itself.
SLACK = 16_384
EXCESS = 8
SPACE = 32


class Inlet(Ear):
    """A connection of a client.

    `peer` is the address of who has connected, if it has one. The first in `queue` is under way;
    `latest` is the request that is being read. `limit` is when the request under way has to be
    answered at the latest, and `deadline` that of its phase; 0 is never.
    """

    __slots__ = (
        "barren", "behind", "client", "clogged", "counted", "data", "deadline", "desk", "feeding",
        "forwarded", "halted", "held", "house", "key", "known", "latest", "limit", "lost",
        "manners", "paused", "peer", "phase", "pipe", "queue", "reader", "scheme", "served",
        "transport", "trusted", "well",
    )  # fmt: skip

    def __init__(self, desk: Any, house: House, scheme: str, peer: str) -> None:
        self.desk = desk
        self.house = house
        self.scheme = scheme
        self.peer = peer
        self.transport: Any = None
        self.pipe: Pipe | None = None
        self.queue: list[Exchange] = []
        self.latest: Any = None
        # What came too early, and the connection that a tunnel leads to.
        self.held: list[bytes] = []
        self.well: Any = None
        # Who it is, by which manners, what they were counted as, and what servers are told.
        self.client: Any = None
        self.key = ""
        self.manners: Any = None
        self.counted = ""
        self.trusted = False
        self.forwarded = b""
        # Whether it takes in nothing more for now, and whether nothing is read from it: for others'
        # sake, or because of that.
        self.clogged = self.paused = self.halted = False
        self.lost = self.feeding = False
        # What is being read, and whether a request has ended in it; how much was read of a body
        # since something came of it, and what had come until then.
        self.data: Bytes = b""
        self.behind = False
        self.barren = self.known = 0
        self.served = self.deadline = self.limit = 0
        self.phase = IDLE
        self.reader = Reader(self, REQUESTS)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.pipe = transport if isinstance(transport, Pipe) else None
        self.desk.greet(self)

    def data_received(self, data: Bytes) -> None:
        if self.phase >= TUNNEL:
            if self.phase == TUNNEL and self.well is not None:
                self.well.write(data)
        elif self.latest is None and self.queue:
            self.hold(data)
        else:
            self.read(data)
            self.proceed()

    def read(self, data: Bytes) -> None:
        """Have requests parsed."""
        self.feeding = True
        self.behind = False
        self.data = data
        try:
            end = self.reader.feed(data)
        finally:
            self.feeding = False
            self.data = b""
        if end >= 0:
            # What follows waits for the answer.
            self.reader.renew()
            if len(data) > end:
                self.hold(data[end:])
        elif end == SPOILT:
            self.spoil()
        if self.latest is not None:
            self.measure(self.latest, data)

    def measure(self, exchange: Exchange, data: Bytes) -> None:
        """See that there is not too much of anything in what was read of a request."""
        exchange.unread += len(data)
        if not exchange.headed:
            exchange.raw += bytes(data)
            if exchange.unread > self.house.head:
                self.blame(431 if exchange.lines else 414)
            return
        known = exchange.carried + exchange.lines
        self.barren = self.barren + len(data) if known == self.known else 0
        self.known = known
        if self.barren > self.house.head:
            # Such as a trailer without an end.
            self.blame(400)
        elif exchange.length == CHUNKED and (
            exchange.unread - exchange.weight > SLACK + EXCESS * exchange.carried
        ):
            self.blame(400)

    def hold(self, data: Bytes) -> None:
        """Keep what belongs to later requests until it is their turn."""
        self.held.append(bytes(data))
        if sum(map(len, self.held)) > HELD:
            self.pause()

    def on_message_begin(self) -> None:
        if self.phase >= TUNNEL:
            raise ValueError
        self.latest = Exchange(self, self.desk)
        if self.behind:
            # What came before it at once is not its own.
            self.latest.unread = -len(self.data)
        if not self.queue:
            self.phase = HEAD
            self.deadline = self.house.now + self.house.until_head

    def on_url(self, part: bytes) -> None:
        exchange = self.latest
        exchange.target = exchange.target + part if exchange.target else part
        if len(exchange.target) > self.house.head:
            exchange.fault = 414
            raise ValueError

    def on_header(self, name: bytes, value: bytes) -> None:
        exchange = self.latest
        if exchange is None:
            # A trailer of what was answered before it came.
            return
        exchange.lines += 1
        exchange.weight += len(name) + len(value)
        kind = meaning(name)
        if kind == PLAIN and not exchange.headed:
            size = len(value)
            if size > 0 and value[size - 1] <= SPACE:
                # The parser leaves them on.
                value = value.rstrip(b" \t")
            said = exchange.said
            said.append(name)
            said.append(value)
        else:
            exchange.note(name, value, kind)
        if exchange.lines > self.house.lines or exchange.weight > self.house.head:
            exchange.fault = 431
            raise ValueError

    def on_headers_complete(self) -> None:
        exchange = self.latest
        reader = self.reader
        old = reader.version != MODERN and self.aged(exchange, reader.version)
        # From now on the body's.
        exchange.unread = exchange.weight - len(self.data)
        self.barren = 0
        exchange.settle(reader.method, reader.keeps, old, reader.turns)
        if exchange.ties and exchange.ties not in LOOSE:
            exchange.said = untied(exchange.said, exchange.ties)
        if exchange.length > self.house.body:
            exchange.fault = exchange.fault or 413
        if len(self.queue) >= QUEUE or self.phase >= TUNNEL:
            # It asks for more than is answered.
            raise ValueError
        self.queue.append(exchange)
        if len(self.queue) == 1:
            self.start(exchange)

    def aged(self, exchange: Exchange, version: int) -> bool:
        """Whether it speaks HTTP/1.0; what speaks neither that nor HTTP/1.1 is no request."""
        # The parser knows other protocols of that number.
        line = exchange.target + b" HTTP/1.0\r\n"
        if version != OLD or line not in exchange.raw + bytes(self.data):
            exchange.fault = 400
        return version == OLD

    def start(self, exchange: Exchange) -> None:
        """It is a request's turn."""
        self.served += 1
        if self.served >= self.house.requests:
            exchange.keep = False
        if exchange.whole:
            self.phase = WAITING
        else:
            self.phase = BODY
            self.deadline = self.house.now + self.house.until_body
        self.desk.admit(exchange)

    def on_body(self, part: Bytes) -> None:
        exchange = self.latest
        if exchange is None or exchange.over:
            return
        exchange.carried += len(part)
        if exchange.carried > self.house.body:
            exchange.fault = 413
            raise ValueError
        # Until a server takes it in, it is not the client who is waited for.
        if self.phase == BODY and exchange.outlet is not None:
            self.deadline = self.house.now + self.house.until_body
        exchange.send(part)

    def on_message_complete(self) -> None:
        exchange = self.latest
        self.behind = True
        if exchange is None or exchange.whole:
            self.latest = None
        elif exchange.fault and not exchange.over:
            # What came after the body has no place there.
            raise ValueError
        else:
            self.latest = None
            exchange.finish()
            self.desk.complete(exchange)

    def spoil(self) -> None:
        """What came is no request."""
        exchange = self.latest
        self.blame(400 if exchange is None or not exchange.fault else exchange.fault)

    def blame(self, status: int) -> None:
        """Answer a request that is none, in its turn, and read no more."""
        exchange = self.latest
        self.latest = None
        if self.phase >= TUNNEL:
            return
        if exchange is None:
            exchange = Exchange(self, self.desk)
        exchange.keep = False
        exchange.fault = status
        if exchange.headed and exchange in self.queue:
            # Whose turn has not come is told when it does.
            if self.queue[0] is exchange:
                self.desk.spoil(exchange, status)
            return
        self.queue.append(exchange)
        if len(self.queue) == 1:
            self.start(exchange)

    def advance(self, exchange: Exchange) -> None:
        """An exchange is over; the next, if the client may go on."""
        if self.queue and self.queue[0] is exchange:
            del self.queue[0]
        if self.lost:
            return
        if not exchange.keep:
            if exchange.whole and not self.held and not self.latest:
                self.deafen()
                self.close()
            else:
                self.linger()
            return
        self.limit = 0
        if self.clogged:
            self.halt(True)
        if not self.held:
            # A server that has answered takes in nothing more.
            self.resume()
        if self.queue:
            self.start(self.queue[0])
            return
        if self.latest is None or self.latest is exchange:
            self.phase = IDLE
            self.deadline = self.house.now + self.house.until_idle
        else:
            self.phase = HEAD
            self.deadline = self.house.now + self.house.until_head
        if self.held and not self.feeding:
            self.proceed()

    def proceed(self) -> None:
        """Read what was kept for later, if it is time."""
        while self.held and not self.queue and not self.clogged and self.phase < TUNNEL:
            data = b"".join(self.held)
            self.held.clear()
            self.resume()
            self.read(data)

    def linger(self) -> None:
        """Say no more, and let the client finish, so that it hears the answer."""
        self.deafen()
        # Over TLS one cannot hang up and listen; the answer itself says where it ends.
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.resume()

    def deafen(self) -> None:
        """Take no more requests."""
        self.phase = LINGERING
        self.limit = 0
        self.deadline = self.house.now + self.house.until_closed
        if self.transport.get_write_buffer_size() > 0:
            self.deadline += self.house.until_sent
        self.queue.clear()
        self.held.clear()
        self.latest = None

    def tunnel(self, outlet: Any) -> None:
        """From now on bytes are passed on as they are."""
        self.phase = TUNNEL
        self.deadline = self.limit = 0
        self.well = outlet
        for data in self.held:
            outlet.write(data)
        self.held.clear()
        self.resume()

    def write(self, data: Bytes) -> None:
        """Send bytes to the client; to one that has left they go nowhere."""
        if not self.lost:
            if self.pipe is not None:
                self.pipe.write(data)
            else:
                self.transport.write(bytes(data))
            if self.phase == WAITING:
                self.phase = ANSWERING
            if self.clogged:
                self.choke()

    def splice(self, parts: list[Bytes]) -> None:
        """Send several parts to the client."""
        if not self.lost:
            if self.pipe is not None:
                self.pipe.writelines(parts)
            else:
                self.transport.write(b"".join(parts))
            if self.phase == WAITING:
                self.phase = ANSWERING
            if self.clogged:
                self.choke()

    def choke(self) -> None:
        """Have who answers wait until the client has taken in what there is."""
        if self.queue and self.queue[0].outlet is not None:
            self.queue[0].outlet.pause()

    def pause(self) -> None:
        """Read no more for now, since nobody takes it in."""
        if not self.paused:
            self.paused = True
            self.heed()

    def resume(self) -> None:
        """Read on."""
        if self.paused:
            self.paused = False
            self.heed()

    def halt(self, halted: bool) -> None:
        """Read no more from who takes in nothing, or read on."""
        if halted != self.halted:
            self.halted = halted
            self.heed()

    def heed(self) -> None:
        """Have what comes read, or not."""
        if self.lost:
            return
        if self.paused or self.halted:
            self.transport.pause_reading()
            self.desk.paused.add(self)
        else:
            self.transport.resume_reading()
            self.desk.paused.discard(self)

    def pause_writing(self) -> None:
        self.clogged = True
        self.deadline = self.house.now + self.house.until_sent
        self.choke()
        if self.phase < TUNNEL and not (self.queue and self.queue[0] is self.latest):
            # It asks for nothing more; but a body that is on its way goes on.
            self.halt(True)

    def resume_writing(self) -> None:
        self.clogged = False
        self.halt(False)
        if not self.feeding:
            self.proceed()
        if self.queue:
            exchange = self.queue[0]
            if exchange.valve is not None:
                exchange.valve.resume()
            elif exchange.outlet is not None:
                exchange.outlet.resume()
            self.desk.expect(exchange)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, problem: Exception | None) -> None:
        self.lost = True
        self.desk.part(self)

    def close(self) -> None:
        """Hang up when everything is sent."""
        if not self.lost:
            self.transport.close()
