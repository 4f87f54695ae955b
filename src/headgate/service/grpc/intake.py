"""Intake: messages that come in parts, or more than one in a call, up to so many bytes."""

from __future__ import annotations

from typing import Any

from headgate.service.grpc.call import Call
from headgate.service.grpc.inflate import inflate
from headgate.service.grpc.status import INTERNAL, RESOURCE_EXHAUSTED, Status
from headgate.service.grpc.terms import HOARD

# A message comes after a byte that says whether it is compressed, and four for its length.
PREFIX = 5


def collect(channel: Any, call: Call, part: bytes) -> None:
    """Take in a part of what is said in a call; raises Status at what is no message."""
    if call.body is None:
        call.body = bytearray()
    call.body += part
    burden(channel, call, len(part))
    if call.talker is not None:
        deal(channel, call, call.body)
    elif 0 < measure(call.body, channel.methods.most) < len(call.body):
        raise Status(INTERNAL, "something follows the one message of a call")


def burden(channel: Any, call: Call, size: int) -> None:
    """Keep so much of what a client says; raises Status if that is too much of all its calls."""
    call.held += size
    channel.hoard += size
    if channel.hoard > HOARD + channel.methods.most:
        raise Status(RESOURCE_EXHAUSTED, "too many messages are under way at once")


def complete(channel: Any, call: Call) -> None:
    """A client has said all in a call; raises Status if that ends in the middle of a message."""
    body = call.body or bytearray()
    if call.talker is not None:
        if body:
            raise Status(INTERNAL, "the last message is not whole")
        call.talker.end()
        return
    if not body:
        raise Status(INTERNAL, "a call has one message, and there is none")
    if measure(body, channel.methods.most) != len(body):
        raise Status(INTERNAL, "the message is not whole")
    channel.ask(call, unwrap(call, bytes(body), channel.methods.most))


def deal(channel: Any, call: Call, body: bytearray) -> None:
    """Have a talker hear the messages that are whole."""
    most = channel.methods.streamed
    while not call.done:
        size = measure(body, most)
        if size == 0 or size > len(body):
            return
        data = bytes(body[:size])
        del body[:size]
        call.held -= size
        channel.hoard -= size
        channel.served += 1
        call.talker.receive(unwrap(call, data, most))


def measure(body: bytearray, most: int) -> int:
    """How long a message is with what comes before it; 0 while that is not known."""
    if body and body[0] > 1:
        raise Status(INTERNAL, "a message begins with a 0, or with a 1 if it is compressed")
    if len(body) < PREFIX:
        return 0
    size = int.from_bytes(body[1:PREFIX], "big")
    if size > most:
        raise Status(RESOURCE_EXHAUSTED, f"a message has at most {most} bytes")
    return size + PREFIX


def unwrap(call: Call, data: bytes, most: int) -> bytes:
    """A message without what comes before it, as it was before it was compressed."""
    message = data[PREFIX:]
    return inflate(message, call.head.coding, most) if data[0] else message
