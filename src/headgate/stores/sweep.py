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
from typing import TYPE_CHECKING, Any, NamedTuple

from headgate.clock import SystemClock
from headgate.drive import Flow
from headgate.errors import StoreUnavailable

if TYPE_CHECKING:
    from headgate.stores.leasing import Holding, Leased

TENDED: weakref.WeakSet[Any] = weakref.WeakSet()


class Ask(NamedTuple):
    """Have the store behind do something."""

    verb: str
    said: tuple[Any, ...]


def sweep(ledger: Leased, now: int) -> Flow[None]:
    """Give back every lease that is over by `now`, and forget the keys that have none."""
    for key, held in list(ledger.held.items()):
        if now < max(held.until, held.closed):
            continue
        units = expired(ledger, held, now)
        if units:
            moment = min(now, ledger.clock.now())
            with contextlib.suppress(StoreUnavailable):
                yield Ask("charge", (key, -units, moment, held.moment))
        if now >= held.until + ledger.ttl:
            ledger.held.pop(key, None)


def expired(ledger: Leased, held: Holding, now: int) -> int:
    """The unspent units of a lease that is over, which are no longer held."""
    with ledger.lock:
        if now < held.until or not held.units:
            return 0
        units, held.units = held.units, 0
        held.batch = max(1, (held.taken - units) // 2)
    return units


def tended(ledger: Leased) -> None:
    """Have what is held given back at exit, and forgotten by forked children: it is not theirs."""
    TENDED.add(ledger)


def tend(ledger: Leased) -> None:
    """See that what is held is looked after from now on."""
    if ledger.tended or not isinstance(ledger.clock, SystemClock):
        return
    ledger.tended = True
    if ledger.awaited:
        task = asyncio.ensure_future(apatrol(ledger))
        PATROLS.add(task)
        task.add_done_callback(PATROLS.discard)
    else:
        seen = weakref.ref(ledger)
        threading.Thread(target=patrol, args=(seen, ledger.ttl / 2e6), daemon=True).start()


def patrol(seen: weakref.ref[Leased], pause: float) -> None:
    """Look after a ledger as long as it is there and holds anything."""
    rest = threading.Event()
    while True:
        rest.wait(pause)
        ledger = seen()
        if ledger is None:
            return
        ledger.sweep(ledger.clock.now())
        if not ledger.held:
            ledger.tended = False
            return
        del ledger


async def apatrol(ledger: Leased) -> None:
    """`patrol` in an event loop."""
    try:
        while ledger.held:
            await ledger.clock.asleep(ledger.ttl / 2e6)
            await ledger.sweep(ledger.clock.now())
    finally:
        ledger.tended = False


def surrender() -> None:
    """Give back what threads hold; what event loops hold ends with its time."""
    for ledger in list(TENDED):
        if not ledger.awaited:
            with contextlib.suppress(Exception):
                ledger.surrender()


def renew() -> None:
    """In a forked child: nothing is held, nobody looks after it, nobody has its lock."""
    for ledger in TENDED:
        ledger.held = {}
        ledger.tended = False
        ledger.lock = threading.RLock()


PATROLS: set[asyncio.Future[Any]] = set()
atexit.register(surrender)
os.register_at_fork(after_in_child=renew)
