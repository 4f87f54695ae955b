"""Cabinet: a ledger that all processes of a machine share.

It has drawers, and every key belongs in one of them, which its fingerprint names. A drawer is a
table that stands in common memory behind a gate of its own, so that two processes only meet where
their keys do: with one gate for all keys, its cache line would go back and forth between the
processor's cores with every decision, and that takes longer than the decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headgate.algorithms.limit import RESET, Limit
from headgate.clock import SystemClock
from headgate.decision import Decision
from headgate.stores.flat.memo import Memo
from headgate.stores.flat.seal import Seal
from headgate.stores.flat.table import Table

# With fewer keys than this to a drawer, chance would fill some of them long before the others.
LEAST = 1024
DRAWERS = 16


class Cabinet:
    """The rows of `limits` at a `site`, which knows the files and what all agree on."""

    __slots__ = ("__weakref__", "drawers", "last", "seal", "site")

    drawers: tuple[Table, ...]
    last: int
    seal: Seal
    site: Any

    def __init__(self, limits: tuple[Limit, ...], site: Any) -> None:
        self.site = site
        self.seal = site.seal
        segment, self.drawers = site.lay(limits)
        self.last = len(self.drawers) - 1
        segment.admit()

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The limits it goes by now."""
        return self.drawers[0].limits

    def trust(self, clock: SystemClock | None) -> None:
        """Take all times for those of that clock, which never goes back; of any clock, if None."""
        for drawer in self.drawers:
            drawer.trust(clock)

    def take(self, key: str, cost: int, now: int, patience: int) -> Decision:
        """Spend `cost` if it may enter within `patience` microseconds; all limits or none."""
        return self.ask(key, cost, now, patience)

    def take_many(self, keys: Sequence[str], cost: int, now: int) -> list[Decision]:
        """Decide for each key in turn, at one moment."""
        return [self.ask(key, cost, now, 0) for key in keys]

    def peek(self, key: str, cost: int, now: int) -> Decision:
        """What `take` would answer; nothing is spent."""
        return self.drawer(key).peek(key, cost, now)

    def stand(self, key: str, now: int) -> list[Decision]:
        """How each limit stands by itself, where `peek` tells of the tightest."""
        return self.drawer(key).stand(key, now)

    def book(self, key: str, cost: int, now: int, patience: int) -> tuple[Decision, Memo]:
        """`take`, and a memo of the key's state before and after it, for `release`."""
        return self.drawer(key).book(key, cost, now, patience)

    def release(self, key: str, cost: int, now: int, due: int, memo: Memo) -> None:
        """Undo a booking: to the letter if nothing came after it, else as `charge` gives back."""
        self.drawer(key).release(key, cost, now, due, memo)

    def charge(self, key: str, cost: int, now: int, due: int) -> Decision:
        """Spend `cost` whatever is left, or give it back if negative; answers what is true then."""
        return self.drawer(key).charge(key, cost, now, due)

    def forget(self, key: str) -> None:
        """Make `key` as if it had never been seen."""
        self.drawer(key).forget(key)

    def change(self, limits: tuple[Limit, ...], now: int, how: int) -> None:
        """Go on under other `limits`.

        The first process to do so carries every key's state over; the others find it there. One
        that has not done so yet goes by the old limits, and what it admits is counted by them.
        """
        segment, drawers = self.site.renew(limits)
        carry = how if segment.made else RESET
        try:
            for old, new in zip(self.drawers, drawers, strict=True):
                old.adopt(new, now, carry)
        finally:
            segment.admit()

    def read(self, key: str) -> list[int]:
        """The cells kept for `key`, limit after limit; none if it has no state."""
        return self.drawer(key).read(key)

    def tally(self) -> dict[str, int]:
        """What all processes have counted together, by name, as a table does."""
        counts = [drawer.tally() for drawer in self.drawers]
        return {name: sum(count[name] for count in counts) for name in counts[0]}

    def __len__(self) -> int:
        """How many keys had state that mattered at the latest decision."""
        latest = max(drawer.moment() for drawer in self.drawers)
        return sum(drawer.rows.live(latest) for drawer in self.drawers)

    def drawer(self, key: str) -> Table:
        return self.drawers[self.seal.mark(key) >> 3 & self.last]

    def ask(self, key: str, cost: int, now: int, patience: int) -> Decision:
        mark = self.seal.mark(key)
        # The bits below say where in a group to look first, those above choose the groups.
        drawer = self.drawers[mark >> 3 & self.last]
        return drawer.ask(mark, cost, now, patience, 1 if cost > 0 else 0)


def divide(capacity: int) -> tuple[int, int]:
    """How many drawers there are for so many keys, and how many keys each is for."""
    drawers = 1
    while drawers < DRAWERS and capacity >= 2 * drawers * LEAST:
        drawers *= 2
    return drawers, -(-capacity // drawers)
