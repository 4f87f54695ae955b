"""Channel: a connection that calls come over, by gRPC on HTTP/2 (RFC 9113).

Frames are read as they come, and a call that can be answered at once is; what is to be said to all
of them leaves in one piece when everything is read. What does not happen to every call is looked
after elsewhere: `control` has the frames that are about the connection, `intake` messages that come
in parts, `outflow` what a client does not take in yet, `vigil` who takes too long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headgate.measures import FOREVER
from headgate.service.grpc.blocks import Blocks
from headgate.service.grpc.call import Call
from headgate.service.grpc.control import expect, heed, meet, shear, shed, stray, trail, turn
from headgate.service.grpc.door import admit
from headgate.service.grpc.frames import (
    DATA,
    END_HEADERS,
    END_STREAM,
    ENHANCE_YOUR_CALM,
    FLOW_CONTROL_ERROR,
    FRAME,
    FRAME_SIZE_ERROR,
    HEAD,
    HEADERS,
    MOST,
    NO_ERROR,
    PADDED,
    PARTED,
    PROTOCOL_ERROR,
    WEIGHED,
    WINDOW,
    Broken,
    frame,
    goaway,
    number,
    reset,
)
from headgate.service.grpc.head import GRPC
from headgate.service.grpc.intake import burden, collect, complete
from headgate.service.grpc.methods import Method
from headgate.service.grpc.outflow import push, release, relieve, replenish
from headgate.service.grpc.patience import Patience
from headgate.service.grpc.stages import FINAL, GREETING, NEW, OPEN, STAYING
from headgate.service.grpc.status import (
    ACCEPTED,
    INTERNAL,
    UNIMPLEMENTED,
    Foreign,
    Status,
    trailers,
)
from headgate.service.grpc.terms import (
    FUSS,
    HALF,
    LAG,
    LIGHT,
    OURS,
    RESETS,
    STREAM_HALF,
    STREAM_WINDOW,
    STREAMS,
    WIDE,
)
from headgate.service.grpc.vigil import look, retire
from headgate.service.grpc.waiting import dismiss, wait
from headgate.wire.ear import Bytes, Ear
from headgate.wire.pipe import Pipe

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

if cython.compiled:
    from cython.cimports.headgate.service.grpc.press import press

# An answer in one piece: the frames around it, and what stands before the numbers of their streams.
TRAILERS = trailers(0)
LEAD = frame(HEADERS, END_HEADERS, 0, GRPC)
TAIL = frame(HEADERS, END_HEADERS | END_STREAM, 0, TRAILERS)
BEFORE = LEAD[:5]
AFTER = TAIL[:5]
PREFIX = 5
PARTED_FROM = PARTED.unpack_from


class Channel(Ear):
    """A connection of a client; `calls` are those under way, by the numbers of their streams.

    `blocked` are those that wait for the client to take in more of all that it is sent, and `shed`
    streams that ended before it had said everything.
    """

    __slots__ = (
        "asked", "begun", "blocked", "blocks", "caller", "calls", "clogged", "cut", "deadline",
        "deaf", "final", "forgotten", "fuss", "hall", "heard", "hoard", "house", "idle", "initial",
        "last", "lost", "methods", "mid", "most", "moved", "named", "opening", "out", "owed",
        "parting", "parts", "peer", "pipe", "port", "probed", "reading", "resets", "rest", "room",
        "served", "shed", "small", "stage", "stuck", "taken", "tasks", "thirsty", "transport",
    )  # fmt: skip

    caller: Any
    transport: Any
    pipe: Pipe | None

    def __init__(self, hall: Any, port: Any, peer: str) -> None:
        self.hall = hall
        self.house = hall.house
        self.methods = hall.things["grpc"]
        self.port = port
        self.named = bool(port.caller)
        self.peer = peer
        self.caller = self.transport = self.pipe = None
        self.blocks = Blocks()
        self.calls: dict[int, Call] = {}
        self.blocked: dict[int, Call] = {}
        self.shed: dict[int, None] = {}
        # Answers that are waited for.
        self.tasks: set[Any] = set()
        # The latest stream, the latest that was shed long ago, and the last there will be.
        self.last = self.forgotten = 0
        self.final = MOST
        # How much the client takes in: in all, of a call, in one frame.
        self.room = self.initial = WINDOW
        self.most = FRAME
        # How much was taken in since the client was told to go on, and which calls it is to be
        # told of; what is kept of what it said, and of what it was to be told.
        self.taken = self.hoard = self.owed = 0
        self.thirsty: list[Call] = []
        # A frame that is not whole; a header block that is not, the stream it is of, its flags.
        self.rest = b""
        self.parts: list[bytes] = []
        self.mid = self.opening = 0
        self.out: list[bytes] = []
        # When it began, last said anything, had its last call, stopped in the middle of something,
        # stopped taking anything in, was asked to leave; and when it is looked at again.
        self.begun = self.heard = self.idle = self.cut = self.stuck = self.asked = 0
        self.deadline = 0
        self.stage, self.parting = NEW, STAYING
        # Its table of headers is smaller than usual, and was not told that ours is empty.
        self.small = False
        self.reading = self.clogged = self.deaf = self.lost = self.probed = False
        self.fuss, self.resets = Patience(*FUSS), Patience(*RESETS)
        # Calls that began, and KiB sent; calls that were answered, and messages of theirs.
        self.moved = self.served = 0

    @property
    def busy(self) -> bool:
        """Whether there are calls under way."""
        return bool(self.calls)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.pipe = transport if isinstance(transport, Pipe) else None
        self.begun = self.heard = self.idle = self.house.now
        if self.hall.greet(self):
            self.stage = GREETING
            transport.write(OURS)
        else:
            self.deaf = True

    def data_received(self, data: Bytes) -> None:
        if self.deaf:
            return
        self.heard = self.house.now
        self.probed = False
        self.reading = True
        try:
            self.read(self.rest + bytes(data) if self.rest else bytes(data))
            if self.taken >= HALF or self.thirsty:
                replenish(self)
        except Broken as problem:
            self.leave(problem.code, str(problem))
        finally:
            self.reading = False
        self.flush()

    def read(self, data: bytes) -> None:
        """Read the frames that are whole; what remains is kept."""
        place = meet(self, data) if self.stage == GREETING else 0
        size = len(data)
        while size - place >= HEAD and self.stage > GREETING and not self.deaf:
            if cython.compiled:
                length = data[place] << 16 | data[place + 1] << 8 | data[place + 2]
                kind = data[place + 3]
                flags = data[place + 4]
                stream = four(data, place + 5)
            else:
                high, low, kind, flags, stream = PARTED_FROM(data, place)
                length = high << 8 | low
            stream &= MOST
            if length > FRAME:
                raise Broken(FRAME_SIZE_ERROR, "a frame has at most 16 KiB")
            start = place + HEAD
            if start + length > size:
                break
            place = start + length
            if self.stage != OPEN or self.mid:
                expect(self, kind, flags, stream)
            if kind == DATA:
                self.take(data, start, place, flags, stream)
            elif kind == HEADERS:
                self.open(data, start, place, flags, stream)
            else:
                heed(self, kind, flags, stream, data[start:place])
        if place < size or self.mid or self.cut or self.rest:
            self.keep(data, place)

    def keep(self, data: bytes, place: int) -> None:
        """Something may not be whole; it may not stay so for long, if nothing else comes of it."""
        if self.deaf:
            return
        self.rest = data[place:]
        if not self.rest and not self.mid:
            self.cut = 0
        elif not self.cut or (place > 0 and not self.mid):
            self.cut = self.house.now
            self.wake(self.cut + self.house.until_head)

    def open(self, data: bytes, start: int, end: int, flags: int, stream: int) -> None:
        """Headers: a call begins, or a client has said all."""
        if flags & (PADDED | WEIGHED):
            start, end = shear(data, start, end, flags)
        if flags & END_HEADERS:
            self.head(data[start:end], flags, stream)
        else:
            self.mid = stream
            self.opening = flags
            self.parts = [data[start:end]]

    def head(self, block: bytes, flags: int, stream: int) -> None:
        """A header block is whole."""
        head = self.blocks.read(block)
        if stream <= self.last or stream & 1 == 0:
            trail(self, head, flags, stream)
            return
        self.last = stream
        if not head.sound or self.parting == FINAL or len(self.calls) >= STREAMS:
            turn(self, head, flags, stream)
            return
        call = self.calls[stream] = Call(self, head)
        call.stream = stream
        call.room = self.initial
        call.since = self.house.now
        if head.timeout < FOREVER:
            call.deadline = call.since + head.timeout + LAG
        self.hall.asked += 1
        self.hall.meters["grpc"].note(0, -1)
        self.moved += 1
        if flags & END_STREAM:
            call.ended = True
        self.begin(call)

    def begin(self, call: Call) -> None:
        """See what is called, and who calls."""
        method: Method | None = self.methods.found.get(call.head.path)
        if call.head.refusal:
            self.shut(call, call.head.refusal)
            return
        if method is None:
            self.conclude(call, UNIMPLEMENTED, "there is no such method here")
            return
        try:
            if call.head.weight > LIGHT:
                burden(self, call, call.head.weight)
            if call.head.token or self.named or (self.hall.callers.needed and not method.spare):
                admit(self, call, method)
            call.answer = method.answer
            if method.open is not None:
                call.talker = method.open(call)
        except Exception as problem:
            self.stumble(call, problem)
            return
        if call.over:
            return
        when = self.house.now + self.house.until_body
        self.wake(min(when, call.deadline) if call.deadline else when)
        if call.ended:
            self.gather(call, b"", True)

    def take(self, data: bytes, start: int, end: int, flags: int, stream: int) -> None:
        """Data: a message of a call, mostly, and all of it."""
        size = end - start
        self.taken += size
        if self.taken > WIDE:
            raise Broken(FLOW_CONTROL_ERROR, "more was sent than was asked for")
        call = self.calls.get(stream)
        if call is None or call.ended:
            stray(self, call, stream)
            return
        call.used += size
        if call.used > STREAM_WINDOW:
            self.drop(call, FLOW_CONTROL_ERROR)
            return
        if flags & PADDED:
            start, end = shear(data, start, end, PADDED)
        ended = flags & END_STREAM != 0
        if ended:
            call.ended = True
        elif call.used >= STREAM_HALF and call.used - size < STREAM_HALF:
            self.thirsty.append(call)
        size = end - start
        if ended and size >= PREFIX and call.body is None and data[start] == 0 and not call.done:
            length = four(data, start + 1)
            told = call.head.length
            whole = length == size - PREFIX and (told < 0 or told == size)
            if whole and length <= self.methods.most and call.answer is not None:
                self.ask(call, data[start + PREFIX : end])
                return
        self.gather(call, data[start:end], ended)

    def gather(self, call: Call, part: bytes, ended: bool) -> None:
        """Take in a part of what a client says."""
        call.since = self.house.now
        call.got += len(part)
        length = call.head.length
        if length >= 0 and (call.got > length or (ended and call.got < length)):
            self.drop(call, PROTOCOL_ERROR)
            return
        if not part and not ended:
            self.bother(1)
        if call.done:
            return
        try:
            if part:
                collect(self, call, part)
            if ended and not call.done:
                complete(self, call)
        except Exception as problem:
            self.stumble(call, problem)

    def ask(self, call: Call, message: bytes) -> None:
        """Have a call answered, at once if it can be."""
        try:
            said = call.answer(message, call)
            if type(said) is not bytes:
                wait(self, call, said)
                return
        except Exception as problem:
            self.stumble(call, problem)
            return
        self.reply(call, said)

    def reply(self, call: Call, message: bytes) -> None:
        """Answer a call, and end it."""
        length = len(message)
        size = length + PREFIX
        if call.over:
            return
        narrow = size > self.room or size > call.room or size > self.most
        if narrow or self.small or self.clogged or call.opened:
            push(self, call, b"\0" + number(length) + message)
            if not call.done:
                self.end(call, TRAILERS)
            return
        self.room -= size
        if cython.compiled:
            self.out.append(press(LEAD, TAIL, call.stream, message))
        else:
            name = number(call.stream)
            self.out += (
                BEFORE, name, GRPC, number(size)[1:], b"\0\0", name, b"\0", number(length),
                message, AFTER, name, TRAILERS,
            )  # fmt: skip
        self.close(call)

    def send(self, call: Call, message: bytes) -> None:
        """Send one of the messages of a call."""
        if call.done:
            return
        if not call.opened:
            self.tell(call, GRPC, 0)
        self.served += 1
        push(self, call, b"\0" + number(len(message)) + message)
        if not self.reading:
            self.flush()

    def conclude(self, call: Call, code: int, message: str) -> None:
        """End a call with a status."""
        if not call.done:
            self.end(call, trailers(code, message))
            if not self.reading:
                self.flush()

    def stumble(self, call: Call, problem: BaseException) -> None:
        """End a call at which something was raised: a status, or what should not have been."""
        if isinstance(problem, Status):
            block = trailers(problem.code, problem.message)
            if isinstance(problem, Foreign):
                block += ACCEPTED
        else:
            self.methods.mourn(call.head.path, problem, self.house)
            block = trailers(INTERNAL, "the method failed")
        if not call.done:
            self.end(call, block)
            dismiss(self, call)

    def end(self, call: Call, block: bytes) -> None:
        """Send the headers that end a call, after everything else."""
        call.done = True
        if call.backlog:
            call.tail = block
        else:
            self.shut(call, block if call.opened else GRPC + block)

    def shut(self, call: Call, block: bytes) -> None:
        """Send the last headers of a call."""
        call.done = True
        self.tell(call, block, END_STREAM)
        self.close(call)

    def tell(self, call: Call, block: bytes, flags: int) -> None:
        """Send headers. There is nothing in our table, but that has to be said once to some."""
        if self.small:
            self.small = False
            block = b"\x20" + block
        self.out.append(frame(HEADERS, flags | END_HEADERS, call.stream, block))
        call.opened = True

    def close(self, call: Call) -> None:
        """A call has its answer."""
        self.served += 1
        if not call.ended:
            # The rest of what the client has to say is not wanted.
            self.out.append(reset(call.stream, NO_ERROR))
            shed(self, call.stream)
        self.forget(call)

    def drop(self, call: Call, code: int) -> None:
        """End a call that has gone wrong, without an answer."""
        self.out.append(reset(call.stream, code))
        shed(self, call.stream)
        self.abandon(call)

    def abandon(self, call: Call) -> None:
        """A call is over before it was answered; whoever does that again and again has to go."""
        done = call.done
        call.done = True
        self.forget(call)
        if not done:
            dismiss(self, call)
        self.strike()

    def forget(self, call: Call) -> None:
        """Give up what is kept of a call."""
        call.over = call.done = True
        self.calls.pop(call.stream, None)
        self.idle = self.house.now
        if call.held or call.backlog:
            release(self, call)
        if self.parting == FINAL and not self.calls:
            self.linger()

    def strike(self) -> None:
        """A call came to nothing by what the client did."""
        if not self.resets.bear(1, self.house.now, self.served):
            self.leave(ENHANCE_YOUR_CALM, "too many calls come to nothing")

    def bother(self, cost: int) -> None:
        """A frame brings no call on."""
        if not self.fuss.bear(cost, self.house.now, self.moved + self.served):
            self.leave(ENHANCE_YOUR_CALM, "too many frames bring no call on")

    def wake(self, when: int) -> None:
        """Be looked at by then."""
        if self.deadline == 0 or when < self.deadline:
            self.deadline = when

    def flush(self) -> None:
        """Send what there is to be said."""
        if not self.out:
            return
        data = b"".join(self.out)
        self.out.clear()
        if self.deaf or self.lost:
            return
        if self.pipe is not None:
            self.pipe.write(data)
        else:
            self.transport.write(data)

    def leave(self, code: int, why: str = "") -> None:
        """Take leave at once, and say why; calls under way are given up."""
        if not self.deaf:
            self.out.append(goaway(min(self.last, self.final), code, why))
            self.linger()

    def linger(self) -> None:
        """Say no more, and let the client finish, so that it hears what was said last."""
        if self.deaf or self.lost:
            return
        self.flush()
        self.deaf = True
        self.scatter()
        self.deadline = self.house.now + self.house.until_closed
        if self.transport.get_write_buffer_size() > 0:
            self.deadline += self.house.until_sent
        # Over TLS one cannot hang up and listen.
        if self.transport.can_write_eof():
            self.transport.write_eof()
        if self.clogged:
            self.transport.resume_reading()

    def scatter(self) -> None:
        """Give up all calls."""
        calls = [*self.calls.values()]
        self.calls.clear()
        for call in calls:
            done = call.done
            call.over = call.done = True
            release(self, call)
            if not done:
                dismiss(self, call)
        self.rest = b""
        self.parts.clear()

    def pause_writing(self) -> None:
        self.clogged = True
        self.stuck = self.house.now
        self.wake(self.stuck + self.house.until_sent)
        if not self.deaf:
            self.transport.pause_reading()

    def resume_writing(self) -> None:
        self.clogged = False
        if self.deaf or self.lost:
            return
        self.transport.resume_reading()
        relieve(self)
        if not self.reading:
            self.flush()

    def eof_received(self) -> bool:
        # Who says nothing more cannot take in more than it has asked for, either.
        self.deaf = True
        self.scatter()
        self.deadline = self.house.now + self.house.until_sent
        return False

    def connection_lost(self, problem: Exception | None) -> None:
        self.lost = self.deaf = True
        self.scatter()
        self.hall.part(self)

    def expire(self) -> None:
        look(self)

    def retire(self) -> None:
        retire(self)


def four(data: bytes, place: int) -> int:
    """The number in four bytes."""
    # In C it has to be wide before it is shifted.
    first = data[place]
    return first << 24 | data[place + 1] << 16 | data[place + 2] << 8 | data[place + 3]
