"""Control: frames that are about the connection, and those that have no place where they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headgate.service.grpc.call import Call
from headgate.service.grpc.frames import (
    ACK,
    CONTINUATION,
    END_HEADERS,
    END_STREAM,
    ENHANCE_YOUR_CALM,
    FLOW_CONTROL_ERROR,
    FRAME_SIZE_ERROR,
    GOAWAY,
    MOST,
    PADDED,
    PING,
    PREFACE,
    PRIORITY,
    PROTOCOL_ERROR,
    PUSH_PROMISE,
    REFUSED_STREAM,
    RST_STREAM,
    SETTINGS,
    STREAM_CLOSED,
    WEIGHED,
    WINDOW_UPDATE,
    Broken,
    frame,
    reset,
)
from headgate.service.grpc.head import Head
from headgate.service.grpc.outflow import pump, relieve
from headgate.service.grpc.settings import settle
from headgate.service.grpc.stages import ASKED, FINAL, OPEN, SETTLING
from headgate.service.grpc.terms import BLOCK, PARTS, SHED
from headgate.service.grpc.vigil import FAREWELL, withdraw

# How long frames are that are always as long.
SIZES = {PRIORITY: 5, RST_STREAM: 4, PING: 8, WINDOW_UPDATE: 4}
# About the connection, and about a stream.
COMMON = {SETTINGS, PING, GOAWAY}
LONE = {PRIORITY, RST_STREAM, CONTINUATION}


def meet(channel: Any, data: bytes) -> int:
    """Where a client's first words end; 0 while they are not whole."""
    if not data.startswith(PREFACE[: len(data)]):
        raise Broken(PROTOCOL_ERROR, "HTTP/2 does not begin like that")
    if len(data) < len(PREFACE):
        return 0
    channel.stage = SETTLING
    return len(PREFACE)


def expect(channel: Any, kind: int, flags: int, stream: int) -> None:
    """See that a frame comes of which it is clear that it comes next."""
    if channel.mid:
        if kind != CONTINUATION or stream != channel.mid:
            raise Broken(PROTOCOL_ERROR, "headers are not whole, and something else follows")
    elif kind != SETTINGS or flags & ACK:
        raise Broken(PROTOCOL_ERROR, "settings come first")
    else:
        channel.stage = OPEN


def shear(data: bytes, start: int, end: int, flags: int) -> tuple[int, int]:
    """Where a frame's contents begin and end, without padding and without how urgent it is."""
    if flags & PADDED:
        end -= data[start] if start < end else MOST
        start += 1
    if flags & WEIGHED:
        start += 5
    if start > end:
        raise Broken(PROTOCOL_ERROR, "there is more around a frame's contents than there is frame")
    return start, end


def heed(channel: Any, kind: int, flags: int, stream: int, payload: bytes) -> None:
    """Do what a frame says."""
    if len(payload) != SIZES.get(kind, len(payload)):
        raise Broken(FRAME_SIZE_ERROR, "a frame is not as long as its kind is")
    if (kind in COMMON and stream) or (kind in LONE and not stream):
        raise Broken(PROTOCOL_ERROR, "a frame is on a stream where its kind has none, or on none")
    if kind != CONTINUATION:
        channel.bother(1)
    deed = DEEDS.get(kind)
    if deed is not None and not channel.deaf:
        deed(channel, flags, stream, payload)


def resume(channel: Any, flags: int, stream: int, payload: bytes) -> None:
    """A header block goes on."""
    if not channel.mid:
        raise Broken(PROTOCOL_ERROR, "no headers go on here")
    parts = channel.parts
    parts.append(payload)
    if len(parts) > PARTS + 1 or sum(map(len, parts)) > BLOCK:
        raise Broken(ENHANCE_YOUR_CALM, "headers have at most 64 KiB, in not too many parts")
    if flags & END_HEADERS:
        channel.parts = []
        channel.mid = 0
        channel.head(b"".join(parts), channel.opening, stream)


def agree(channel: Any, flags: int, stream: int, payload: bytes) -> None:
    """The client says how it will have it, or that it has heard how we will."""
    if not flags & ACK:
        settle(channel, payload)
        channel.out.append(frame(SETTINGS, ACK, 0))
    elif payload:
        raise Broken(FRAME_SIZE_ERROR, "that settings were heard needs no words")


