"""Exchange: one request and its answer, between a client's connection and one to a server.

It begins with the first byte of a request and takes up what is read of it: `said` are the headers
that are passed on, name after value after name, `asides` are those that are not. It ends when the
client has its answer.
"""

from __future__ import annotations

import re
from typing import Any

from headgate.wire.ear import Bytes
from headgate.wire.names import (
    CODING,
    CONNECTION,
    EXPECT,
    HOST,
    LENGTH,
    ODD,
    PLAIN,
    UNTRAILED,
    UPGRADE,
)

# In the place of a body's length.
NONE = -1
CHUNKED = -2

# So much of a body is kept while nobody can take it, and while it may have to be sent again.
ROOM = 65_536
# Smaller parts are joined, so that they leave in one packet; larger ones are not copied.
LARGE = 16_384

LAST = b"0\r\n\r\n"
# A name or an address, and perhaps a port.
NAMED = re.compile(rb"(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?")
# The hosts that were found to be such; so many are remembered, of so many bytes.
HOSTS: dict[bytes, bool] = {}
REMEMBERED = 1000
LONGEST = 256


class Exchange:
    """One request and its answer.

    `length` is that of the request's body, NONE or CHUNKED; `fault` is the status of a request that
    is none. `whole` says that all of the request is here, `begun` that the client was told of the
    answer, `over` that it has all of it or has left.
    """

    __slots__ = (
        "asides",
        "backlog",
        "began",
        "begun",
        "carried",
        "coded",
        "desk",
        "entry",
        "expects",
        "fault",
        "forwarded",
        "headed",
        "held",
        "host",
        "inlet",
        "keep",
        "length",
        "lines",
        "method",
        "old",
        "outlet",
        "over",
        "purse",
        "raw",
        "replay",
        "request",
        "road",
        "said",
        "server",
        "since",
        "size",
        "spot",
        "start",
        "status",
        "target",
        "task",
        "ticket",
        "ties",
        "told",
        "took",
        "trailers",
        "tried",
        "unread",
        "upgrade",
        "valve",
        "weight",
        "whole",
    )  # fmt: skip

    # Only what is not a number: compiled, those are where they belong.
    asides: list[tuple[bytes, bytes]] | None
    trailers: list[bytes] | None
    backlog: list[bytes] | None
    spot: Any
    request: Any
    entry: Any
    road: Any
    server: Any
    outlet: Any
    tried: Any
    task: Any
    valve: Any
    purse: Any

    def __init__(self, inlet: Any, desk: Any) -> None:
        self.inlet = inlet
        self.desk = desk
        # What is read of the request.
        self.said: list[bytes] = []
        self.method = self.target = self.host = self.ties = self.upgrade = self.raw = b""
        self.asides = self.trailers = None
        self.length = NONE
        self.fault = self.lines = self.weight = self.unread = self.carried = 0
        self.headed = self.coded = self.expects = self.old = False
        self.keep = self.whole = True
        # Parts of the body that are to be sent, or may have to be sent again if `replay`.
        self.backlog = None
        self.held = 0
        self.replay = False
        # Who decided what, where it goes, what it may cost there; lines about who it is from, if it
        # has its own; what the server's breaker gave for it, -1 for nothing.
        self.spot = self.request = self.entry = self.road = self.server = self.outlet = None
        self.tried = self.task = self.purse = None
        self.forwarded = b""
        self.start, self.ticket = 0, -1
        # When its head was there, if anybody asks how long all of it takes.
        self.began = 0
        # Since when it is the server that is waited for, and for how long it was.
        self.since = self.took = 0
        # The answer: what its head was, if somebody may ask, and who holds it back.
        self.status = self.size = 0
        self.begun = self.over = False
        self.told = b""
        self.valve = None

    def note(self, name: bytes, value: bytes, kind: int) -> None:
        """Take a header that means something to a gateway, or comes after the body."""
        if self.headed:
            self.trail(name, value, kind)
            return
        if kind == HOST:
            # Two of them are one too many.
            if self.host or not (HOSTS.get(value) or decent(value)):
                self.fault = 400
            self.host = value
            return
        if self.asides is None:
            self.asides = []
        self.asides.append((name, value))
        if kind == CONNECTION:
            self.ties = self.ties + b"," + value if self.ties else value
        elif kind == LENGTH:
            self.length = int(value) if value.isdigit() and len(value) < 19 else NONE
            self.fault = self.fault if self.length >= 0 else 400
        elif kind == CODING:
            self.fault = 400 if self.coded or value.lower() != b"chunked" else self.fault
            self.coded = True
        elif kind == EXPECT:
            self.expects = value.lower() == b"100-continue"
            self.fault = self.fault or (0 if self.expects else 417)
        elif kind == UPGRADE:
            self.upgrade = self.upgrade + b"," + value if self.upgrade else value
        elif kind == ODD:
            self.fault = 400

    def trail(self, name: bytes, value: bytes, kind: int) -> None:
        """Take a header that comes after the body."""
        if kind == PLAIN and name.lower() not in UNTRAILED:
            desk, lowered = self.desk, name.lower()
            hearsay = not self.inlet.trusted and lowered == desk.hearsay
            if hearsay or lowered == desk.private:
                return
            if self.trailers is None:
                self.trailers = []
            self.trailers += (name, b": ", value, b"\r\n")
        elif kind in (LENGTH, CODING, HOST, ODD):
            self.fault = 400

    def settle(self, method: bytes, keep: bool, old: bool, upgrade: bool) -> None:
        """The head is complete: see what kind of request it is, and whether it is one."""
        self.headed = True
        self.method = method
        self.keep = keep
        self.old = old
        if self.coded:
            self.whole = False
            self.length = CHUNKED
        elif self.length > 0:
            self.whole = False
        if not self.host:
            self.host = b"localhost"
            if not old:
                self.fault = self.fault or 400
        if self.coded and old:
            self.fault = 400
        if self.whole or old:
            self.expects = False
        if method == b"CONNECT":
            self.fault = 501
        elif method == b"TRACE":
            self.fault = 405
        elif upgrade and not self.whole:
            self.fault = 400
        if not upgrade:
            self.upgrade = b""

    def header(self, name: bytes) -> list[bytes]:
        """The values of the request's header of this name, which is in lower case."""
        said = self.said
        places = range(0, len(said), 2)
        found = [said[place + 1] for place in places if said[place].lower() == name]
        if self.asides is not None:
            found += [value for word, value in self.asides if word.lower() == name]
        return [self.host] if name == b"host" else found

    def send(self, part: Bytes) -> None:
        """Pass on a part of the request's body, now or when somebody takes it."""
        if self.length == CHUNKED:
            part = b"".join((b"%x\r\n" % len(part), part, b"\r\n"))
        self.push(part)

    def finish(self) -> None:
        """The request's body is whole."""
        self.whole = True
        if self.length == CHUNKED:
            self.push(LAST if self.trailers is None else b"0\r\n%b\r\n" % b"".join(self.trailers))

    def push(self, part: Bytes) -> None:
        """Send bytes of the request to the server, or keep them for it."""
        outlet = self.outlet
        if outlet is not None:
            outlet.write(part)
            if not self.replay:
                return
        if self.over:
            return
        if self.backlog is None:
            self.backlog = []
        self.backlog.append(bytes(part))
        self.held += len(part)
        if self.held > ROOM:
            if outlet is None:
                self.inlet.pause()
            else:
                # Too much to be sent twice.
                self.replay = False
                self.backlog = None


def decent(host: bytes) -> bool:
    """Whether this is a host that a request can name, perhaps with a port."""
    found = NAMED.fullmatch(host)
    if found is None or int(found[1] or 0) > 65535:
        return False
    if len(host) <= LONGEST:
        if len(HOSTS) >= REMEMBERED:
            HOSTS.clear()
        HOSTS[host] = True
    return True
