"""Outlet: a connection to a server, which takes one request at a time and answers it.

What it answers is read by a parser and told anew to the client.
"""

from __future__ import annotations

from typing import Any

from headgate.wire.ear import Bytes, Ear
from headgate.wire.exchange import LARGE, LAST, NONE, Exchange
from headgate.wire.house import House
from headgate.wire.lines import CLOSE, FRAMED, KEEP, LINES
from headgate.wire.names import (
    CODING,
    CONNECTION,
    HOP,
    LENGTH,
    LOOSE,
    PLAIN,
    UNTRAILED,
    UPGRADE,
    amount,
    freed,
    meaning,
)
from headgate.wire.pipe import Pipe
from headgate.wire.reader import ANSWERS, MODERN, OLD, SPOILT, Reader
from headgate.wire.wheel import BASIN

# A server that says more than this before its body does not say anything.
MOST = 1000
HEAVIEST = 262_144
# So much is read at first, and more than this of a body is passed on without being looked at.
SIP = 8192
LONG = 32_768


class Outlet(Ear):
    """A connection to a server of an upstream.

    `sound` says whether it can take another request after this one, `heard` whether anything came
    in answer to it, `served` how many came before. `expires` is when nobody wants it any more.
    """

    __slots__ = (
        "bare", "barren", "coded", "dirty", "ended", "exchange", "expires", "framed", "fresh",
        "heard", "house", "known", "length", "lines", "lost", "paused", "pipe", "reader", "rest",
        "served", "server", "sound", "status", "through", "ties", "trailers", "transport",
        "upgrade", "weight",
    )  # fmt: skip

    def __init__(self, server: Any, house: House) -> None:
        self.server = server
        self.house = house
        self.transport: Any = None
        self.pipe: Pipe | None = None
        self.exchange: Exchange | None = None
        # A head that has not come to its end.
        self.rest = b""
        self.sound = True
        self.heard = self.lost = self.paused = self.through = False
        self.served = self.expires = 0
        # Whether what is read next is the beginning of an answer, whatever was read before.
        self.dirty = False
        self.reader = Reader(self, ANSWERS)
        self.begin()

    def begin(self) -> None:
        """Be ready for an answer."""
        self.trailers: list[bytes] | None = None
        self.length = NONE
        self.status = self.lines = self.weight = 0
        # How much was read since something came of it, and what had come until then.
        self.barren = self.known = 0
        self.ties = self.upgrade = b""
        # Whether the head is not complete, has a coding, and goes without a body or in chunks.
        self.fresh = True
        self.coded = self.bare = self.framed = self.ended = False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.pipe = transport if isinstance(transport, Pipe) else None

    def send(self, exchange: Exchange, head: bytes) -> None:
        """Take a request: its head, and what there is of its body."""
        self.exchange = exchange
        self.heard = False
        exchange.outlet = self
        if self.pipe is not None:
            # The head, and what comes with it. The rest may not have to be looked at.
            self.pipe.sip = SIP
        if exchange.backlog is not None:
            head = b"".join([head, *exchange.backlog])
            if not exchange.replay:
                exchange.backlog = None
            exchange.inlet.resume()
        self.write(head)

    def write(self, data: Bytes) -> None:
        """Send bytes to the server; to one that is gone they go nowhere."""
        if self.lost:
            return
        if self.pipe is not None:
            self.pipe.write(data)
        else:
            self.transport.write(bytes(data))

    def data_received(self, data: Bytes) -> None:
        exchange = self.exchange
        if exchange is None:
            # It was not asked anything; nor will it be.
            self.server.forget(self)
            self.close()
            return
        self.heard = True
        if self.through:
            exchange.inlet.write(data)
        else:
            self.read(exchange, data)

    def read(self, exchange: Exchange, data: Bytes) -> None:
        """Have an answer parsed, and tell the client what was understood."""
        scroll = self.house.scroll
        # All connections write on it in turn. Nobody leaves anything there but who failed badly.
        scroll.take()
        if self.rest:
            scroll.add(self.rest)
            self.rest = b""
        if not self.parse(exchange, data):
            return
        if self.fresh and not self.ended:
            # A head without an end is none.
            self.rest = scroll.take()
            self.weight += len(data)
            if self.weight > HEAVIEST:
                self.fail(exchange)
            return
        if self.endless(exchange, data):
            self.fail(exchange)
            return
        if not self.ended and exchange.begun:
            exchange.desk.stall(exchange)
            if self.length - exchange.size > LONG and exchange.valve is None:
                self.lead(exchange, self.length - exchange.size)
        if scroll.size > 0:
            inlet = exchange.inlet
            inlet.write(scroll.take())
        if self.ended:
            self.release(exchange)

    def endless(self, exchange: Exchange, data: Bytes) -> bool:
        """Whether nothing comes of what is read behind a head, such as a trailer without an end."""
        known = exchange.size + self.lines
        self.barren = self.barren + len(data) if known == self.known else 0
        self.known = known
        return self.barren > HEAVIEST

    def lead(self, exchange: Exchange, rest: int) -> None:
        """Have the rest of a body passed on without being looked at, where that can be done."""
        inlet: Any = exchange.inlet
        sink = inlet.pipe
        if self.pipe is not None and sink is not None:
            self.dirty = True
            self.pipe.siphon(sink, rest)

    def passed(self, size: int) -> None:
        exchange = self.exchange
        if exchange is None:
            return
        self.heard = True
        exchange.size += size
        if exchange.size == self.length:
            self.ended = True
            if self.sound and self.pipe is not None:
                # What is more than an answer is nobody's.
                self.sound = self.pipe.quiet()
            self.release(exchange)
        else:
            exchange.desk.stall(exchange)

    def parse(self, exchange: Exchange, data: Bytes) -> bool:
        """Whether the parser has understood; if not, what follows from that is done."""
        end = self.reader.feed(data)
        if end >= 0:
            if self.ended:
                self.turn(exchange, bytes(data[end:]))
            else:
                self.fail(exchange)
            return False
        if end == SPOILT:
            if not self.ended:
                self.fail(exchange)
                return False
            # What follows an answer that is complete is nobody's.
            self.sound = False
        return True

    def on_message_begin(self) -> None:
        if self.ended:
            # A second answer to one request.
            raise ValueError
        self.begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.lines == 0:
            self.head()
        self.lines += 1
        self.weight += len(name) + len(value)
        if self.lines > MOST or self.weight > HEAVIEST:
            raise ValueError
        kind = meaning(name)
        if not self.fresh:
            self.trail(name, value, kind)
        elif kind == PLAIN:
            self.house.scroll.line(name, value)
        elif kind == LENGTH:
            self.length = amount(value)
            self.house.scroll.line(name, value)
        elif kind == CODING:
            if self.coded or value.strip().lower() != b"chunked":
                # Nobody asked for any other.
                raise ValueError
            self.coded = True
        elif kind == CONNECTION:
            self.ties = self.ties + b"," + value if self.ties else value
        elif kind == UPGRADE:
            self.upgrade = value
        elif kind != HOP:
            self.house.scroll.line(name, value)

    def head(self) -> None:
        """Begin to tell of an answer."""
        self.status = self.reader.status
        line = LINES.get(self.status)
        self.house.scroll.add(b"HTTP/1.1 %d \r\n" % self.status if line is None else line)

    def trail(self, name: bytes, value: bytes, kind: int) -> None:
        """Take a header that comes after the body."""
        exchange = self.exchange
        if exchange is not None and name.lower() == exchange.desk.private:
            return
        if kind == PLAIN and name.lower() not in UNTRAILED:
            if self.trailers is None:
                self.trailers = []
            self.trailers += (name, b": ", value, b"\r\n")

    def on_headers_complete(self) -> None:
        exchange = self.exchange
        if exchange is None:
            raise ValueError
        if self.lines == 0:
            self.head()
        self.fresh = False
        if self.pipe is not None:
            self.pipe.sip = BASIN
        if self.ties and self.ties != b"keep-alive" and self.ties not in LOOSE:
            self.house.scroll.add(freed(self.house.scroll.take(), self.ties))
        if self.status < 200:
            self.inform(exchange, self.status)
        else:
            self.answer(exchange, self.status)

    def inform(self, exchange: Exchange, status: int) -> None:
        """Pass on what is said before the answer; what was asked for by the gateway is kept."""
        scroll = self.house.scroll
        if status < 100 or self.length > 0 or self.coded:
            # There is no such status, or it has no body.
            raise ValueError
        if status == 101:
            if not exchange.upgrade or not self.upgrade:
                raise ValueError
            self.ended = True
            exchange.status = 101
            exchange.begun = True
            scroll.add(b"connection: upgrade\r\n")
            scroll.line(b"upgrade", self.upgrade)
            exchange.desk.dress(exchange, scroll)
            scroll.add(b"\r\n")
        elif status == 100 or exchange.old:
            scroll.take()
        else:
            if exchange.desk.private:
                scroll.add(freed(scroll.take(), exchange.desk.private))
            scroll.add(b"\r\n")
            exchange.inlet.write(scroll.take())

    def answer(self, exchange: Exchange, status: int) -> None:
        """Begin the answer."""
        if not self.reader.keeps:
            self.sound = False
            if self.reader.version not in (OLD, MODERN):
                raise ValueError
        exchange.status = status
        exchange.begun = True
        scroll = self.house.scroll
        if exchange.entry.owing:
            # Somebody may ask for its headers.
            exchange.told = scroll.take()
            scroll.add(exchange.told)
        if not exchange.whole:
            # Who answers before it was told everything is told no more; nor is another request.
            exchange.keep = False
            self.sound = False
        self.frame(exchange, status)
        exchange.desk.dress(exchange, scroll)
        if not exchange.keep:
            scroll.add(CLOSE)
        elif exchange.old:
            scroll.add(KEEP)
        scroll.add(b"\r\n")

    def frame(self, exchange: Exchange, status: int) -> None:
        """See where the body ends, and tell the client how it will know."""
        if exchange.method == b"HEAD":
            # The parser waits for a body that does not come.
            self.bare = self.ended = self.dirty = True
            if self.length == NONE and self.coded:
                self.house.scroll.add(FRAMED)
        elif status in (204, 304):
            self.bare = True
        elif self.length == NONE:
            self.framed = not exchange.old
            if self.framed:
                self.house.scroll.add(FRAMED)
            else:
                exchange.keep = False

    def on_body(self, part: Bytes) -> None:
        exchange = self.exchange
        if exchange is None or self.bare:
            self.sound = False
            return
        size = len(part)
        exchange.size += size
        if exchange.valve is not None:
            exchange.valve.take(bytes(part), self.framed)
            return
        scroll = self.house.scroll
        if self.framed:
            scroll.add(b"%x\r\n" % size)
        if size < LARGE:
            scroll.add(part if type(part) is bytes else bytes(part))
        else:
            exchange.inlet.splice([scroll.take(), part])
        if self.framed:
            scroll.add(b"\r\n")

    def on_message_complete(self) -> None:
        exchange = self.exchange
        if exchange is None or exchange.status < 200:
            return
        self.ended = True
        if self.framed:
            last = LAST
            if self.trailers is not None:
                last = b"0\r\n%b\r\n" % b"".join(self.trailers)
            if exchange.valve is not None:
                exchange.valve.last = last
            else:
                self.house.scroll.add(last)

    def release(self, exchange: Exchange) -> None:
        """The answer is complete: let go of it, and be there for another if all is well."""
        self.exchange = None
        exchange.outlet = None
        self.resume()
        if exchange.length != NONE and self.sound and not self.lost:
            # Who has not taken in all of a request has not done with it.
            self.sound = self.transport.get_write_buffer_size() == 0
        if self.sound and exchange.whole and not self.lost:
            if self.dirty:
                self.dirty = False
                self.reader.renew()
            self.ended = False
            self.served += 1
            self.server.keep(self)
        else:
            self.server.drop(self)
        exchange.desk.conclude(exchange)

    def turn(self, exchange: Exchange, rest: bytes) -> None:
        """Both sides speak otherwise from now on: bytes are passed on as they are."""
        self.through = True
        self.sound = exchange.keep = False
        self.house.scroll.add(rest)
        exchange.inlet.write(self.house.scroll.take())
        exchange.inlet.tunnel(self)

    def fail(self, exchange: Exchange) -> None:
        """What came is no answer."""
        self.exchange = None
        exchange.outlet = None
        self.sound = False
        self.server.drop(self)
        exchange.desk.fail(exchange, self)

    def connection_lost(self, problem: Exception | None) -> None:
        self.lost = True
        exchange = self.exchange
        if exchange is None:
            self.server.forget(self)
            return
        self.sound = False
        complete = problem is None and not self.fresh and not self.coded
        if self.through:
            exchange.inlet.close()
            self.release(exchange)
        elif complete and self.length == NONE and exchange.begun:
            # Without a length, the end of the connection is the end of the answer.
            self.house.scroll.take()
            self.on_message_complete()
            if self.house.scroll.size > 0:
                exchange.inlet.write(self.house.scroll.take())
            self.release(exchange)
        else:
            self.fail(exchange)

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        exchange = self.exchange
        if exchange is not None:
            exchange.inlet.pause()
            exchange.desk.expect(exchange)

    def resume_writing(self) -> None:
        exchange = self.exchange
        if exchange is not None:
            exchange.inlet.resume()
            exchange.desk.expect(exchange)

    def pause(self) -> None:
        """Read no more for now."""
        if not self.paused and not self.lost:
            self.paused = True
            self.transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if self.paused and not self.lost:
            self.paused = False
            self.transport.resume_reading()

    def ready(self) -> bool:
        """Whether the server has not hung up: the connection is told of that a little later."""
        if self.pipe is not None:
            return not self.pipe.shut
        return not (self.lost or self.transport.is_closing())

    def close(self) -> None:
        """Hang up."""
        if not self.lost:
            self.transport.abort()
