"""Sweeping: what is held beyond its time goes back to where it was taken.

While anything is held, a thread or a task looks after it twice in each lease's lifetime, and ends
when nothing is. At exit what is held goes back, as far as the store can be reached.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
import weakref
from typing import Any, NamedTuple, Protocol

from headgate.clock import Clock, SystemClock
from headgate.drive import Flow
from headgate.errors import StoreUnavailable

TENDED: weakref.WeakSet[Any] = weakref.WeakSet()


class Holder(Protocol):
    """Who holds leases: what of each key, under which lock, how long, and by which clock."""

    held: dict[str, Any]
    lock: Any
    tended: bool

    @property
    def ttl(self) -> int: ...
    @property
    def awaited(self) -> bool: ...
    @property
    def clock(self) -> Clock: ...
    def sweep(self, now: int) -> Any: ...


class Ask(NamedTuple):
    """Have the store behind do something."""

    verb: str
    said: tuple[Any, ...]


def sweep(holder: Holder, now: int) -> Flow[None]:
    """Give back every lease that is over by `now`, and forget the keys that have none."""
    for key, held in list(holder.held.items()):
        # What it has goes back when its lease is over, whatever it was refused besides.
        if now < (held.until if held.units else max(held.until, held.closed)):
            continue
        # Read first: if others fetch meanwhile, less is given back, not more.
        taken = held.moment
        units = held.end(now)
        if units:
            moment = min(now, holder.clock.now())
            with contextlib.suppress(StoreUnavailable):
                yield Ask("charge", (key, -units, moment, taken))
        with holder.lock:
            idle = now >= max(held.until + holder.ttl, held.closed)
            idle = idle and not held.fetching and not held.units
            if idle and holder.held.get(key) is held:
                del holder.held[key]


def tended(holder: Holder) -> None:
    """Have what is held given back at exit, and forgotten by forked children: it is not theirs."""
    TENDED.add(holder)


def tend(holder: Holder) -> None:
    """See that what is held is looked after from now on."""
    if holder.tended or not isinstance(holder.clock, SystemClock):
        return
    holder.tended = True
    if holder.awaited:
        task = asyncio.ensure_future(apatrol(holder))
        PATROLS.add(task)
        task.add_done_callback(PATROLS.discard)
    else:
        seen = weakref.ref(holder)
        threading.Thread(target=patrol, args=(seen, holder.ttl / 2e6), daemon=True).start()


def patrol(seen: weakref.ref[Holder], pause: float) -> None:
    """Look after a holder as long as it is there and holds anything."""
    rest = threading.Event()
    while True:
        rest.wait(pause)
        holder = seen()
        if holder is None:
            return
        try:
            holder.sweep(holder.clock.now())
        except BaseException:
            # Whoever fetches next has it looked after again.
            holder.tended = False
            raise
        with holder.lock:
            if not holder.held:
                holder.tended = False
                return
        del holder


async def apatrol(holder: Holder) -> None:
    """`patrol` in an event loop."""
    try:
        while holder.held:
            await holder.clock.asleep(holder.ttl / 2e6)
            await holder.sweep(holder.clock.now())
    finally:
        holder.tended = False


def surrender() -> None:
    """Give back what threads hold; what event loops hold ends with its time."""
    for holder in list(TENDED):
        if not holder.awaited:
            with contextlib.suppress(Exception):
                holder.surrender()


def renew() -> None:
    """In a forked child: nothing is held, nobody looks after it, nobody has its lock."""
    for holder in TENDED:
        holder.held = {}
        holder.tended = False
        holder.lock = threading.RLock()


PATROLS: set[asyncio.Future[Any]] = set()
atexit.register(surrender)
os.register_at_fork(after_in_child=renew)
