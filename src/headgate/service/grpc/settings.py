"""Settings: how a client will have it."""

from __future__ import annotations

from typing import Any

from headgate.service.grpc.frames import (
    ENABLE_PUSH,
    ENHANCE_YOUR_CALM,
    FLOW_CONTROL_ERROR,
    FRAME,
    FRAME_SIZE_ERROR,
    HEADER_TABLE_SIZE,
    INITIAL_WINDOW_SIZE,
    MAX_FRAME_SIZE,
    MOST,
    PROTOCOL_ERROR,
    Broken,
)
from headgate.service.grpc.outflow import pump
from headgate.service.grpc.terms import SETTLED

# What a setting and its value take.
PAIR = 6
TABLE = 4_096
LARGEST = (1 << 24) - 1


def settle(channel: Any, payload: bytes) -> None:
    """Go by a client's settings; raises Broken at those that cannot be."""
    if len(payload) % PAIR:
        raise Broken(FRAME_SIZE_ERROR, "a setting has six bytes")
    if len(payload) > PAIR * SETTLED:
        raise Broken(ENHANCE_YOUR_CALM, f"there are at most {SETTLED} settings at once")
    initial = channel.initial
    for place in range(0, len(payload), PAIR):
        name = int.from_bytes(payload[place : place + 2], "big")
        value = int.from_bytes(payload[place + 2 : place + PAIR], "big")
        if name == HEADER_TABLE_SIZE and value < TABLE:
            channel.small = True
        elif name == ENABLE_PUSH and value > 1:
            raise Broken(PROTOCOL_ERROR, "ENABLE_PUSH is 0 or 1")
        elif name == INITIAL_WINDOW_SIZE:
            if value > MOST:
                raise Broken(FLOW_CONTROL_ERROR, "a window has at most 2 GiB")
            initial = value
        elif name == MAX_FRAME_SIZE:
            if value < FRAME or value > LARGEST:
                raise Broken(PROTOCOL_ERROR, "a frame has from 16 KiB to 16 MiB")
            channel.most = value
    if initial != channel.initial:
        resize(channel, initial)


def resize(channel: Any, initial: int) -> None:
    """Each call has a window that is larger or smaller by as much as all are now."""
    grown = initial - channel.initial
    channel.initial = initial
    # This takes longer the more there are.
    channel.bother(len(channel.calls) // 8)
    for call in [*channel.calls.values()]:
        call.room += grown
        if call.room > MOST:
            raise Broken(FLOW_CONTROL_ERROR, "a window has at most 2 GiB")
        if grown > 0:
            pump(channel, call)
