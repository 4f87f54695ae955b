"""Vigil: who takes too long is not waited for, and who is to leave is asked to."""

from __future__ import annotations

from typing import Any

from headgate.measures import FOREVER
from headgate.service.grpc.call import Call
from headgate.service.grpc.frames import CANCEL, MOST, NO_ERROR, PING, frame, goaway
from headgate.service.grpc.stages import ASKED, FINAL, GREETING, NEW, OPEN, STAYING
from headgate.service.grpc.status import DEADLINE_EXCEEDED, UNAVAILABLE, Status

# Whether the client is there, and whether it has heard that it is to leave.
PROBE = b"present?"
FAREWELL = b"farewell"


def look(channel: Any) -> None:
    """See who has taken too long, and when that is to be seen again."""
    now = channel.house.now
    if channel.lost:
        return
    if channel.deaf or doom(channel) <= now:
        channel.transport.abort()
        return
    if channel.parting == ASKED and channel.asked + channel.house.until_closed <= now:
        withdraw(channel)
    for call in [*channel.calls.values()]:
        if due(channel, call) <= now and not call.over:
            end(channel, call, now)
    if rest(channel) <= now and not channel.deaf:
        stir(channel)
    channel.flush()
    if not channel.deaf:
        times = [due(channel, call) for call in channel.calls.values()]
        if channel.parting == ASKED:
            times.append(channel.asked + channel.house.until_closed)
        channel.deadline = min(doom(channel), rest(channel), *times, FOREVER)


def doom(channel: Any) -> int:
    """When the connection is cut: it does not begin, stops in the middle, or takes nothing in."""
    house = channel.house
    if channel.stage < OPEN:
        return int(channel.begun + house.until_head)
    times = [FOREVER]
    if channel.cut:
        times.append(channel.cut + house.until_head)
    if channel.clogged:
        times.append(channel.stuck + house.until_sent)
    return min(times)


def due(channel: Any, call: Call) -> int:
    """When a call has taken too long."""
    house = channel.house
    times = [FOREVER]
    if call.deadline and not call.done:
        times.append(call.deadline)
    if call.backlog:
        times.append(call.since + house.until_sent)
    elif not call.ended and (call.talker is None or call.body):
        times.append(call.since + house.until_body)
    return min(times)


def rest(channel: Any) -> int:
    """When it has been quiet for too long."""
    if channel.calls:
        return int(channel.heard + channel.house.until_idle)
    return int(max(channel.idle, channel.begun) + channel.house.until_idle)


def end(channel: Any, call: Call, now: int) -> None:
    """A call has taken too long: for whoever waits for it, or because of the client."""
    if call.backlog and call.since + channel.house.until_sent <= now:
        channel.drop(call, CANCEL)
    elif call.deadline and call.deadline <= now:
        channel.stumble(call, Status(DEADLINE_EXCEEDED, "the deadline is over"))
    else:
        channel.stumble(call, Status(DEADLINE_EXCEEDED, "the message did not come in time"))


def stir(channel: Any) -> None:
    """Nothing has come for long: who waits for an answer is asked whether it is there."""
    if not channel.calls:
        retire(channel)
    elif channel.probed:
        channel.transport.abort()
    else:
        channel.probed = True
        channel.heard = channel.house.now
        channel.out.append(frame(PING, 0, 0, PROBE))


def retire(channel: Any) -> None:
    """Ask the client to leave: what it calls until it has heard of that is answered."""
    if channel.stage == NEW:
        if channel.transport is not None:
            channel.transport.abort()
    elif channel.stage == GREETING:
        channel.leave(NO_ERROR)
    elif not channel.deaf:
        if channel.parting == STAYING:
            channel.parting = ASKED
            channel.out.append(goaway(MOST, NO_ERROR) + frame(PING, 0, 0, FAREWELL))
            channel.asked = channel.house.now
            channel.wake(channel.asked + channel.house.until_closed)
        hush(channel)
    channel.flush()


def hush(channel: Any) -> None:
    """End what might never end by itself."""
    for call in [*channel.calls.values()]:
        if call.talker is not None and not call.done:
            channel.stumble(call, Status(UNAVAILABLE, "the service is leaving"))


def withdraw(channel: Any) -> None:
    """Hear nothing new; when everything is answered, it is over."""
    if channel.parting == FINAL or channel.deaf:
        return
    if channel.parting == ASKED:
        # Who had not heard of it may have begun another one.
        hush(channel)
    channel.parting = FINAL
    channel.final = channel.last
    channel.out.append(goaway(channel.last, NO_ERROR))
    if not channel.calls:
        channel.linger()
