"""The contract of stores: what a limiter asks of the place that keeps its state.

A store opens a ledger for a set of limits; a ledger keeps, for every key, the cells of all of
them, and applies their steps so that nobody sees a half-done change. It is told the time. Stores
reached over a network return awaitables from the same verbs and have the same answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from headgate.algorithms.limit import Limit
from headgate.clock import Clock
from headgate.decision import Decision

# A moment later than any other: what is given back is then judged by nobody's booking.
FAR = 1 << 52


class Ledger(Protocol):
    """The state of one set of limits, key by key."""

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The limits it goes by now."""

    def take(self, key: str, cost: int, now: int, patience: int) -> Decision:
        """Spend `cost` if it may enter within `patience` microseconds; all limits or none."""

    def book(self, key: str, cost: int, now: int, patience: int) -> tuple[Decision, Any]:
        """`take`, and a memo by which `release` can undo it."""

    def release(self, key: str, cost: int, now: int, due: int, memo: Any) -> None:
        """Undo a booking that was due then, as far as nobody counts on it."""

    def take_many(self, keys: Sequence[str], cost: int, now: int) -> list[Decision]:
        """Decide for each key in turn, at one moment."""

    def peek(self, key: str, cost: int, now: int) -> Decision:
        """What `take` would answer; nothing is spent."""

    def charge(self, key: str, cost: int, now: int, due: int) -> Decision:
        """Spend `cost` whatever is left, or give it back if negative; answers what is true then.

        What was booked for `due` is given back only as far as no later booking counts on it.
        """

    def forget(self, key: str) -> None:
        """Make `key` as if it had never been seen."""


class Store(Protocol):
    """A place to keep ledgers."""

    def open(
        self, limits: tuple[Limit, ...], name: str, clock: Clock | None = None,
        when_unavailable: str = "local",
    ) -> Any:  # fmt: skip
        """The `Ledger` of `limits`: for the same `name` the same state, wherever it is opened.

        `clock` is the limiter's, where it has one of its own; a store that keeps the time of its
        server goes by it then. `when_unavailable` says what to answer when the store cannot be
        asked; a store that always can takes no notice.
        """

    def clock(self) -> Clock:
        """The clock that limiters on this store go by, if they are not given another."""
