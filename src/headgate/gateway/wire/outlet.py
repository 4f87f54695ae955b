"""Outlet: a connection to an upstream, which takes one request at a time and answers it.

What it answers is read by a parser and told anew to the client. A long body of a known length is
passed on as it comes: there is nothing in it to read.
"""

from __future__ import annotations

from typing import Any

from headgate.gateway.wire.exchange import LARGE, LAST, NONE, Exchange
from headgate.gateway.wire.lines import CLOSE, FRAMED, KEEP, LINES
from headgate.gateway.wire.names import (
    CODING,
    CONNECTION,
    HOP,
    LASTING,
    LENGTH,
    UNTRAILED,
    UPGRADE,
    meaning,
)
from headgate.gateway.wire.parsers import HttpParserError, HttpParserUpgrade, HttpResponseParser

# What `Connection` usually says, of the connection alone.
LOOSE = frozenset({b"close", b"keep-alive", b"Keep-Alive", b"Close", b"upgrade", b"Upgrade"})
# An upstream that says more than this before its body does not say anything.
MOST = 1000
HEAVIEST = 262_144


class Outlet:
    """A connection to a server of an upstream.

    `sound` says whether it can take another request after this one, `expires` when nobody wants it
    any more.
    """

    __slots__ = (
        "bare",
        "coded",
        "dirty",
        "ended",
        "exchange",
        "expires",
        "feed",
        "framed",
        "fresh",
        "heard",
        "left",
        "length",
        "lines",
        "lost",
        "parser",
        "said",
        "served",
        "server",
        "sound",
        "through",
        "ties",
        "trailers",
        "transport",
        "upgrade",
        "weight",
    )  # fmt: skip

    def __init__(self, server: Any) -> None:
        self.server = server
        self.transport: Any = None
        self.exchange: Exchange | None = None
        self.sound = True
        # Whether anything came in answer to this request, and how many came before it.
        self.heard = False
        self.served = 0
        self.lost = self.through = False
        self.expires = 0
        self.renew()

    def renew(self) -> None:
        """Read with a parser that has read nothing yet."""
        self.parser = HttpResponseParser(self)
        self.feed = self.parser.feed_data
        self.dirty = False
        self.begin()

    def begin(self) -> None:
        """Be ready for an answer."""
        self.said: list[bytes] = []
        self.trailers: list[bytes] | None = None
        self.length = NONE
        self.left = 0
        self.lines = self.weight = 0
        self.ties = self.upgrade = b""
        # Whether the head is complete, has a coding, and goes without a body or in chunks.
        self.fresh = True
        self.coded = self.bare = self.framed = self.ended = False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def send(self, exchange: Exchange, head: bytes) -> None:
        """Take a request: its head, and what there is of its body."""
        self.exchange = exchange
        self.heard = False
        exchange.outlet = self
        if exchange.backlog is not None:
            head = b"".join([head, *exchange.backlog])
            if not exchange.replay:
                exchange.backlog = None
            exchange.inlet.resume()
        self.write(head)

    def write(self, data: bytes) -> None:
        """Send bytes to the upstream; to one that is gone they go nowhere."""
        if not self.lost:
            self.transport.write(data)

    def data_received(self, data: bytes) -> None:
        exchange = self.exchange
        if exchange is None:
            # It was not asked anything.
            self.close()
            return
        self.heard = True
        if self.left > 0:
            self.carry(exchange, data)
        elif self.through:
            exchange.inlet.write(data)
        else:
            self.read(exchange, data)

    def read(self, exchange: Exchange, data: bytes) -> None:
        """Have an answer parsed, and tell the client what was understood."""
        try:
            self.feed(data)
        except HttpParserUpgrade as upgrade:
            if self.ended:
                self.break_through(exchange, data[upgrade.args[0] :])
                return
            self.fail(exchange)
            return
        except HttpParserError:
            if not self.ended:
                self.fail(exchange)
                return
            # What follows an answer that is complete is nobody's.
            self.sound = False
        if self.exchange is not exchange:
            return
        if self.fresh and self.weight + len(data) > HEAVIEST:
            self.fail(exchange)
            return
        exchange.flush()
        if self.ended:
            self.release(exchange)
        elif exchange.begun:
            exchange.desk.stall(exchange)
            if self.length - exchange.size > LARGE and exchange.valve is None:
                # The rest is passed on as it comes.
                self.left = self.length - exchange.size
                self.dirty = True

    def carry(self, exchange: Exchange, data: bytes) -> None:
        """Pass on a part of a body without looking at it."""
        size = len(data)
        if size > self.left:
            data = data[: self.left]
            size = len(data)
            self.sound = False
        self.left -= size
        exchange.size += size
        exchange.inlet.write(data)
        if self.left == 0:
            self.ended = True
            self.release(exchange)
        else:
            exchange.desk.stall(exchange)

    def on_message_begin(self) -> None:
        if self.ended:
            # A second answer to one request.
            self.sound = False
            raise ValueError
        self.begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        self.lines += 1
        self.weight += len(name) + len(value)
        if self.lines > MOST or self.weight > HEAVIEST:
            raise ValueError
        kind = meaning(name)
        if not self.fresh:
            self.trail(name, value, kind)
        elif kind == LENGTH:
            self.length = int(value)
            self.said += (name, b": ", value, b"\r\n")
        elif kind == CODING:
            self.coded = True
        elif kind == CONNECTION:
            self.ties = value
        elif kind == UPGRADE:
            self.upgrade = value
        elif kind != HOP:
            said = self.said
            said.append(name)
            said.append(b": ")
            said.append(value)
            said.append(b"\r\n")

    def trail(self, name: bytes, value: bytes, kind: int) -> None:
        """Take a header that comes after the body."""
        if kind == 0 and name.lower() not in UNTRAILED:
            if self.trailers is None:
                self.trailers = []
            self.trailers += (name, b": ", value, b"\r\n")

    def on_headers_complete(self) -> None:
        exchange = self.exchange
        if exchange is None:
            raise ValueError
        self.fresh = False
        status = self.parser.get_status_code()
        if self.ties and self.ties not in LOOSE:
            self.said = untied(self.said, self.ties)
        if status < 200:
            self.inform(exchange, status)
        else:
            self.answer(exchange, status)

    def inform(self, exchange: Exchange, status: int) -> None:
        """Pass on what is said before the answer; what was asked for by the gateway is kept."""
        if status == 101:
            if not exchange.upgrade or not self.upgrade:
                raise ValueError
            self.ended = True
            exchange.status = 101
            exchange.begun = True
            ties = (b"connection: upgrade\r\nupgrade: ", self.upgrade, b"\r\n")
            exchange.answer += (LINES[101], *self.said, *ties)
            exchange.desk.dress(exchange)
            exchange.answer.append(b"\r\n")
        elif status != 100 and not exchange.old and not exchange.begun:
            line = LINES.get(status) or b"HTTP/1.1 %d \r\n" % status
            exchange.answer += (line, *self.said, b"\r\n")

    def answer(self, exchange: Exchange, status: int) -> None:
        """Begin the answer."""
        exchange.status = status
        exchange.begun = True
        if not exchange.whole:
            # Who answers before it was told everything is told no more; nor is another request.
            exchange.keep = False
            self.sound = False
        if not self.parser.should_keep_alive():
            self.sound = False
        answer = exchange.answer
        answer.append(LINES.get(status) or b"HTTP/1.1 %d \r\n" % status)
        answer += self.said
        exchange.told = self.said
        if exchange.method == b"HEAD" or status in (204, 304):
            self.bare = True
            if exchange.method == b"HEAD":
                # The parser waits for a body that does not come.
                self.ended = self.dirty = True
                if self.length == NONE and self.coded:
                    answer.append(FRAMED)
        elif self.length == NONE:
            if exchange.old:
                exchange.keep = False
            else:
                self.framed = True
                answer.append(FRAMED)
        exchange.desk.dress(exchange)
        if not exchange.keep:
            answer.append(CLOSE)
        elif exchange.old:
            answer.append(KEEP)
        answer.append(b"\r\n")

    def on_body(self, part: bytes) -> None:
        exchange = self.exchange
        if exchange is None or self.bare:
            self.sound = False
            return
        exchange.size += len(part)
        if exchange.valve is not None:
            exchange.valve.take(part, self.framed)
        elif self.framed:
            exchange.answer += (b"%x\r\n" % len(part), part, b"\r\n")
        else:
            exchange.answer.append(part)

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
                exchange.answer.append(last)

    def release(self, exchange: Exchange) -> None:
        """The answer is complete: let go of it, and be there for another if all is well."""
        self.exchange = None
        exchange.outlet = None
        if self.sound and exchange.whole and not self.lost:
            if self.dirty:
                self.renew()
            else:
                self.ended = False
            self.served += 1
            self.server.keep(self)
        else:
            self.server.drop(self)
        exchange.desk.conclude(exchange)

    def break_through(self, exchange: Exchange, rest: bytes) -> None:
        """Both sides speak otherwise from now on: bytes are passed on as they are."""
        self.through = True
        self.sound = exchange.keep = False
        if rest:
            exchange.answer.append(rest)
        exchange.flush()
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
            self.on_message_complete()
            exchange.flush()
            self.release(exchange)
        else:
            self.fail(exchange)

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        if self.exchange is not None:
            self.exchange.inlet.pause()

    def resume_writing(self) -> None:
        if self.exchange is not None:
            self.exchange.inlet.resume()

    def pause(self) -> None:
        """Read no more for now."""
        if not self.lost:
            self.transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if not self.lost:
            self.transport.resume_reading()

    def close(self) -> None:
        """Hang up."""
        if not self.lost:
            self.transport.abort()


def untied(said: list[bytes], ties: bytes) -> list[bytes]:
    """Headers without those that `Connection` names."""
    named = {tie.strip().lower() for tie in ties.split(b",")} - LASTING
    if not named:
        return said
    kept: list[bytes] = []
    for place in range(0, len(said), 4):
        if said[place].lower() not in named:
            kept += said[place : place + 4]
    return kept
