"""What can happen to the replies on one connection: bytes go in, pieces come out, each with a time.

Times are seconds of the event loop that the proxy runs in; a fault never asks for them.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from tests.servers.resp import parse


class Piece(NamedTuple):
    """Bytes for the client, not before `due`. Without bytes, the connection is reset there."""

    due: float
    data: bytes | None


class Fault(NamedTuple):
    """One fault on one connection.

    `bend` says what becomes of bytes that the server has sent at a time, `rest` what is held back
    and is let go when the fault is over. Where it is `deaf`, the server hears nothing either.
    """

    bend: Callable[[bytes, float], list[Piece]]
    rest: Callable[[], bytes] = bytes
    deaf: bool = False


def plain() -> Fault:
    """No fault at all."""
    return Fault(lambda data, now: [Piece(now, data)])


def latency(seconds: float, jitter: float, chance: Random) -> Fault:
    """Every chunk comes later."""

    def bend(data: bytes, now: float) -> list[Piece]:
        return [Piece(now + max(seconds + chance.uniform(-jitter, jitter), 0.0), data)]

    return Fault(bend)


def blackhole() -> Fault:
    """Nothing comes through, either way."""
    return Fault(lambda data, now: [], deaf=True)


def cut(size: int) -> Fault:
    """So many bytes come through; then the connection is reset."""
    left = size

    def bend(data: bytes, now: float) -> list[Piece]:
        nonlocal left
        head = data[:left]
        left -= len(head)
        return [Piece(now, head)] if left else [Piece(now, head), Piece(now, None)]

    return Fault(bend)


def slices(size: int, pause: float) -> Fault:
    """So many bytes at a time come through, with a pause between them."""
    free = 0.0

    def bend(data: bytes, now: float) -> list[Piece]:
        nonlocal free
        pieces = []
        for start in range(0, len(data), size):
            due = max(now, free)
            free = due + pause
            pieces.append(Piece(due, data[start : start + size]))
        return pieces

    return Fault(bend)


def duplicate() -> Fault:
    """Every chunk comes twice."""
    return Fault(lambda data, now: [Piece(now, data), Piece(now, data)])


def swap() -> Fault:
    """Of every two replies the second comes first; one alone waits for its other."""
    waiting = unread = b""

    def bend(data: bytes, now: float) -> list[Piece]:
        nonlocal waiting, unread
        unread += data
        pieces = []
        while (found := parse(unread)) is not None:
            reply, unread = unread[: found[1]], unread[found[1] :]
            if waiting:
                pieces.append(Piece(now, reply + waiting))
            waiting = b"" if waiting else reply
        return pieces

    return Fault(bend, lambda: waiting + unread)


def corrupt(chance: Random) -> Fault:
    """One byte of every chunk comes as another."""

    def bend(data: bytes, now: float) -> list[Piece]:
        place = chance.randrange(len(data))
        other = bytes([data[place] ^ chance.randrange(1, 256)])
        return [Piece(now, data[:place] + other + data[place + 1 :])]

    return Fault(bend)