def echo(channel: Any, flags: int, stream: int, payload: bytes) -> None:
    """The client asks whether anybody is there, or answers that."""
    if not flags & ACK:
        channel.out.append(frame(PING, ACK, 0, payload))
    elif payload == FAREWELL and channel.parting == ASKED:
        withdraw(channel)


def part(channel: Any, flags: int, stream: int, payload: bytes) -> None:
    """The client will leave when what is under way is answered."""
    if len(payload) < 8:
        raise Broken(FRAME_SIZE_ERROR, "a frame is not as long as its kind is")
    withdraw(channel)


def widen(channel: Any, flags: int, stream: int, payload: bytes) -> None:
    """The client takes in more."""
    size = int.from_bytes(payload, "big") & MOST
    if stream == 0:
        dry = channel.room <= 0
        channel.room += size
        if size == 0 or channel.room > MOST:
            code = FLOW_CONTROL_ERROR if size else PROTOCOL_ERROR
            raise Broken(code, "a window grows, up to 2 GiB")
        if dry:
            relieve(channel)
        return
    call = channel.calls.get(stream)
    if call is None:
        known(channel, stream)
    elif size == 0:
        channel.drop(call, PROTOCOL_ERROR)
    elif call.room + size > MOST:
        channel.drop(call, FLOW_CONTROL_ERROR)
    else:
        call.room += size
        pump(channel, call)


def revoke(channel: Any, flags: int, stream: int, payload: bytes) -> None:
    """The client does not want a call answered any more."""
    call = channel.calls.get(stream)
    if call is not None:
        channel.abandon(call)
    else:
        known(channel, stream)


def weigh(channel: Any, flags: int, stream: int, payload: bytes) -> None:
    """The client finds something more urgent; here everything is answered at once."""


def push(channel: Any, flags: int, stream: int, payload: bytes) -> None:
    """The client promises what only servers may."""
    raise Broken(PROTOCOL_ERROR, "a client promises nothing")


DEEDS: dict[int, Callable[[Any, int, int, bytes], None]] = {
    PRIORITY: weigh,
    RST_STREAM: revoke,
    SETTINGS: agree,
    PUSH_PROMISE: push,
    PING: echo,
    GOAWAY: part,
    WINDOW_UPDATE: widen,
    CONTINUATION: resume,
}


def known(channel: Any, stream: int) -> None:
    """See that a stream has been there."""
    if stream > channel.last or stream & 1 == 0:
        raise Broken(PROTOCOL_ERROR, "nothing was called on a stream")


def stray(channel: Any, call: Call | None, stream: int) -> None:
    """Something comes on a stream whose client has said all, or is done with."""
    if call is not None:
        channel.drop(call, STREAM_CLOSED)
        return
    known(channel, stream)
    if stream not in channel.shed and stream > channel.forgotten:
        raise Broken(STREAM_CLOSED, "more comes on a stream that has ended")
    channel.bother(1)


def trail(channel: Any, head: Head, flags: int, stream: int) -> None:
    """Headers that begin no call: they end what a client has to say in one, if anything."""
    call = channel.calls.get(stream)
    if call is None or call.ended:
        stray(channel, call, stream)
    elif not flags & END_STREAM or not head.bare:
        channel.drop(call, PROTOCOL_ERROR)
    else:
        call.ended = True
        channel.gather(call, b"", True)


def turn(channel: Any, head: Head, flags: int, stream: int) -> None:
    """Turn a call away: it is none, there are too many, or we are leaving."""
    if not flags & END_STREAM:
        shed(channel, stream)
    if channel.parting == FINAL:
        return
    channel.out.append(reset(stream, REFUSED_STREAM if head.sound else PROTOCOL_ERROR))
    channel.strike()


def shed(channel: Any, stream: int) -> None:
    """Let pass what is still on its way on a stream that is over."""
    channel.shed[stream] = None
    if len(channel.shed) > SHED:
        oldest = next(iter(channel.shed))
        del channel.shed[oldest]
        channel.forgotten = max(channel.forgotten, oldest)
