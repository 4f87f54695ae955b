"""Counts: what became of a budget in this process so far."""

from __future__ import annotations

from typing import NamedTuple

from headgate.latch import Latch


class Counts(NamedTuple):
    """What became of a budget so far: some are units, the others are requests.

    Over all services, `spent` and `returned` are together never more than `granted`, but for what
    was spent under a plan that is unlimited; what is missing was on its way when something failed.
    """

    granted: int = 0
    """Units that were taken out of the limit, at the entrance and midway."""
    spent: int = 0
    """Units that were spent here."""
    returned: int = 0
    """Units that were given back to the limit."""
    lost: int = 0
    """Units that went out with a call and did not come back."""
    entered: int = 0
    """Requests that came in here and were granted something."""
    uncounted: int = 0
    """Requests that came in here and may spend as they like."""
    refused_at_entrance: int = 0
    """Requests that came in here, and for which the limit had nothing."""
    reapplied: int = 0
    """Times that a request went short, and the limit was asked for more."""
    exhausted_midway: int = 0
    """Times that there was no more."""
    broken: int = 0
    """Requests that came in here and were exhausted midway, wherever that was."""
    missing: int = 0
    """Requests that brought nothing where something was needed."""
    forged: int = 0
    """Requests and answers whose note was not ours."""
    expired: int = 0
    """Requests whose note was out of its time."""
    replayed: int = 0
    """Requests whose note was here before."""


class Tally:
    """Counts while they are counted."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(Counts._fields, 0)
        self._lock = Latch()

    def add(self, **counted: int) -> None:
        """So many more of each."""
        with self._lock:
            for name, number in counted.items():
                self._counts[name] += number

    def read(self) -> Counts:
        """All of them, as of one moment."""
        with self._lock:
            return Counts(**self._counts)
