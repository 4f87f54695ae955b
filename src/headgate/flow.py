"""Waiting, told once: a generator of effects (`Book`, `Sleep`, `Release`) for both colours.

A wait is a booking: the units are spent first, for the moment they are due, and the caller sleeps
until then. So waiters are served in the order they came, whatever they ask for, in one process or
on a fleet, and a deadline that cannot be met is known at once. Whoever gives up on the way has
its booking released.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

from headgate.decision import Decision
from headgate.drive import Flow
from headgate.errors import CannotFit, LimitExceeded


class Book(NamedTuple):
    """Spend `cost` for the first moment within `patience` microseconds; answered by a Booking."""

    key: str
    cost: int
    patience: int


class Sleep(NamedTuple):
    """Let `seconds` pass."""

    seconds: float


class Booking(NamedTuple):
    """What was decided, the moment (microseconds) it is due, and the ledger's own memo of it."""

    decision: Decision
    due: int
    memo: Any


class Release(NamedTuple):
    """Undo a booking."""

    key: str
    cost: int
    booking: Booking


class Permit:
    """Leave to go in, and how long it took to get it: `with limiter.acquire("k") as permit`."""

    __slots__ = ("decision", "waited")

    def __init__(self, decision: Decision, waited: float) -> None:
        self.decision = decision
        self.waited = waited

    def __enter__(self) -> Permit:
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def __repr__(self) -> str:
        return f"Permit(waited={self.waited!r})"


class Reservation:
    """Units spent now for later: true if there was room, `wait` says when, `cancel` gives back.

    Cancelling gives back what no later booking counts on, once; a second call changes nothing.
    """

    __slots__ = ("_booking", "_cost", "_key", "_undo")

    def __init__(
        self, key: str, cost: int, booking: Booking, undo: Callable[[Release], Any]
    ) -> None:
        self._undo = undo
        self._key = key
        self._cost = cost if booking.decision else 0
        self._booking = booking

    @property
    def decision(self) -> Decision:
        """What was decided when it was booked."""
        return self._booking.decision

    @property
    def wait(self) -> float:
        """Seconds from the booking until it may act; infinite if there was no room."""
        return self.decision.retry_after if self.decision else inf

    def cancel(self) -> None:
        """Give the units back."""
        self._cancel()

    def _cancel(self) -> Any:
        cost, self._cost = self._cost, 0
        return self._undo(Release(self._key, cost, self._booking)) if cost else None

    def __bool__(self) -> bool:
        return bool(self.decision)

    def __repr__(self) -> str:
        return f"Reservation(wait={self.wait!r})"


def acquire(key: str, cost: int, patience: int) -> Flow[Permit]:
    """Book, sleep until the booking is due, go in; release it if anything comes between."""
    booking: Booking = yield Book(key, cost, patience)
    decision = booking.decision
    if not decision:
        raise refusal(decision, key)
    wait = decision.retry_after
    if wait > 0:
        try:
            yield Sleep(wait)
        except BaseException:
            yield Release(key, cost, booking)
            raise
    return Permit(decision, wait)


def refusal(decision: Decision, key: str) -> LimitExceeded:
    """The exception that says no: `CannotFit` where waiting would not help."""
    kind = CannotFit if decision.reason == "never" else LimitExceeded
    return kind(decision, key)
