"""Pipe: a connection whose socket is on a wheel: a transport, as event loops have them."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headgate.wire.ear import LARGE, Bytes
from headgate.wire.signs import COMES, GOES
from headgate.wire.wheel import BASIN, TANK, Spoke, Wheel

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

if cython.compiled:
    from cython.cimports.headgate.wire.ink import read
    from cython.cimports.headgate.wire.pump import pour, receive, siphon
else:
    from headgate.wire.sockets import pour, read, receive, siphon

# So many parts go out in one call.
GATHERED = 16
# So much is kept, unless it is said otherwise, before who sends has to wait.
HIGH = 65_536

# There is nothing to read, or no room to write.
AGAIN = -errno.EAGAIN


class Pipe(Spoke):
    """A socket on a wheel: a transport, to a protocol.

    Large parts are handed to the protocol where they lie; it has done with them when it returns.
    `sip` is how much is read at once.
    """

    __slots__ = (
        "clogged", "ear", "ending", "gone", "high", "left", "line", "parts", "protocol",
        "shut", "signs", "sink", "sip", "waiting", "wheel",
    )  # fmt: skip

    def __init__(self, wheel: Wheel, line: socket.socket, protocol: Any) -> None:
        self.wheel = wheel
        self.line = line
        self.number = line.fileno()
        self.protocol = self.ear = protocol
        # What is to be sent, and how much that is.
        self.parts: list[Bytes] = []
        self.waiting = self.signs = 0
        self.high = HIGH
        self.sip = BASIN
        # To whom so many bytes are passed on unseen.
        self.sink: Pipe | None = None
        self.left = 0
        # Whether it is to be flushed; takes in no more; is to hang up; has hung up.
        self.due = self.clogged = self.ending = self.shut = self.gone = False
        if line.family != socket.AF_UNIX:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.wheel.enter(self)
        self.watch(COMES)
        protocol.connection_made(self)

    def watch(self, signs: int) -> None:
        """Look out for other signs than before."""
        if signs == self.signs or self.gone:
            return
        epoll = self.wheel.epoll
        if not signs:
            epoll.unregister(self.number)
        elif self.signs:
            epoll.modify(self.number, signs)
        else:
            epoll.register(self.number, signs)
        self.signs = signs

    def draw(self) -> None:
        """Take in what has come."""
        if self.gone or not self.signs & COMES:
            return
        if self.sink is not None:
            self.drain(self.sink)
            return
        basin = self.wheel.basin
        size = receive(self.number, basin, self.sip)
        if size > 0:
            if size > LARGE:
                self.ear.data_received(memoryview(basin)[:size])
            else:
                self.ear.data_received(read(basin, size))
            if self.sink is not None and not self.gone and self.signs & COMES:
                # The rest of it may be here already.
                self.drain(self.sink)
        else:
            self.stop(size)

    def stop(self, code: int) -> None:
        """Nothing could be read: for now, because nothing more comes, or something is wrong."""
        if code == 0:
            self.watch(self.signs & GOES)
            if not self.protocol.eof_received():
                self.close()
        elif code != AGAIN:
            self.leave(OSError(-code, "a connection could not be read from"))

    def siphon(self, sink: Pipe, size: int) -> None:
        """Have the next bytes passed on unseen; the ear hears how many went each time."""
        self.sink = sink
        self.left = size

    def drain(self, sink: Pipe) -> None:
        """Pass on to another pipe what has come."""
        if sink.shut:
            # Whoever is told of that hangs up here as well; until then nobody wants it.
            self.watch(self.signs & GOES)
            return
        size = min(self.left, TANK)
        if sink.signs & GOES:
            size = receive(self.number, self.wheel.basin, min(size, BASIN))
        else:
            size = siphon(self.number, self.wheel.funnel, size)
        if size <= 0:
            self.stop(size)
            return
        if sink.signs & GOES:
            sink.write(read(self.wheel.basin, size))
        else:
            sink.suck(size)
        self.left -= size
        if self.left == 0:
            self.sink = None
        self.ear.passed(size)

    def quiet(self) -> bool:
        """Whether nothing more has come."""
        return bool(receive(self.number, self.wheel.basin, 1) == AGAIN)

    def suck(self, size: int) -> None:
        """Send what is in the tank, after what was said before; what does not go is kept."""
        self.flush(True)
        while size > 0 and self.waiting == 0 and not self.gone:
            sent = siphon(self.wheel.spout, self.number, size)
            if sent <= 0:
                if sent != AGAIN:
                    self.leave(OSError(-sent, "a connection could not be written to"))
                break
            size -= sent
        rest = b""
        while size > len(rest):
            rest += os.read(self.wheel.spout, size - len(rest))
        if rest and not self.shut:
            self.parts.append(rest)
            self.waiting += size
            self.watch(self.signs | GOES)
            self.swell()

    def write(self, data: Bytes) -> None:
        """Send bytes, soon; those that are borrowed at once."""
        if self.shut:
            return
        self.parts.append(data)
        self.waiting += len(data)
        if self.signs & GOES:
            self.swell()
        elif type(data) is memoryview:
            self.flush()
        elif not self.due:
            self.due = True
            self.wheel.remind(self)

    def writelines(self, parts: list[Bytes]) -> None:
        """Send several parts at once."""
        if self.shut:
            return
        for part in parts:
            self.parts.append(part)
            self.waiting += len(part)
        if self.signs & GOES:
            self.swell()
        else:
            self.flush()

    def flush(self, more: bool = False) -> None:
        """Send what there is; with `more`, the rest follows at once."""
        self.due = False
        if self.waiting == 0 or self.gone:
            return
        if len(self.parts) > GATHERED:
            self.parts = [b"".join(self.parts)]
        sent = pour(self.number, self.parts, more)
        if sent == self.waiting:
            self.parts = []
            self.waiting = 0
            if self.signs & GOES:
                self.watch(self.signs & COMES)
            self.empty()
        elif sent >= 0 or sent == AGAIN:
            self.trim(max(sent, 0))
        else:
            self.leave(OSError(-sent, "a connection could not be written to"))

    def trim(self, sent: int) -> None:
        """Keep what was not sent until there is room for it."""
        self.parts = [b"".join(self.parts)[sent:]]
        self.waiting -= sent
        self.watch(self.signs | GOES)
        if 4 * self.waiting <= self.high:
            self.ease()
        else:
            self.swell()

    def swell(self) -> None:
        """There is more to be sent; who says it may have to wait."""
        if type(self.parts[len(self.parts) - 1]) is memoryview:
            self.parts = [b"".join(self.parts)]
        if self.waiting > self.high and not self.clogged:
            self.clogged = True
            self.protocol.pause_writing()

    def ease(self) -> None:
        """There is room again."""
        if self.clogged:
            self.clogged = False
            self.protocol.resume_writing()

    def empty(self) -> None:
        """All is sent."""
        self.ease()
        if self.waiting or self.gone:
            return
        if self.shut:
            self.leave(None)
        elif self.ending:
            with suppress(OSError):
                self.line.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Hang up when everything is sent."""
        if self.shut:
            return
        self.shut = True
        self.watch(self.signs & GOES)
        if not self.signs:
            self.flush()
        if self.waiting == 0:
            self.leave(None)

    def abort(self) -> None:
        """Hang up now."""
        self.leave(None)

    def leave(self, problem: Exception | None) -> None:
        """It is over; the protocol hears of it soon."""
        if self.gone:
            return
        self.watch(0)
        self.gone = self.shut = True
        self.wheel.spokes[self.number] = None
        self.parts.clear()
        self.waiting = 0
        self.line.close()
        self.wheel.loop.call_soon(self.part, problem)

    def part(self, problem: Exception | None) -> None:
        """Tell the protocol that it is over."""
        protocol = self.protocol
        self.protocol = self.ear = None
        protocol.connection_lost(problem)

    def blame(self, problem: Exception) -> None:
        """Whoever was told something has failed at it."""
        said = {"message": "a connection failed", "exception": problem, "transport": self}
        self.wheel.loop.call_exception_handler(said)
        self.leave(problem)

    def pause_reading(self) -> None:
        self.watch(self.signs & GOES)

    def resume_reading(self) -> None:
        if not self.shut:
            self.watch(self.signs | COMES)

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ending = True
        self.flush()
        if self.waiting == 0:
            self.empty()

    def set_write_buffer_limits(self, high: int) -> None:
        self.high = high

    def get_write_buffer_size(self) -> int:
        if self.due:
            self.flush()
        return self.waiting

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "socket":
            return self.line
        if name == "peername":
            with suppress(OSError):
                return self.line.getpeername()
        return default
