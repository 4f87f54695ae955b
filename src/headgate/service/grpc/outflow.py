"""Outflow: what is sent, as far as the client takes it in; the rest is kept until it does."""

from __future__ import annotations

from typing import Any

from headgate.service.grpc.call import Call
from headgate.service.grpc.frames import DATA, ENHANCE_YOUR_CALM, frame, widening
from headgate.service.grpc.head import GRPC
from headgate.service.grpc.terms import HALF, OWED

KIB = 1_024


def push(channel: Any, call: Call, data: bytes) -> None:
    """Send data of a call, or keep it; of a client that takes in too little the call ends."""
    if not call.opened:
        channel.tell(call, GRPC, 0)
    if call.backlog is None:
        call.backlog = bytearray()
    if not call.backlog:
        # From now on it is waited for that the client takes something in.
        call.since = channel.house.now
    call.backlog += data
    channel.owed += len(data)
    pump(channel, call)
    if channel.owed > OWED and call.backlog:
        channel.drop(call, ENHANCE_YOUR_CALM)


def pump(channel: Any, call: Call) -> None:
    """Send what is kept of a call, as far as it may be, and then how the call ends."""
    backlog = call.backlog
    if backlog is None:
        return
    sent = 0
    while sent < len(backlog) and not channel.clogged:
        size = min(len(backlog) - sent, channel.room, call.room, channel.most)
        if size <= 0:
            break
        channel.out.append(frame(DATA, 0, call.stream, bytes(backlog[sent : sent + size])))
        channel.room -= size
        call.room -= size
        sent += size
        channel.moved += size // KIB
    if sent:
        del backlog[:sent]
        channel.owed -= sent
        call.since = channel.house.now
    if backlog:
        channel.wake(call.since + channel.house.until_sent)
        if call.room > 0:
            # Not it but the connection is what it waits for.
            channel.blocked[call.stream] = call
        return
    channel.blocked.pop(call.stream, None)
    if call.tail:
        channel.shut(call, call.tail)


def relieve(channel: Any) -> None:
    """More may be sent: those that wait for it take turns."""
    for call in [*channel.blocked.values()]:
        if channel.room <= 0 or channel.clogged:
            return
        channel.blocked.pop(call.stream, None)
        pump(channel, call)


def release(channel: Any, call: Call) -> None:
    """Give up what is kept of a call."""
    channel.hoard -= call.held
    call.held = 0
    call.body = None
    if call.backlog:
        channel.owed -= len(call.backlog)
    call.backlog = None
    channel.blocked.pop(call.stream, None)


def replenish(channel: Any) -> None:
    """Tell the client that it may send as much again as was taken in."""
    if channel.taken >= HALF:
        channel.out.append(widening(0, channel.taken))
        channel.taken = 0
    for call in channel.thirsty:
        if not call.ended and not call.over:
            channel.out.append(widening(call.stream, call.used))
            call.used = 0
    channel.thirsty.clear()
