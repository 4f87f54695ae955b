"""Lent: places of bulkheads of programs that count who is inside here.

    HG.LEND name key nonce verb limit ttl names

What `permits/redis/leases.lua` does on a Redis, with the places of this service; `ttl` is in
microseconds. Bulkheads are told apart by their names and ttls, those without a name by their limit
as well.
"""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable
from typing import Any

from headgate.drive import Flow, adrive, drive
from headgate.measures import MILLION
from headgate.service.places.far import Far
from headgate.service.resp.numbers import Wrong, brief, whole
from headgate.service.resp.spoken import bulk, denied
from headgate.stores.remote.spelling import LONGEST

SHORTEST, LASTING = MILLION // 10, 3600 * MILLION
# So many may be inside, and so many names be renewed at once; a name is no longer than a nonce.
MOST, NAMES, NONCE = 1 << 30, 1000, 64
COUNT = struct.Struct("<q").pack
KEPT, IN, OUT = b"=+-"

# Does something with places, whatever is to be waited for.
Step = Callable[[], Any]


class Lent:
    """Answers bulkheads of programs, for all who ask a hall."""

    def __init__(self, hall: Any) -> None:
        self.hall = hall

    def lend(self, guest: Any, words: list[bytes]) -> bytes | Awaitable[bytes]:
        """`HG.LEND`."""
        name = words[1].decode("utf-8", "surrogateescape")
        if len(name) > LONGEST or len(words[3]) > NONCE:
            raise Wrong(f"a name has at most {LONGEST} characters, a nonce {NONCE} bytes")
        if guest.caller is not None and not guest.caller.may(name):
            return denied(guest.caller, name)
        limit = whole(words[5], 1, MOST, "limit")
        ttl = whole(words[6], SHORTEST, LASTING, "ttl")
        # No rule is called so.
        title = f"@{ttl} {name}" if name else f"@{ttl} {limit}"
        names = words[7].decode("ascii", "replace").split()[:NAMES]
        verb = VERBS.get(words[4])
        if verb is None or (verb in (enter, leave) and len(names) != 1):
            raise Wrong(f"verb is one of {', '.join(verb.decode() for verb in VERBS)}")
        if any(len(one) > NONCE for one in names):
            raise Wrong(f"who is inside has a name of at most {NONCE} characters")
        places = self.hall.teller.holds.places
        key = brief(words[2]).decode("utf-8", "surrogateescape")
        flow = told(verb(places, title, key, names, limit, ttl), words[3])
        if isinstance(places, Far):
            return adrive(flow, lambda step: step())
        return drive(flow, lambda step: step())


def told(work: Flow[bytes], nonce: bytes) -> Flow[bytes]:
    """An answer to the question of that nonce."""
    return bulk(nonce + (yield from work))


def enter(places: Any, title: str, key: str, names: list[str], limit: int, ttl: int) -> Flow[bytes]:
    """Let one in, if there is a place."""
    count = yield lambda: places.enter(title, key, names[0], limit, ttl)
    return bytes([IN if count else OUT])


def leave(places: Any, title: str, key: str, names: list[str], limit: int, ttl: int) -> Flow[bytes]:
    """Take a place back."""
    was = yield lambda: places.leave(title, key, names[0])
    return COUNT(was)


def inside(
    places: Any, title: str, key: str, names: list[str], limit: int, ttl: int
) -> Flow[bytes]:
    """How many there are."""
    count = yield lambda: places.inside(title, key)
    return COUNT(count)


def renew(places: Any, title: str, key: str, names: list[str], limit: int, ttl: int) -> Flow[bytes]:
    """Keep up all of them; let those in again whose time was over, if there are places."""
    said = bytearray()
    for name in names:
        kept = yield lambda name=name: places.renew(title, key, name, ttl)
        if kept:
            said.append(KEPT)
            continue
        count = yield lambda name=name: places.enter(title, key, name, limit, ttl)
        said.append(IN if count else OUT)
    return bytes(said)


VERBS = {b"enter": enter, b"leave": leave, b"inside": inside, b"renew": renew}
